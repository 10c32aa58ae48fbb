"""Fetches Mermaid for the web page: its own build for browsers (@mermaid-js/tiny), compressed, with its licence.

Usage: scripts/update_mermaid.py 11.17.2. Needs npm, which checks the package by the registry's checksum. Afterwards
run tests/unit/test_mermaid_parser.py and tests/e2e/test_ui_diagrams.py, and correct the version in NOTICE.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "inkgate" / "ui" / "assets" / "diagram"
PACKAGE = "@mermaid-js/tiny"
CODE = "package/dist/mermaid.tiny.js"
LICENCE = "package/LICENSE"


def fetched(version: str, folder: Path) -> dict[str, bytes]:
    """The files of the package by their names in it."""
    command = ["npm", "pack", "--silent", f"{PACKAGE}@{version}"]
    name = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
    with tarfile.open(folder / name) as archive:
        found = {member: archive.extractfile(member) for member in (CODE, LICENCE)}
        return {member: file.read() for member, file in found.items() if file is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    version = parser.parse_args().version
    with tempfile.TemporaryDirectory() as folder:
        files = fetched(version, Path(folder))
    code = gzip.compress(files[CODE], mtime=0)
    (FOLDER / "mermaid.js.gz").write_bytes(code)
    (FOLDER / "LICENSE-mermaid.txt").write_bytes(files[LICENCE])
    print(f"{PACKAGE} {version}: {len(files[CODE])} bytes, compressed {len(code)}")


if __name__ == "__main__":
    main()
