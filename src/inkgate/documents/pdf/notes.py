"""What people are told about a PDF that is more, or other, than its pages. Pure: the service process uses it, to which
names of files in a PDF are a stranger's input.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

MAX_FILES: Final = 50
"""Files whose names are looked at, of a document and of each page."""
MAX_LINKS: Final = 500
"""Links of a page that are kept."""
MAX_SPANS: Final = 5000
"""Parts of lines that are bold, italic or a link: more of a page are not shown as such."""
MAX_NAMES: Final = 5
"""Files that a note names; it counts the others."""
_LONGEST_NAME: Final = 60
XFA_NOTE: Final = (
    "The PDF is a form that only Adobe's programs can show (XFA). Its page is a placeholder, and the form was not read."
)


def readable_name(name: str) -> str:
    """`name` in a line of text: without control characters and marks that turn the text around, and not too long."""
    printable = (
        "" if unicodedata.category(each)[0] == "C" else each for each in unicodedata.normalize("NFC", name[:2000])
    )
    shown = " ".join("".join(printable).split()).replace('"', "'")
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def files_note(names: Sequence[str], count: int, *, portfolio: bool = False) -> str:
    """The note about `count` files inside a PDF that were not read, of which `names` are some. Empty for none."""
    count = max(count, len(names))
    if not count and not portfolio:
        return ""
    shown = [f'"{name}"' for name in map(readable_name, names[:MAX_NAMES]) if name]
    others = count - len(shown)
    if shown and others:
        shown.append(f"{others} more" if others > 1 else "1 more")
    listed = f": {', '.join(shown)}" if shown else ""
    files = "1 file" if count == 1 else f"{count} files"
    if portfolio:
        return f"The PDF is a portfolio: a cover sheet with {files} inside, which {_were(count)} not read{listed}."
    return f"The PDF has {files} attached, which {_were(count)} not read{listed}."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def texts_of(found: object, most: int) -> tuple[str, ...]:
    """The first `most` texts of what a worker, which may have been taken over, says to be some."""
    each: Iterable[object] = found if isinstance(found, list) else ()
    return tuple(text for text in each if isinstance(text, str))[:most]
