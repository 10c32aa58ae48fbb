"""The web page as a whole in a real browser: the Live tab, keys, narrow screens, and who can't see or use a mouse."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from inkgate.client import InkgateClient
from inkgate.telemetry.state import State
from support.browser import give, running_page, shoot, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"
KEY = "inkgate_a-key-for-this-test"

pytestmark = pytest.mark.real

# What axe-core's rules `button-name`, `label`, `image-alt`, `duplicate-id` and `aria-valid-attr-value` look for.
UNNAMED = """() => {
  const named = (node) => node.getAttribute("aria-label") || node.title || node.alt || node.textContent.trim()
    || (node.labels && [...node.labels].some((label) => label.textContent.trim()))
    || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent.trim();
  const seen = (node) => node.checkVisibility();
  const root = document.querySelector("#inkgate");
  const wrong = [];
  const spoken = "button, select, input, img, a, svg[role=img], dialog, "
    + "[role=tab], [role=tabpanel], [role=listbox], [role=option]";
  for (const node of root.querySelectorAll(spoken))
    if (seen(node) && !named(node)) wrong.push("no name: " + node.outerHTML.slice(0, 120));
  for (const node of root.querySelectorAll("svg:not([role=img])"))
    if (node.getAttribute("aria-hidden") !== "true" && node.id !== "ink-overlay")
      wrong.push("not hidden: " + node.outerHTML.slice(0, 80));
  const ids = [...root.querySelectorAll("[id]")].map((node) => node.id);
  wrong.push(...ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => "twice: " + id));
  for (const name of ["aria-controls", "aria-labelledby"])
    for (const node of root.querySelectorAll(`[${name}]`))
      if (!document.getElementById(node.getAttribute(name))) wrong.push(name + " of nothing: " + node.id);
  if (root.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  if (!document.documentElement.lang) wrong.push("no language");
  return wrong;
}"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"


def test_the_live_tab_moves_under_load(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.click("#ink-tab-live")
        chart = page.get_by_role("img", name="Pages, per second")
        expect(chart).to_be_visible()
        before = page.inner_html("#ink-panel")
        with httpx.Client(timeout=60) as client:
            for number in range(6):
                data = SAMPLE.read_bytes() if number % 4 else text_pdf(text_at(30, 380, f"Page {number}", 24))
                assert client.post(f"{page_server.url}/ocr?pdf_text=never", files={"file": data}).status_code == 200
        # Other tests may have had pages read before, which the panel shows already: it has to change as well.
        page.wait_for_function(
            """before => document.querySelector('#ink-panel').innerHTML !== before
                && /Pages 0\\.0*[1-9]|Pages [1-9]/.test(
                document.querySelector('#ink-panel [aria-label^="Pages, per second"]').getAttribute('aria-label'))""",
            arg=before,
        )
        assert page.locator(".ink-chip.ink-good").inner_text() == "ready"
        expect(page.locator(".ink-verdict")).to_contain_text("Reading normally")
        shoot(page, "verdict")
        assert page.evaluate(UNNAMED) == []


def test_a_dark_screen_is_honoured(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, dark=True) as page:
        page.click("#ink-tab-live")
        expect(page.locator(".ink-chart").first).to_be_visible()
        colour = page.evaluate("getComputedStyle(document.querySelector('.ink-chart')).backgroundColor")
        assert max(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")) < 80


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, width=375, height=812) as page:
        assert page.evaluate(OVERFLOW) <= 0
        give(page, SAMPLE)
        page.select_option("#ink-task", "parse")
        page.click("#ink-go")
        expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()
        assert page.evaluate(OVERFLOW) <= 0
        page.click("#ink-tab-markdown")
        page.evaluate("document.querySelector('.ink-viewer').scrollIntoView()")
        shoot(page, "narrow")
        assert page.evaluate(OVERFLOW) <= 0
        page.click("#ink-tab-live")
        expect(page.locator(".ink-chart").first).to_be_visible()
        assert page.evaluate(OVERFLOW) <= 0


def test_everything_has_a_name_and_the_keyboard_reaches_it(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, SAMPLE)
        assert page.evaluate(UNNAMED) == []
        reached: list[str] = []
        while "ink-go" not in reached and len(reached) < 40:
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id"))
        wanted = ["ink-tab-read", "ink-language", "ink-choose", "ink-task", "ink-pages", "ink-pdf", "ink-go"]
        assert [name for name in reached if name in wanted] == wanted
        page.focus("#ink-go")
        page.keyboard.press("Enter")
        expect(page.locator("#ink-status[aria-live=polite]")).to_contain_text("Done")
        expect(page.locator("#ink-picture")).to_have_attribute("alt", re.compile("."))  # it says what has arrived
        assert page.evaluate(UNNAMED) == []
        page.focus("#ink-tab-text")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#ink-markdown")).to_be_visible()


def test_stop_stops_the_reading_itself(browser: Browser, page_server: Server) -> None:
    pages = [text_at(30, 380, f"Part {number} of a long document", 18) + paragraph() for number in range(150)]

    def state() -> State:
        with InkgateClient(page_server.url) as client:
            return client.state()

    before = sum(state().work.pages.values())
    with visit(browser, page_server) as page:
        give(page, ("long.pdf", text_pdf(*pages)))
        page.select_option("#ink-pdf", "never")
        page.click("#ink-go")
        expect(page.locator("#ink-status")).to_contain_text("of 150 pages read")
        page.click("#ink-stop")
        expect(page.locator("#ink-status")).to_have_text("Stopped.")
        for _ in range(100):
            if state().admission.documents == 0:
                break
            page.wait_for_timeout(100)
        assert state().admission.documents == 0
        assert sum(state().work.pages.values()) - before < 150


def test_with_keys_the_page_asks_for_one_and_nothing_of_it_is_open(browser: Browser) -> None:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    with running_page(INKGATE_AUTH__KEY_HASHES=f'["{digest}"]') as server:
        with visit(browser, server) as page:
            expect(page.locator("#ink-key")).to_be_visible()
            shoot(page, "key")
            page.fill("#ink-key-input", "not-a-key")
            page.keyboard.press("Enter")
            expect(page.locator("#ink-key-wrong")).to_contain_text("This key is invalid")
            page.fill("#ink-key-input", KEY)
            page.keyboard.press("Enter")
            expect(page.locator("#ink-key")).to_be_hidden()
            give(page, SAMPLE)
            page.click("#ink-go")
            expect(page.locator("#ink-lines")).to_contain_text("FEMIP Country")
            expect(page.locator("#ink-picture:not(.ink-old)")).to_be_visible()
            page.click("#ink-later")
            expect(page.locator(".ink-job .ink-chip")).to_have_text("done")
            assert page.evaluate(UNNAMED) == []
            kept = page.evaluate("[JSON.stringify(localStorage), document.cookie]")
            assert KEY not in "".join(kept)
            page.click("#ink-tab-live")
            expect(page.locator(".ink-chart").first).to_be_visible()
        assert KEY not in server.log_text()
        closed = (
            "upload",
            "file=/etc/passwd",
            "proxy=http://127.0.0.1/",
            "run/predict",
            "call/read",
            "vibe-code",
            "runs",
        )
        for name in closed:
            assert httpx.get(f"{server.url}/ui/gradio_api/{name}", timeout=60).status_code == 404
            assert httpx.post(f"{server.url}/ui/gradio_api/{name}", content=b"x", timeout=60).status_code == 404
        join = f"{server.url}/ui/gradio_api/queue/join"
        assert httpx.post(join, content=bytes(200_000), timeout=60).status_code == 413
