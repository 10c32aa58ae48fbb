"""docs/guides/langchain-llamaindex.md does what it says, and nothing else imports LangChain or LlamaIndex."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.pdf_writer import paragraph, text_pdf
from support.server import Server, clean_environment

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "langchain-llamaindex.md").read_text(encoding="utf-8")
SERVICE = "http://127.0.0.1:7860"
BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"langchain_core", "llama_index"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(code: str, folder: Path, given: str = "") -> str:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    ended = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=folder,
        env=clean_environment(),
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


ALL = """
import contextlib, io, json, sys
printed = []
for code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(code, {"__name__": "__main__"})
    printed.append(said.getvalue())
print(json.dumps(printed))
"""
"""Runs programs one after the other in one process, which loads the models once."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the guide's programs read."""
    receipt = runpy.run_path(str(ROOT / "examples" / "receipts" / "drawing.py"))["draw"](0)
    (tmp_path / "receipt.png").write_bytes(receipt.png)
    (tmp_path / "scans").mkdir()
    for place in (tmp_path, tmp_path / "scans"):
        shutil.copy(ROOT / "examples" / "report.png", place)
        (place / "scan.pdf").write_bytes(text_pdf(paragraph(), paragraph()))
    return tmp_path


@pytest.mark.real
def test_each_program_of_the_guide_prints_what_it_says(server: Server, folder: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL)
    assert len(programs) == GUIDE.count("```python") >= 4
    codes = json.dumps([code.replace(SERVICE, server.url) for code, _ in programs])
    assert json.loads(run(ALL, folder, codes)) == [said for _, said in programs]


def test_without_their_packages_inkgate_works_and_the_loaders_say_what_to_install(folder: Path) -> None:
    code = f"""{BLOCKED}
import inkgate, inkgate_client, inkgate.library
for name in ("langchain", "llamaindex"):
    try:
        __import__(f"inkgate_client.{{name}}")
    except ImportError as error:
        print(error)
"""
    said = run(code, folder)
    assert "Install langchain-core, or inkgate with its extra `langchain`." in said
    assert "Install llama-index-core, or inkgate with its extra `llamaindex`." in said
