"""Takes screenshots of the web page in every state, at three widths, light and dark.

Looks with axe-core for faults in each state too, if `.setup/npm` has it. Needs Chromium. Prints what it saw; the exit
status is 1 if axe-core found a serious fault or something is wider than the screen.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium, give, running_page, visit  # noqa: E402 - the folder of tests is no package
from support.flow_picture import flow_picture, running_chart_page  # noqa: E402
from support.pdf_writer import paragraph, text_at, text_pdf  # noqa: E402
from support.server import Server  # noqa: E402

SAMPLES = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"
AXE = ROOT / ".setup" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {1440: 900, 1024: 768, 390: 844}
TABS = ("preview", "source", "text", "json")
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
_SERIOUS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter((rule) => ["serious", "critical"].includes(rule.impact))
  .map((rule) => rule.id + ": " + rule.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", "))"""


def long_pdf(pages: int) -> bytes:
    """A PDF with a chapter on each page."""
    return text_pdf(*(text_at(30, 380, f"Chapter {number + 1}", 24) + paragraph() for number in range(pages)))


@dataclass(slots=True)
class Album:
    """Screenshots of one width and look. `faults`: what is wrong on them."""

    folder: Path
    width: int
    dark: bool
    faults: list[str] = field(default_factory=list)

    def take(self, page: Page, state: str) -> None:
        """Takes a screenshot of the state and looks for faults in it."""
        name = f"{state}-{self.width}-{'dark' if self.dark else 'light'}"
        page.mouse.move(2, 2)
        page.wait_for_timeout(300)
        page.screenshot(path=str(self.folder / f"{name}.png"))
        over = page.evaluate(OVERFLOW)
        if over > 0:
            self.faults.append(f"{name}: {over} pixels wider than the screen")
        if AXE.exists():
            page.evaluate(AXE.read_text(encoding="utf-8"))
            self.faults += [f"{name}: {fault}" for fault in page.evaluate(_SERIOUS)]


def reading(page: Page, album: Album) -> None:
    """The empty page, a document that is read, and its result in each form."""
    album.take(page, "empty")
    page.route("**/ocr", lambda _: None)  # never answered
    page.click("[data-sample='report.png']")
    page.wait_for_timeout(500)
    album.take(page, "reading")
    page.unroute_all(behavior="ignoreErrors")
    page.click("#forget")
    page.click("[data-sample='report.png']")
    expect(page.locator("#files .file.done")).to_have_count(1)
    expect(page.locator("#viewer .picture")).to_be_visible()
    for tab in TABS:
        page.click(f"#result-tab-{tab}")
        album.take(page, f"result-{tab}")
    page.click("#result-tab-preview")
    page.locator("#result-preview td").first.click()
    album.take(page, "result-cell")
    page.click(".menu summary")
    album.take(page, "downloads")
    page.click(".menu summary")
    page.click("#code-button")
    album.take(page, "code")
    page.click("#code-close")


def several(page: Page, album: Album) -> None:
    """Several files, one of which is broken."""
    give(page, SAMPLES / "receipt.png", SAMPLES / "letter.pdf", BROKEN, ("chapters.pdf", long_pdf(20)))
    expect(page.locator("#files .file:is(.done, .failed)")).to_have_count(5)
    album.take(page, "several")
    page.locator("#files .file-name", has_text="broken.png").click()
    album.take(page, "broken")


def other_views(page: Page, album: Album) -> None:
    """Extract, Jobs, and Live under load."""
    page.click("#tab-extract")
    album.take(page, "extract-empty")
    page.click("#extract-sample")
    expect(page.locator(".field").first).to_be_visible()
    album.take(page, "extract")
    page.click("#tab-jobs")
    expect(page.locator("#jobs-loading")).to_be_hidden()
    give(page, SAMPLES / "letter.pdf", BROKEN, ("chapters.pdf", long_pdf(20)), field="#jobs-input")
    expect(page.locator("#jobs-status")).to_contain_text("Jobs added")
    album.take(page, "jobs")
    page.click("#tab-live")
    expect(page.locator(".chart").first).to_be_visible()
    album.take(page, "live")


@contextmanager
def load(server: Server) -> Iterator[None]:
    """Four callers that send a page one after the other."""
    stop = threading.Event()
    picture = (SAMPLES / "receipt.png").read_bytes()

    def call(number: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            made = picture + bytes(f"{number}/{turn}", "ascii")  # no two alike, so that none comes from the cache
            try:
                httpx.post(f"{server.url}/ocr", files={"file": ("page.png", made)}, timeout=60)
            except httpx.HTTPError:
                stop.wait(0.5)

    callers = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(4)]
    for caller in callers:
        caller.start()
    yield
    stop.set()
    for caller in callers:
        caller.join(60)


def live_under_load(browser: Browser, server: Server, albums: list[Album]) -> None:
    """The view Live while others read."""
    with load(server):
        for album in albums:
            with visit(browser, server, width=album.width, height=SIZES[album.width], dark=album.dark) as page:
                page.click("#tab-live")
                expect(page.locator(".chart").first).to_be_visible()
                page.wait_for_timeout(4000)
                album.take(page, "live-load")


def diagram(browser: Browser, albums: list[Album]) -> None:
    """A picture of a flowchart, read by a model that writes what a test says, and drawn."""
    with running_chart_page() as server:
        for album in albums:
            with visit(browser, server, width=album.width, height=SIZES[album.width], dark=album.dark) as page:
                page.click("#options summary")
                page.select_option("#task", "chart")
                page.click("#options summary")
                give(page, ("orders.png", flow_picture()))
                expect(page.locator(".diagram img")).to_be_visible()
                album.take(page, "diagram")


STATES: tuple[Callable[[Page, Album], None], ...] = (reading, several, other_views)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=int, action="append", choices=list(SIZES))
    parser.add_argument("--look", choices=("light", "dark"), action="append")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    looks = given.look or ["light", "dark"]
    albums = [Album(given.folder, width, look == "dark") for width in given.width or SIZES for look in looks]
    with running_page() as server, chromium() as browser:
        for album in albums:
            with visit(browser, server, width=album.width, height=SIZES[album.width], dark=album.dark) as page:
                for state in STATES:
                    state(page, album)
        live_under_load(browser, server, albums)
        diagram(browser, albums)
    faults = [fault for album in albums for fault in album.faults]
    print(*faults or ["nothing serious"], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
