"""Takes the pictures of the web page in docs/screenshots. Needs Chromium."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import cast

from PIL import Image
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium, give, running_page, visit  # noqa: E402 - the folder of tests is no package
from support.images import encoded  # noqa: E402
from support.pdf_writer import paragraph, text_at, text_pdf  # noqa: E402
from support.pictured_page import pictured_page  # noqa: E402
from support.server import Server  # noqa: E402

OUT = ROOT / "docs" / "screenshots"
SAMPLES = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"
PHONE = (390, 844)
FREQUENT = 128


def shot(page: Page) -> Image.Image:
    """The page as it looks."""
    page.mouse.move(2, 2)
    page.wait_for_timeout(500)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def keep(picture: Image.Image, name: str) -> None:
    """Writes the picture with 256 colours, which is a third of the size: the most frequent ones as they are, so that
    surfaces stay, and others that are far apart, so that small signs keep theirs.
    """
    counted = cast("list[tuple[int, tuple[int, int, int]]]", picture.getcolors(picture.width * picture.height))
    frequent = sorted(counted, reverse=True)[:FREQUENT]
    apart = picture.quantize(256 - FREQUENT, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in frequent for part in colour] + apart)
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)


def read(page: Page, count: int) -> None:
    expect(page.locator("#files .file:is(.done, .failed)")).to_have_count(count)
    expect(page.locator("#viewer .picture:visible, #failure .problem:visible").first).to_be_visible()


def long_pdf(pages: int) -> tuple[str, bytes]:
    """A PDF with a chapter on each page."""
    chapters = (text_at(30, 380, f"Chapter {number + 1}", 24) + paragraph() for number in range(pages))
    return "chapters.pdf", text_pdf(*chapters)


def add_jobs(page: Page) -> None:
    page.click("#tab-read")
    if not page.locator("#pdf-text").is_visible():
        page.click("#options summary")
    page.select_option("#pdf-text", "never")
    page.click("#tab-jobs")
    expect(page.locator("#jobs-loading")).to_be_hidden()
    give(page, SAMPLES / "letter.pdf", BROKEN, long_pdf(60), ("minutes.pdf", long_pdf(3)[1]), field="#jobs-input")
    expect(page.locator("#jobs-status")).to_contain_text("Jobs added")
    expect(page.locator("tr", has_text="letter.pdf").first.locator(".badge")).to_have_text("done")
    expect(page.locator("tr", has_text="chapters.pdf").first).to_contain_text("of 60")


def end_jobs(page: Page) -> None:
    while page.locator("[data-act=cancel]").count():
        page.locator("[data-act=cancel]").first.click()
        page.wait_for_timeout(500)


def draw_wide(browser: Browser, server: Server) -> None:
    with visit(browser, server, width=1280, height=800) as page:
        page.click("[data-sample='report.png']")
        read(page, 1)
        page.locator("#result-preview td", has_text="Gaza").click()
        keep(shot(page), "result")
        page.set_viewport_size({"width": 1280, "height": 860})
        give(page, ("hills.png", encoded(pictured_page(), "PNG")))
        read(page, 2)
        expect(page.locator("#result-preview .block.figure img")).to_be_visible()
        keep(shot(page), "figures")
        page.set_viewport_size({"width": 1280, "height": 560})
        give(page, BROKEN)
        read(page, 3)
        page.locator("#files .file-name", has_text="broken.png").click()
        keep(shot(page), "error")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.click("#tab-extract")
        page.click("#extract-sample")
        expect(page.locator(".field").first).to_be_visible()
        expect(page.locator("#field-viewer .picture")).to_be_visible()
        page.locator(".field", has_text="Total").last.locator(".field-title").click()
        keep(shot(page), "extract")
        page.set_viewport_size({"width": 1280, "height": 560})
        add_jobs(page)
        keep(shot(page), "jobs")
        page.set_viewport_size({"width": 1280, "height": 1020})
        page.click("#tab-live")
        expect(page.locator(".chart").first).to_be_visible()
        page.wait_for_timeout(3000)
        keep(shot(page), "live")
    with visit(browser, server, width=1280, height=800, locale="zh-CN") as page:
        give(page, SAMPLES / "letter.pdf")
        read(page, 1)
        keep(shot(page), "chinese")


def draw_phones(browser: Browser, server: Server) -> None:
    """Three views beside each other."""
    width, height = PHONE
    with visit(browser, server, width=width, height=height, dark=True) as page:
        page.click("[data-sample='report.png']")
        read(page, 1)
        pictures = [shot(page)]
        give(page, SAMPLES / "receipt.png", SAMPLES / "letter.pdf", BROKEN)
        read(page, 4)
        page.locator("#files .file-name", has_text="broken.png").click()
        page.evaluate("scrollTo(0, 0)")
        pictures.append(shot(page))
        page.click("#tab-jobs")
        expect(page.locator("#jobs-loading")).to_be_hidden()
        pictures.append(shot(page))
        end_jobs(page)
    strip = Image.new("RGB", (3 * width + 2 * 20, height), "white")
    for place, picture in enumerate(pictures):
        strip.paste(picture, (place * (width + 20), 0))
    keep(strip.resize((strip.width * 2 // 3, strip.height * 2 // 3), Image.Resampling.LANCZOS), "phone")


def main() -> None:
    with running_page(INKGATE_JOBS__AT_ONCE="1", INKGATE_JOBS__POLL_S="0.2") as server, chromium() as browser:
        draw_wide(browser, server)
        draw_phones(browser, server)


if __name__ == "__main__":
    main()
