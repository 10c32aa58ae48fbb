"""Chromium as printer: a page of HTML becomes a PDF of one page and its truth."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from training.layout.drawing import Page
from training.layout.truth import structure

CHROMIUM = Path("/usr/bin/chromium")
_SCRIPT = Path(__file__).with_name("truth.js")


class Printer:
    """Prints pages in one tab of one Chromium."""

    def __init__(self, tab: Any) -> None:  # noqa: ANN401 - a playwright Page; playwright is not needed to import this
        self._tab = tab
        self._session = tab.context.new_cdp_session(tab)
        self._script = f"({_SCRIPT.read_text(encoding='utf-8').split(chr(10), 1)[1]})()"

    def print_page(self, page: Page) -> tuple[bytes, dict[str, Any]] | None:
        """The PDF and the structure of `page`; None where the content doesn't fit the page."""
        self._tab.set_viewport_size({"width": page.width, "height": page.height})
        self._tab.set_content(page.html, wait_until="domcontentloaded")
        read = self._tab.evaluate(self._script)
        blocks = [block for block in read["blocks"] if block["box"]]
        edges = (page.width + 1, page.height + 1)
        if read["overflow"] or not blocks:
            return None
        for block in blocks:
            left, top, right, bottom = block["box"]
            if left < -1 or top < -1 or right > edges[0] or bottom > edges[1]:
                return None
        pdf = self._tab.pdf(
            width=f"{page.width}px", height=f"{page.height}px", print_background=True, prefer_css_page_size=True
        )
        return pdf, structure(blocks, page.width, page.height)


@contextmanager
def print_tab() -> Iterator[Any]:
    """A tab of a Chromium of its own that shows pages as they are printed. Raises: playwright's Error if it doesn't start."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--font-render-hinting=none", "--disable-gpu"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        try:
            tab = browser.new_context(java_script_enabled=True).new_page()
            tab.emulate_media(media="print")
            yield tab
        finally:
            browser.close()


@contextmanager
def chromium() -> Iterator[Printer]:
    """A printer with a Chromium of its own. Raises: as print_tab."""
    with print_tab() as tab:
        yield Printer(tab)


def write(folder: Path, name: str, pdf: bytes, page: dict[str, Any]) -> None:
    """Write NAME.pdf and NAME.structure.json."""
    (folder / f"{name}.pdf").write_bytes(pdf)
    text = json.dumps({"pages": [page]}, ensure_ascii=False, separators=(",", ":"))
    (folder / f"{name}.structure.json").write_text(text, encoding="utf-8")
