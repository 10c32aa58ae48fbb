"""Only the loaders import LangChain or LlamaIndex."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.server import clean_environment

BLOCKED = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"langchain_core", "llama_index"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=180,
        cwd=folder,
        env=clean_environment(),
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_without_their_packages_inkgate_works_and_the_loaders_say_what_to_install(tmp_path: Path) -> None:
    code = f"""{BLOCKED}
import inkgate, inkgate_client, inkgate.library
for name in ("langchain", "llamaindex"):
    try:
        __import__(f"inkgate_client.{{name}}")
    except ImportError as error:
        print(error)
"""
    said = run(code, tmp_path)
    assert "Install langchain-core, or inkgate with its extra `langchain`." in said
    assert "Install llama-index-core, or inkgate with its extra `llamaindex`." in said
