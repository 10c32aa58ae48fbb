"""What is over when the service says that it is ready."""

from __future__ import annotations

import subprocess
import sys

import pytest

STARTED = """
import os, signal, sys
import anyio
from inkgate import bootstrap
from inkgate.settings import load_settings

seen = []

def ready(url):
    seen.append(set(sys.modules))
    signal.setitimer(signal.ITIMER_REAL, 3)

def later(*_):
    new = sorted(name for name in set(sys.modules) - seen[0] if name.startswith(("gradio", "pandas", "inkgate.ui")))
    print("inkgate.ui.page" in seen[0], [name for name in new if name.split(".")[0] != "gradio"], len(new) < 5)
    os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGALRM, later)
settings = load_settings(None, server={"port": 0}, metrics={"enabled": False}, pdf={"warm_workers": 0})
anyio.run(bootstrap.serve, settings, ready)
"""


def test_what_the_web_page_imports_is_imported_before_the_service_is_ready() -> None:
    pytest.importorskip("gradio")
    ended = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, timeout=120, check=False)
    assert "True [] True" in ended.stdout.decode().splitlines(), ended.stderr.decode()[-2000:]
