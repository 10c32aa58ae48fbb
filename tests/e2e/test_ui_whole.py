"""The whole web page in a real browser: keys, languages, looks, narrow screens, sub-paths, keyboards, accessibility."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import give, running_page, shoot, visit
from support.server import Server

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "report.png"
LETTER = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples" / "letter.pdf"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"
LOCKED = ROOT / "tests" / "data" / "trust" / "g20_pw_r6_latin.pdf"
AXE = ROOT / ".setup" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
KEY, OTHER_KEY = "kept-in-this-tab-only", "of-somebody-else"
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"

pytestmark = pytest.mark.real


def done(page: Page, count: int = 1) -> None:
    expect(page.locator("#files .file.done")).to_have_count(count)


def another_key_forgets_what_was_read(page: Page) -> None:
    page.click("#tab-extract")
    page.click("#extract-ways [data-tab=names]")
    page.fill("#extract-names", "salary of Ms Example")
    page.click("#tab-read")
    page.reload()
    done(page, 2)
    expect(page.locator("#extract-names")).to_have_value("salary of Ms Example")
    page.click("#key-button")
    page.fill("#key-input", OTHER_KEY)
    page.keyboard.press("Enter")
    expect(page.locator("#read.empty")).to_be_visible()
    expect(page.locator("html[data-restored]")).to_be_attached()
    expect(page.locator("#extract-names")).to_have_value("")
    give(page, BROKEN)
    expect(page.locator("#files .file.failed")).to_have_count(1)
    page.click("#key-button")
    page.click("#key-forget")
    expect(page.locator("#read.empty")).to_be_visible()
    expect(page.locator("#key-dialog")).to_be_visible()


def test_with_keys_and_below_a_sub_path_the_page_asks_for_a_key_and_calls_nothing_else(browser: Browser) -> None:
    digests = json.dumps([hashlib.sha256(key.encode()).hexdigest() for key in (KEY, OTHER_KEY)])
    with running_page(INKGATE_AUTH__KEY_HASHES=digests, INKGATE_SERVER__ROOT_PATH="/tools/ocr") as server:
        with visit(browser, server, path="/tools/ocr/") as page:
            assert page.url == f"{server.url}/tools/ocr/ui/"
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            expect(page.locator("#key-dialog")).to_be_visible()
            shoot(page, "key")
            page.fill("#key-input", f"{KEY[:4]}\u200b{KEY[4:]}")
            page.keyboard.press("Enter")
            expect(page.locator("#key-wrong")).to_contain_text("This key is invalid")
            page.fill("#key-input", "not-a-key")
            page.keyboard.press("Enter")
            expect(page.locator("#key-wrong")).to_contain_text("This key is invalid")
            page.fill("#key-input", KEY)
            page.keyboard.press("Enter")
            expect(page.locator("#key-dialog")).to_be_hidden()
            expect(page.locator("#engine")).to_contain_text("ppocr")
            give(page, SAMPLE, LETTER)
            done(page, 2)
            page.locator("#files .file-name", has_text="letter.pdf").click()
            expect(page.locator("#viewer img.picture")).to_be_visible()
            page.click("#code-button")
            expect(page.locator("#code-text")).to_contain_text("Authorization: Bearer YOUR_KEY")
            expect(page.locator("#code-text")).to_contain_text(f"{server.url}/tools/ocr/ocr")
            page.click("#code-close")
            page.click("#tab-live")
            expect(page.locator(".chart").first).to_be_visible()
            kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, document.body.outerHTML]")
            assert KEY not in "".join(kept)
            another_key_forgets_what_was_read(page)
            give(page, SAMPLE)
            page.click("#key-cancel")
            expect(page.locator("#files .file.failed .state")).to_contain_text("API key")
            assert [url for url in asked if not url.startswith((f"{server.url}/tools/ocr/", "blob:"))] == []
        assert KEY not in server.log_text()


def test_the_page_speaks_the_visitors_language_and_can_be_switched(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, locale="zh-CN") as page:
        expect(page.locator("#choose")).to_have_text("选择文件")
        assert page.get_attribute("html", "lang") == "zh-CN"
        give(page, BROKEN)
        expect(page.locator("#failure")).to_contain_text("图像已损坏")
        expect(page.locator("#failure")).to_contain_text("PNG 图像无法解码：文件头有错误。")
        give(page, LETTER)
        done(page)
        page.click("#after")
        expect(page.locator("#result-preview")).to_contain_text("取书通知")
        shoot(page, "chinese")
        page.select_option("#language", "en")
        expect(page.locator("#copy-page")).to_have_text("Copy page")
        expect(page.locator("#files .file.done .state")).to_contain_text("done")
        assert page.get_attribute("html", "lang") == "en"


def test_a_narrow_screen_shows_the_result_and_nothing_overflows(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, width=390, height=844, dark=True) as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 17, 22)"
        assert page.evaluate(OVERFLOW) <= 0
        page.click("[data-sample='report.png']")
        done(page)
        expect(page.locator("#viewer .picture")).to_be_in_viewport()
        expect(page.locator("#result-preview .block").first).to_be_in_viewport(ratio=1)
        viewer = page.locator("#viewer").bounding_box()
        assert viewer is not None
        assert viewer["height"] < 844 * 0.4
        page.locator("#result-preview .block").last.click()  # scrolls down, and the picture stays in sight
        expect(page.locator("#viewer polygon.picked")).to_be_in_viewport()
        expect(page.locator("#result-preview .picked")).to_be_in_viewport(ratio=1)
        page.evaluate("scrollTo(0, 0)")
        shoot(page, "narrow")
        for view, sign in (("extract", "#extract-choose"), ("jobs", "#jobs-choose"), ("live", ".chart")):
            page.click(f"#tab-{view}")
            expect(page.locator(sign).first).to_be_visible()
            assert page.evaluate(OVERFLOW) <= 0, view
        page.click("#look")
        assert page.get_attribute("html", "data-look") == "light"


def test_the_keyboard_reaches_everything_that_reading_needs(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.click("[data-sample='report.png']")
        done(page)
        page.focus("#tab-read")
        reached: list[str] = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        wanted = ["language", "choose", "copy-page", "result-tab-preview", "result-preview"]
        assert [name for name in reached if name in wanted][: len(wanted)] == wanted
        page.focus("#tab-read")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#extract")).to_be_visible()
        expect(page.locator("#tab-extract")).to_be_focused()


def test_axe_finds_nothing_serious(browser: Browser, page_server: Server) -> None:
    if not AXE.exists():
        missing = "no axe-core here: `npm install --prefix .setup/npm --no-save --no-package-lock axe-core@4.14.1`"
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    found: list[str] = []
    for dark in (False, True):
        with visit(browser, page_server, dark=dark) as page:
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found += serious(page, "empty")
            page.click("[data-sample='report.png']")
            done(page)
            found += serious(page, "result")
            page.click("#result-tab-text")
            found += serious(page, "text")
            page.click("#code-button")
            found += serious(page, "code")
            page.click("#code-close")
            page.click("#tab-extract")
            page.click("#extract-sample")
            expect(page.locator(".field").first).to_be_visible()
            found += serious(page, "extract")
            give(page, SAMPLE, field="#extract-input")
            expect(page.locator("#extract-files li")).to_have_count(2)
            page.click("#extract-all")
            found += serious(page, "sheet")
            page.click("#tab-jobs")
            expect(page.locator("#jobs-loading")).to_be_hidden()
            give(page, SAMPLE, field="#jobs-input")
            for act in ("download", "remove"):
                page.locator(f".job [data-act={act}]").first.click()
                expect(page.locator(".job-more")).to_be_visible()
                found += serious(page, f"jobs, {act}")
            page.click("#tab-live")
            expect(page.locator(".chart").first).to_be_visible()
            page.locator(".chart .plot").first.press("ArrowLeft")
            expect(page.locator(".readout").first).to_be_visible()
            found += serious(page, "live")
            found += serious_of_files(page)
    assert found == []


def serious_of_files(page: Page) -> list[str]:
    """In the view "Read": a damaged file, a locked one, and one of several pages with its menu."""
    found: list[str] = []
    give(page, BROKEN, LOCKED, LETTER)
    page.click("#tab-read")
    expect(page.locator("#files .file.failed")).to_have_count(2)
    done(page, 2)
    page.locator("#files .file-name", has_text="broken.png").click()
    found += serious(page, "failure")
    page.locator("#files .file-name", has_text=LOCKED.name).click()
    found += serious(page, "locked")
    page.locator("#files .file-name", has_text="letter.pdf").click()
    expect(page.locator(".thumb img")).to_have_count(2)
    page.click(".page-bar .menu summary")
    found += serious(page, "pages")
    return found


def serious(page: Page, where: str) -> list[str]:
    told = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{where}: {rule['id']}: {re.sub(' +', ' ', str([node['target'] for node in rule['nodes']][:3]))}"
        for rule in told["violations"]
        if rule["impact"] in {"serious", "critical"}
    ]
