"""Puts docs/ into wheels, where the service finds it (src/inkgate/api/guide.py), unless they have the built site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("docs", "examples/extending")  # the second is what docs/guides/extending.md shows


class DocumentationInWheel(BuildHookInterface[Any]):
    """Runs when a wheel is built. An editable installation finds docs/ in its checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the folders to the files of the wheel."""
        root = Path(self.root)
        if version != "editable" and not (root / "src" / "inkgate" / "guide" / "index.html").is_file():
            build_data["force_include"] |= {str(root / name): f"inkgate/documentation/{name}" for name in FOLDERS}
