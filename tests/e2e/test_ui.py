"""The web page in a real browser: documents go in, and what was read comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import give, shoot, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "report.png"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"

pytestmark = pytest.mark.real


def three_pages() -> tuple[str, bytes]:
    pages = [text_at(30, 380, f"Chapter {number}", 24) + paragraph() for number in (1, 2, 3)]
    return "chapters.pdf", text_pdf(*pages)


def read(page: Page, task: str = "text") -> None:
    page.select_option("#ink-task", task)
    page.click("#ink-go")
    expect(page.locator("#ink-status")).to_contain_text("Done")
    expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()


def test_an_image_is_shown_with_its_boxes_and_text_and_each_leads_to_the_other(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        shoot(page, "empty")
        give(page, SAMPLE)
        read(page, "parse")
        expect(page.locator(".ink-box").first).to_be_attached()
        assert page.locator(".ink-box").count() == page.locator("#ink-lines [data-line]").count() > 30
        assert page.evaluate("document.querySelector('#ink-picture').naturalWidth") > 500
        line = page.locator("#ink-lines [data-line]", has_text="Gaza & West Bank")
        number = line.get_attribute("data-line")
        box = page.locator(f"polygon[data-line='{number}']")
        shoot(page, "result")
        box.hover()
        expect(page.locator("#ink-tip")).to_contain_text("Gaza & West Bank")
        expect(page.locator("#ink-tip")).to_contain_text("%")
        box.click()
        expect(line).to_have_attribute("aria-selected", "true")
        other = page.locator("#ink-lines [data-line]", has_text="FEMIP Country")
        other.click()
        picked = page.locator("polygon.ink-picked")
        expect(picked).to_have_attribute("data-line", other.get_attribute("data-line") or "")
        other.press("ArrowDown")
        expect(page.locator("#ink-lines [aria-selected=true]")).to_be_focused()


def test_markdown_is_rendered_and_every_format_can_be_saved(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, SAMPLE)
        read(page, "parse")
        page.click("#ink-tab-markdown")
        expect(page.locator("#ink-markdown table td", has_text="Gaza & West Bank")).to_be_visible()
        shoot(page, "markdown")
        page.click("#ink-tab-json")
        assert '"FEMIP Country"' in page.inner_text("#ink-source")
        saved = {}
        for name in ("text", "markdown", "json", "hocr", "alto"):
            with page.expect_download() as download:
                page.click(f"[data-format={name}]")
            saved[download.value.suggested_filename] = download.value.path().read_text(encoding="utf-8")
        assert set(saved) == {"report.txt", "report.md", "report.json", "report.hocr", "report.alto.xml"}
        assert all("Gaza" in content for content in saved.values())
        assert json.loads(saved["report.json"])["page_count"] == 1


def test_a_pdf_is_read_page_by_page_and_walked_through(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, three_pages())
        read(page)
        expect(page.locator("#ink-where")).to_have_text("Page 1 of 3")
        expect(page.locator("#ink-lines")).to_contain_text("Chapter 1")
        page.click("#ink-after")
        page.click("#ink-after")
        expect(page.locator("#ink-where")).to_have_text("Page 3 of 3")
        expect(page.locator("#ink-lines")).to_contain_text("Chapter 3")
        expect(page.locator("#ink-after")).to_be_disabled()
        expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()
        shoot(page, "pdf")


def test_some_pages_only_are_read_and_shown_under_their_own_numbers(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, three_pages())
        page.fill("#ink-pages", "2")
        read(page)
        expect(page.locator("#ink-lines")).to_contain_text("Chapter 2")
        assert "page 2" in (page.get_attribute("#ink-picture", "alt") or "").lower()


def test_a_bad_file_is_told_in_plain_words_beside_the_good_one(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, BROKEN, SAMPLE)
        read(page)
        problem = page.locator("#ink-problems .ink-problem")
        expect(problem).to_contain_text("broken.png: The image is damaged")
        expect(problem).to_contain_text("What to do: Open it in a viewer, save it again")
        expect(page.locator("#ink-lines")).to_contain_text("FEMIP Support Fund")
        page.evaluate("scrollTo(0, 0)")
        shoot(page, "error")


def test_where_nothing_could_be_read_the_error_stands_in_place_of_the_result(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        give(page, BROKEN)
        expect(page.locator("#ink-files li")).to_contain_text("ready")
        page.click("#ink-go")
        failure = page.locator("#ink-failure")
        expect(failure).to_contain_text("broken.png: The image is damaged")
        expect(page.locator("#ink-empty")).to_be_hidden()
        expect(page.locator("#ink-files li.ink-failed")).to_contain_text("The image is damaged")
        shoot(page, "failed")
        give(page, SAMPLE)
        read(page)
        expect(failure).to_be_hidden()
        expect(page.locator("#ink-files li").nth(1)).to_contain_text("· done")


def test_a_file_that_is_too_large_is_refused_before_it_is_sent(
    browser: Browser, page_server: Server, tmp_path: Path
) -> None:
    large = tmp_path / "large.pdf"
    with large.open("wb") as file:
        file.truncate(60_000_000)
    with visit(browser, page_server) as page:
        expect(page.locator("#ink-engine")).to_contain_text("ppocr")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method) if "/v1/files" in request.url else None)
        page.set_input_files("#ink-input", large)
        problem = page.locator("#ink-problems .ink-problem")
        expect(problem).to_contain_text("large.pdf: The file is too large")
        expect(problem).to_contain_text("It has 60.0 MB; the limit is 50.0 MB.")
        assert sent == []
        shoot(page, "too-large")


def test_copy_takes_the_source_of_what_is_shown_and_says_when_there_is_none(
    browser: Browser, page_server: Server
) -> None:
    status = "#ink-status"
    with visit(browser, page_server) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        give(page, three_pages())
        read(page)
        page.click("#ink-tab-markdown")
        page.click("#ink-copy")
        expect(page.locator(status)).to_have_text("Nothing to copy.")
        read(page, "parse")
        page.click("#ink-copy")
        expect(page.locator(status)).to_have_text("Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == json.loads(page.text_content("#ink-source") or "")["markdown"]
        assert copied.startswith("#")
        page.evaluate(
            "window.kept = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', {value: undefined})"
        )
        page.click("#ink-tab-text")
        page.click("#ink-copy")
        expect(page.locator(status)).to_have_text("Copied.")
        assert page.evaluate("window.kept.readText()").startswith("Chapter 1")
        page.evaluate("document.execCommand = () => false")
        page.click("#ink-copy")
        expect(page.locator(status)).to_contain_text("blocks copying")


def test_the_page_speaks_the_visitors_language_and_can_be_switched(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, locale="zh-CN") as page:
        expect(page.locator("#ink-go")).to_have_text("开始识别")
        assert page.get_attribute("html", "lang") == "zh-CN"
        give(page, BROKEN)
        page.click("#ink-go")
        expect(page.locator("#ink-failure")).to_contain_text("图像已损坏")
        page.click("#ink-clear")
        give(page, SAMPLE)
        page.click("#ink-go")
        expect(page.locator("#ink-status")).to_contain_text("完成")
        expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()
        shoot(page, "chinese")
        page.select_option("#ink-language", "en")
        expect(page.locator("#ink-go")).to_have_text("Read")
        assert page.get_attribute("html", "lang") == "en"
