"""Jobs in the web page, in a real browser: documents are read later, watched, cancelled, retried and removed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import give, require_chromium, running_page, shoot, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

BROKEN = Path(__file__).parents[2] / "tests" / "data" / "images" / "broken.png"
HOSTILE = "Report <b>2026 & <script>.pdf"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
LONG = 400

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Runs one job at a time, so that others wait."""
    require_chromium()
    with running_page(INKGATE_JOBS__AT_ONCE="1", INKGATE_JOBS__POLL_S="0.2", INKGATE_JOBS__MAX_RETRIES="1") as started:
        yield started


def chapters(count: int) -> bytes:
    return text_pdf(*(text_at(30, 380, f"Chapter {number + 1}", 24) + paragraph() for number in range(count)))


def read_later(page: Page, *files: Path | tuple[str, bytes], pdf_text: str = "auto") -> None:
    page.click("#ink-tab-read")
    give(page, *files)
    page.select_option("#ink-pdf", pdf_text)
    page.click("#ink-later")
    expect(page.locator("#ink-jobs")).to_be_visible()
    expect(page.locator("#ink-jobs-status")).to_contain_text("Jobs added")


def row(page: Page, name: str) -> Locator:
    return page.locator(".ink-job", has=page.get_by_text(name, exact=True))


def state(page: Page, name: str) -> Locator:
    return row(page, name).locator(".ink-chip")


def press(page: Page, name: str, act: str) -> None:
    row(page, name).locator(f"[data-act={act}]").click()


def test_jobs_are_added_watched_shown_cancelled_retried_and_removed(browser: Browser, server: Server) -> None:
    with visit(browser, server) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("#ink-tab-jobs")
        expect(page.locator("#ink-jobs-empty")).to_be_visible()
        shoot(page, "jobs-empty")

        read_later(page, (HOSTILE, chapters(3)))
        expect(state(page, HOSTILE)).to_have_text("done")
        see_result(page)
        retry_failed(page)
        read_later(page, ("long.pdf", chapters(LONG)), pdf_text="never")
        expect(row(page, "long.pdf")).to_contain_text(re.compile(rf"[1-9]\d* of {LONG} pages"))
        read_later(page, ("waiting.pdf", chapters(1)))
        expect(row(page, "waiting.pdf")).to_contain_text("next in the queue")
        press(page, "long.pdf", "show")
        expect(page.locator("#ink-job-notes")).to_contain_text("The job goes on")
        expect(page.locator("#ink-lines")).to_contain_text("Chapter 1")
        page.evaluate("scrollTo(0, 0)")
        shoot(page, "jobs")
        press(page, "waiting.pdf", "cancel")
        expect(state(page, "waiting.pdf")).to_have_text("cancelled")
        press(page, "long.pdf", "cancel")
        expect(state(page, "long.pdf")).to_have_text("cancelled")
        expect(page.locator("#ink-job-notes")).to_contain_text("The job ended early")
        press(page, "waiting.pdf", "retry")
        expect(state(page, "waiting.pdf")).to_have_text("done")

        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_timeout(3000)
        assert asked == []  # nothing goes on, so nothing is asked for
        press(page, "broken.png", "remove")
        expect(row(page, "broken.png")).to_have_count(0)
        page.route(re.compile("component_server"), lambda route: route.abort())
        page.click("#ink-jobs-refresh")
        expect(page.locator("#ink-jobs-problem")).to_contain_text("The service can't be reached")
        shoot(page, "jobs-problem")
        page.unroute_all()
        page.click("#ink-jobs-refresh")
        expect(page.locator("#ink-jobs-problem")).to_be_empty()
        page.click("#ink-tab-read")
        expect(page.locator("#ink-empty")).to_be_visible()

    see_narrow(browser, server)


def see_result(page: Page) -> None:
    """Shows the pages of the job and saves its result in every format."""
    press(page, HOSTILE, "show")
    expect(page.locator("#ink-job-name")).to_have_text(HOSTILE)
    expect(page.locator("#ink-where")).to_have_text("Page 1 of 3")
    expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()
    assert page.evaluate("document.querySelector('#ink-picture').naturalWidth") > 500
    page.click("#ink-after")
    page.click("#ink-after")
    expect(page.locator("#ink-lines")).to_contain_text("Chapter 3")
    expect(page.locator("#ink-after")).to_be_disabled()
    page.click("#ink-before")
    expect(page.locator("#ink-lines")).to_contain_text("Chapter 2")
    shoot(page, "jobs-result")
    for name in ("text", "markdown", "hocr", "alto", "json"):
        with page.expect_download() as download:
            page.click(f"[data-format={name}]")
        saved = download.value.path().read_text(encoding="utf-8")
        assert "Chapter" in saved
    assert json.loads(saved)["page_count"] == 3
    page.click("#ink-job-close")
    expect(page.locator("#ink-job")).to_be_hidden()


def see_narrow(browser: Browser, server: Server) -> None:
    """Shows the same jobs on a phone, dark and in Chinese, in another tab, which doesn't have the pictures."""
    with visit(browser, server, width=375, height=812, locale="zh-CN", dark=True) as page:
        page.click("#ink-tab-jobs")
        expect(state(page, "long.pdf")).to_have_text("已取消")
        assert page.evaluate(OVERFLOW) <= 0
        shoot(page, "jobs-narrow")
        press(page, HOSTILE, "show")
        expect(page.locator("#ink-lines")).to_contain_text("Chapter 1")
        expect(page.locator("#ink-columns")).to_have_class(re.compile("ink-text-only"))
        assert page.evaluate(OVERFLOW) <= 0
        shoot(page, "jobs-narrow-result")


def retry_failed(page: Page) -> None:
    """A job that failed says why, and can be tried again."""
    read_later(page, BROKEN)
    expect(row(page, "broken.png")).to_contain_text("The image is damaged")
    with page.expect_response(re.compile("/retry$")) as answer:
        press(page, "broken.png", "retry")
    assert answer.value.status == 202
    expect(page.locator("#ink-jobs-status")).to_contain_text("are read again")
    expect(state(page, "broken.png")).to_have_text("failed")
