"""Reports in a real browser: no scripts, no requests, and a layout that fits any screen in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from inkgate_bench.reports.charts import DARK, LIGHT
from inkgate_bench.reports.comparison import LoadComparison, compare
from inkgate_bench.reports.files import Report, write_report
from support.browser import FOLDER, chromium, require_chromium, shoot
from support.hostile_reports import HOSTILE, hostile_load, hostile_tuning
from support.sample_reports import load_report, load_report_without_knee, one_point
from support.sample_tuning import tune_report

pytestmark = pytest.mark.real


REPORTS: dict[str, Callable[[], Report | LoadComparison]] = {
    "load": load_report,
    "one": one_point,
    "unreached": load_report_without_knee,
    "tune": tune_report,
    "hostile": hostile_load,
    "hostile-tune": hostile_tuning,
    "compared": lambda: compare(load_report(1), load_report(2, faster=1.25), ("a.json", "b.json")),
    "hostile-compared": lambda: compare(hostile_load(), hostile_load(), (HOSTILE, HOSTILE)),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    require_chromium()
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The HTML file of a report, written when it is first asked for."""
    folder = tmp_path_factory.mktemp("reports")

    def of(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            write_report(REPORTS[name](), file)
        return file

    return of


@contextmanager
def opened(browser: Browser, file: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Page]:
    """The report, opened from disk. At the end: nothing else was asked for, and nothing was said or refused."""
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]  # one of its words
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: None if request.url.startswith("data:") else asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(file.as_uri())
    yield page
    context.close()
    assert asked == [file.as_uri()]
    assert said == []


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(("width", "dark"), [(1280, True), (360, False)])
def test_it_fits_its_screen_and_every_chart_is_there(
    browser: Browser, written: Callable[[str], Path], name: str, width: int, dark: bool
) -> None:
    with opened(browser, written(name), width=width, dark=dark) as page:
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        charts = page.locator("figure img")
        for number in range(charts.count()):
            assert charts.nth(number).evaluate("image => image.complete && image.naturalWidth > 0")
            box = charts.nth(number).bounding_box()
            assert box is not None
            assert box["width"] > 250
            assert 100 < box["height"] < 1500
        assert page.locator("figure").count() == charts.count()
        assert page.evaluate("document.querySelectorAll('script, iframe, a, link').length") == 0


def contrast(page: Page, selector: str) -> float:
    """Of an element's text against the page, by WCAG 2."""
    return float(
        page.evaluate(
            """selector => {
                const light = colour => {
                    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3)
                        .map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                    return 0.2126 * r + 0.7152 * g + 0.0722 * b
                }
                const style = getComputedStyle(document.querySelector(selector))
                const text = light(style.color)
                const paper = light(getComputedStyle(document.querySelector('figure')).backgroundColor)
                return (Math.max(text, paper) + 0.05) / (Math.min(text, paper) + 0.05)
            }""",
            selector,
        )
    )


@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read_in_light_and_dark(browser: Browser, written: Callable[[str], Path], dark: bool) -> None:
    with opened(browser, written("load"), dark=dark) as page:
        for selector in ("h1", "td", "th", "figcaption"):
            assert contrast(page, selector) >= 4.5, selector


def wait_for_chart(page: Page, ink: str) -> None:
    """Wait until the first chart is drawn in `ink`; the browser picks its source after styles have changed."""
    page.wait_for_function(
        "ink => atob(document.querySelector('figure img').currentSrc.split('base64,')[1] || '').includes(ink)", arg=ink
    )


def test_charts_follow_the_colours_of_the_page(browser: Browser, written: Callable[[str], Path]) -> None:
    for dark, palette in ((False, LIGHT), (True, DARK)):
        with opened(browser, written("load"), dark=dark) as page:
            wait_for_chart(page, palette.ink)


def test_a_phone_is_shown_charts_drawn_for_it(browser: Browser, written: Callable[[str], Path]) -> None:
    widths = []
    for width in (1280, 360):
        with opened(browser, written("load"), width=width, dark=True) as page:
            wait_for_chart(page, DARK.ink)
            widths.append(page.evaluate("document.querySelector('figure img').naturalWidth"))
    assert widths[1] < widths[0]


def test_paper_has_dark_text_on_white_whatever_the_screen(browser: Browser, written: Callable[[str], Path]) -> None:
    with opened(browser, written("load"), dark=True) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        wait_for_chart(page, LIGHT.ink)
        assert len(page.pdf(format="A4")) > 20_000


@pytest.mark.skipif(not FOLDER, reason="INKGATE_SCREENSHOTS names no folder")
def test_pictures_for_the_documentation(browser: Browser, written: Callable[[str], Path]) -> None:
    for name, dark in (("load", False), ("tune", True)):
        with opened(browser, written(name), width=1120, height=1180, dark=dark) as page:
            expect(page.locator("figure").first).to_be_visible()
            shoot(page, f"report-{name}")
