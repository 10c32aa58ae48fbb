"""Chromium as printer of invoices and receipts: PDF and the boxes of marked values."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from training.layout.printer import print_tab

_SCRIPT = Path(__file__).with_name("spans.js")
_SLACK = 1.5
"""CSS pixels that boxes of two values may share: fonts' heights overlap in tight lines."""


def clashes(spans: list[dict[str, Any]], width: float, height: float) -> bool:
    """Whether a value leaves its page or two values lie on each other."""
    for n, span in enumerate(spans):
        left, top, right, bottom = span["box"]
        if left < 0 or top < 0 or right > width or bottom > height or right - left < 1:
            return True
        for other in spans[:n]:
            a, b, c, d = other["box"]
            shared = min(right, c) - max(left, a) > _SLACK and min(bottom, d) - max(top, b) > 0.35 * min(
                bottom - top, d - b
            )
            if shared and other["page"] == span["page"]:
                return True
    return False


class Press:
    """Prints documents in one tab of one Chromium."""

    def __init__(self, tab: Any) -> None:  # noqa: ANN401 - a playwright Page; playwright is not needed to import this
        self._tab = tab
        self._script = "(" + _SCRIPT.read_text(encoding="utf-8").split("\n", 1)[1] + ")"

    def print_document(self, html: str, width: int, height: int) -> tuple[bytes, dict[str, Any]] | None:
        """The PDF, and its spans, width, height and pages; None where the content doesn't fit. A height of 0 is the content's."""
        self._tab.set_viewport_size({"width": width, "height": height or 600})
        self._tab.set_content(html, wait_until="load")
        read = self._tab.evaluate(self._script, height)
        high = height or read["height"] + 3  # the print may be a pixel higher than the screen
        if read["overflow"] or clashes(read["spans"], width, high):
            return None
        pdf = self._tab.pdf(width=f"{width}px", height=f"{high}px", print_background=True)
        return pdf, {"spans": read["spans"], "width": width, "height": high, "pages": read["pages"]}


@contextmanager
def press() -> Iterator[Press]:
    """A printer with a Chromium of its own. Raises: as print_tab."""
    with print_tab() as tab:
        yield Press(tab)
