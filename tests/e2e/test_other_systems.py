"""inkgate without the calls that macOS and Windows lack: on the one it reads, on the other it lets a service read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "examples" / "report.png"


def run(system: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "tests/support/other_system"), *sys.path])
    environment = {**os.environ, "OTHER_SYSTEM": system, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=300
    )


@pytest.mark.smoke
def test_macos_reads_images_and_pdfs_in_workers_without_memfds_pidfds_and_prctl(tmp_path: Path) -> None:
    with Image.open(PAGE) as image:
        image.convert("RGB").save(tmp_path / "page.pdf")
    code = (
        "import os, sys, inkgate; assert not hasattr(os, 'memfd_create'); "
        "print(*[inkgate.read(file).text for file in sys.argv[1:]], sep='=====')"
    )
    done = run("macOS", "-c", code, str(PAGE), str(tmp_path / "page.pdf"))
    assert done.returncode == 0, done.stderr
    image_text, pdf_text = done.stdout.split("=====")
    for text in (image_text, pdf_text):
        assert "FEMIP Support Fund" in text


@pytest.mark.smoke
def test_windows_imports_every_command_and_says_why_it_does_not_read() -> None:
    code = (
        "import inkgate, inkgate_client; from inkgate.cli.commands import build; from typer.main import get_command; "
        "inkgate_client.InkgateClient('http://127.0.0.1:9').close(); print(len(get_command(build()).commands))"
    )
    done = run("Windows", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10
    refused = run("Windows", "-m", "inkgate", "read", str(PAGE))
    assert refused.returncode == 1
    assert "This system can't read documents itself" in refused.stderr
    assert "Linux, macOS or WSL 2" in refused.stderr
    assert "--server URL" in refused.stderr
