"""Fails if a module has more than 500 lines (docs/concepts/architecture.md), or docs/ more than 60,000 words."""

import sys
from pathlib import Path

MAX_LINES = 500
MAX_WORDS = 60_000
ROOT = Path(__file__).parent.parent


def too_long(root: Path) -> list[str]:
    """One message for each Python module under `root` with more than MAX_LINES lines."""
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(root.rglob("*.py"))}
    return [f"{path}: {size} lines, at most {MAX_LINES}" for path, size in sizes.items() if size > MAX_LINES]


def too_many_words(root: Path) -> list[str]:
    """A message if the pages under `root` have more than MAX_WORDS words together, counted as `wc -w` does."""
    words = sum(len(path.read_bytes().split()) for path in root.rglob("*.md"))
    return [f"{root}: {words} words, at most {MAX_WORDS}: shorten what is there"] if words > MAX_WORDS else []


if __name__ == "__main__":
    problems = too_long(ROOT / "src") + too_long(ROOT / "packages") + too_many_words(ROOT / "docs")
    sys.exit("\n".join(problems) or 0)
