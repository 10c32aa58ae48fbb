"""Fails if a module has more than 500 lines (docs/concepts/architecture.md)."""

import sys
from pathlib import Path

MAX_LINES = 500
ROOT = Path(__file__).parent.parent


def too_long(root: Path) -> list[str]:
    """One message for each Python module under `root` with more than MAX_LINES lines."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(root.rglob("*.py"))}
    return [f"{path}: {size} lines, at most {MAX_LINES}" for path, size in sizes.items() if size > MAX_LINES]


if __name__ == "__main__":
    problems = too_long(ROOT / "src") + too_long(ROOT / "packages")
    sys.exit("\n".join(problems) or 0)
