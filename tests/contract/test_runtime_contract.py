"""The runtimes, in a process of their own: with OpenVINO's threads in it, the process of the other tests was seen to
die in one that raises SIGTERM.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("runtime_cases.py")


def test_every_runtime_does_the_same() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=CASES.parents[2])
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
