"""Shared by the scripts that write generated files: writes the files or, with `--check`, compares them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent


def write_or_check(files: Mapping[Path, str]) -> None:
    """Writes each file's text; with `--check` on the command line, exits with status 1 if one is not current."""
    if "--check" not in sys.argv[1:]:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")
        return
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if stale:
        script = Path(sys.argv[0]).resolve().relative_to(ROOT)
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"not current: {names}\nrun: {sys.executable} {script}")
