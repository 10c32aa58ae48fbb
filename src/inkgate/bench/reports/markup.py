"""HTML that can't be broken by what stands in it: every text is escaped, unless it is Markup already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

_VOID: Final = frozenset({"meta", "br", "hr", "img", "col"})
_NO_PLACE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters, halves of pairs, and signs that turn the direction of text around: shown as a replacement."""


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


Content = str | Iterable[str] | None


def shown(raw: str) -> str:
    """The text with nothing in it that HTML or XML could not hold or that would turn its direction around."""
    return _NO_PLACE.sub("\N{REPLACEMENT CHARACTER}", raw)


def cut(raw: str, most: int) -> str:
    """The text on one line of at most so many characters, for charts and heads of tables."""
    line = " ".join(shown(raw).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def text(raw: str) -> Markup:
    """The text as HTML that shows it and does nothing."""
    return Markup(escape(shown(raw), quote=True))


def tag(name: str, /, *content: Content, **attributes: str | None) -> Markup:
    """An element. Attributes without value are left out; `_` in their names is `-`, `class_` is `class`."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{shown}>" if name in _VOID else f"<{name}{shown}>{joined(*content)}</{name}>")


def joined(*content: Content) -> Markup:
    """One after another; texts are escaped, None is nothing."""
    parts: list[str] = []
    for each in content:
        if isinstance(each, Markup):
            parts.append(each)
        elif isinstance(each, str):
            parts.append(text(each))
        elif each is not None:
            parts += [joined(part) for part in each]
    return Markup("".join(parts))


def breakable(name: str) -> Markup:
    """A name such as `max_num_seqs`, which may be broken after its underscores."""
    return Markup(text(name).replace("_", "_<wbr>"))


_KINDS: Final = {"f": "figure", "s": "word", "w": "word prose"}


def table(
    head: Sequence[Content], rows: Iterable[Sequence[Content]], kinds: str = "s", *, marked: int | None = None
) -> Markup:
    """A table. `kinds`: a letter for each column, `s` short text, `w` text that may take several lines, `f` figures;
    the columns beyond are figures. `marked`: a row that stands out.
    """

    def cells(name: str, row: Sequence[Content], **attributes: str) -> list[Markup]:
        classes = [_KINDS[kinds[number]] if number < len(kinds) else "figure" for number in range(len(row))]
        return [tag(name, cell, class_=kind, **attributes) for cell, kind in zip(row, classes, strict=True)]

    body = [
        tag("tr", cells("td", row), class_="marked" if number == marked else None) for number, row in enumerate(rows)
    ]
    inside = tag("table", tag("thead", tag("tr", cells("th", head, scope="col"))), tag("tbody", body))
    return tag("div", inside, class_="wide", tabindex="0", role="group", aria_label="table")
