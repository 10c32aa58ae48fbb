"""Draws the README's moving picture, docs/screenshots/inkgate.webp, from the web page. Needs Chromium."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium, drop, running_page, visit  # noqa: E402 - the folder of tests is no package

OUT = ROOT / "docs" / "screenshots" / "inkgate.webp"
SAMPLES = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples"
WIDTH, HEIGHT = 1200, 720
SHOWN_WIDTH = 960
LIMIT_KB = 500


class Film:
    """Frames and how long each is shown, in ms."""

    def __init__(self) -> None:
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def take(self, page: Page, duration_ms: int) -> None:
        """Adds the page as it looks."""
        page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        size = (SHOWN_WIDTH, SHOWN_WIDTH * HEIGHT // WIDTH)
        self.frames.append(picture.resize(size, Image.Resampling.LANCZOS))
        self.durations.append(duration_ms)

    def save(self, path: Path) -> int:
        """Writes an animated WebP; returns its size in bytes."""
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=self.durations, loop=0, quality=75, method=6)
        return path.stat().st_size


def record(page: Page, film: Film) -> None:
    """A page is dropped and read; a cell is looked up; a receipt gives its fields."""
    film.take(page, 1200)
    page.route("**/ocr", lambda _: None)  # held back, so that the reading can be seen
    drop(page, SAMPLES / "report.png")
    expect(page.locator("#files .file")).to_have_count(1)
    expect(page.locator("#viewer .picture")).to_be_visible()
    film.take(page, 900)
    page.unroute_all(behavior="ignoreErrors")
    page.click("#forget")
    drop(page, SAMPLES / "report.png")
    expect(page.locator("#files .file.done")).to_have_count(1)
    expect(page.locator("#viewer .picture")).to_be_visible()
    film.take(page, 2500)
    cell = page.locator("#result-preview td").nth(9)
    cell.scroll_into_view_if_needed()
    cell.click()
    film.take(page, 2200)
    page.click("#result-tab-source")
    film.take(page, 2000)
    page.click("#tab-extract")
    page.click("#extract-sample")
    expect(page.locator(".field").first).to_be_visible()
    film.take(page, 2800)


def main() -> int:
    film = Film()
    with (
        running_page() as server,
        chromium() as browser,
        visit(browser, server, width=WIDTH, height=HEIGHT) as page,
    ):
        record(page, film)
    size_kb = film.save(OUT) / 1000
    print(f"{OUT.relative_to(ROOT)}: {len(film.frames)} frames, {size_kb:.0f} kB")
    return 1 if size_kb > LIMIT_KB else 0


if __name__ == "__main__":
    sys.exit(main())
