"""The web page's view "Read" in a real browser: documents go in, and what was read comes out."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from inkgate_client import InkgateClient
from support.browser import drop, give, shoot, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "report.png"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"
LOCKED = ROOT / "tests" / "data" / "trust" / "g20_pw_r6_latin.pdf"
FORMATS = ("text", "markdown", "json", "hocr", "alto")

pytestmark = pytest.mark.real


def three_pages() -> tuple[str, bytes]:
    pages = [text_at(30, 380, f"Chapter {number}", 24) + paragraph() for number in (1, 2, 3)]
    return "chapters.pdf", text_pdf(*pages)


def done(page: Page, count: int = 1) -> None:
    expect(page.locator("#files .file.done")).to_have_count(count)


def test_a_sample_is_shown_with_its_boxes_and_each_leads_to_the_other(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        shoot(page, "empty")
        page.click("[data-sample='report.png']")
        done(page)
        expect(page.locator("#viewer .picture")).to_be_visible()
        cell = page.locator("#result-preview td", has_text="Gaza & West Bank")
        cell.click()
        box = page.locator("#viewer polygon.picked")
        expect(box).to_have_attribute("data-id", cell.get_attribute("data-id") or "")
        shoot(page, "result")
        number = page.locator("#result-preview .block", has_text="Source: FEMIP").get_attribute("data-id")
        other = page.locator(f"#viewer polygon[data-id='{number}']")
        other.click()
        block = page.locator("#result-preview .block.picked")
        expect(block).to_have_attribute("data-id", other.get_attribute("data-id") or "")
        expect(block).to_contain_text("Source: FEMIP")
        page.click("#result-tab-text")
        expect(page.locator("#viewer polygon.sure").first).to_be_attached()
        assert page.locator("#result-text .line").count() == page.locator("#viewer polygon").count() > 30
        page.locator("#result-text .line", has_text="FEMIP Country").click()
        expect(page.locator("#viewer polygon.picked")).to_have_count(1)
        page.focus("#result-tab-text")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#result-json")).to_contain_text('"FEMIP Country"')


def test_every_format_is_saved_and_copies_are_confirmed_at_the_button(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        give(page, SAMPLE, three_pages())
        done(page, 2)
        saved = {}
        menu = page.locator(".page-bar .menu-list")
        page.click(".menu summary")
        expect(page.get_by_role("menuitem", name="Word")).to_be_visible()
        page.click("#document-name")
        expect(menu).to_be_hidden()
        page.click(".menu summary")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(menu.locator("button:focus")).to_have_text("Word")
        page.keyboard.press("Escape")
        expect(page.locator(".menu summary")).to_be_focused()
        for name in FORMATS:
            page.click(".menu summary")
            with page.expect_download() as download:
                page.click(f"[data-format={name}]")
            expect(menu).to_be_hidden()
            saved[download.value.suggested_filename] = download.value.path().read_text(encoding="utf-8")
        assert set(saved) == {"report.txt", "report.md", "report.json", "report.hocr", "report.alto.xml"}
        assert all("Gaza" in content for content in saved.values())
        assert json.loads(saved["report.json"])["page_count"] == 1
        for name, head in (("docx", b"PK"), ("xlsx", b"PK"), ("pdf", b"%PDF")):
            page.click(".menu summary")
            with page.expect_download() as download:
                page.click(f"[data-format={name}]")
            assert download.value.path().read_bytes().startswith(head)
        table = page.locator(".csv")
        table.click()
        expect(table).to_have_text("Copied")
        assert "Gaza & West Bank,2.60\r\n" in page.evaluate("navigator.clipboard.readText()")
        page.click("#copy-page")
        expect(page.locator("#copy-page")).to_have_text("Copied")
        assert "| Gaza & West Bank | 2.60 |" in page.evaluate("navigator.clipboard.readText()")
        # Without TLS there is no clipboard, but the command works.
        page.evaluate("window.kept = navigator.clipboard; void Object.defineProperty(navigator, 'clipboard', {})")
        page.locator("#files .file-name", has_text="chapters.pdf").click()
        page.click("#copy-document")
        expect(page.locator("#copy-document")).to_have_text("Copied")
        copied = page.evaluate("window.kept.readText()")
        assert [copied.count(f"Chapter {number}") for number in (1, 2, 3)] == [1, 1, 1]
        page.evaluate("document.execCommand = () => false")
        page.click("#copy-page")
        expect(page.locator("#copy-page")).to_contain_text("Blocked")


def test_a_pdf_is_walked_through_by_number_button_and_key(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        drop(page, three_pages())
        done(page)
        expect(page.locator("#page-count")).to_have_text("of 3")
        expect(page.locator("#result-preview")).to_contain_text("Chapter 1")
        page.click("#after")
        page.keyboard.press("j")
        expect(page.locator("#page-number")).to_have_value("3")
        expect(page.locator("#result-preview")).to_contain_text("Chapter 3")
        expect(page.locator("#after")).to_be_disabled()
        expect(page.locator("#viewer img.picture")).to_have_attribute("alt", re.compile("Page 3"))
        page.keyboard.press("/")
        page.keyboard.type("CHÁPTER  ")
        expect(page.locator("#find-count")).to_have_text("3 of 3")
        page.keyboard.press("Enter")
        expect(page.locator("#find-count")).to_have_text("1 of 3")
        expect(page.locator("#result-preview .picked")).to_contain_text("Chapter 1")
        expect(page.locator("#viewer polygon.picked")).to_have_count(1)
        assert page.evaluate("[...CSS.highlights.get('found-now')].map(String)") == ["Chapter"]
        page.keyboard.press("Escape")
        expect(page.locator("#find-count")).to_be_empty()
        page.fill("#page-number", "2")
        page.keyboard.press("Enter")
        expect(page.locator("#result-preview")).to_contain_text("Chapter 2")
        shoot(page, "pdf")
        page.click("#options summary")
        page.fill("#pages", "2")
        page.press("#pages", "Tab")
        page.click("#again")
        done(page)
        expect(page.locator("#page-number")).to_have_value("2")
        expect(page.locator("#pager")).to_be_hidden()
        expect(page.locator("#result-preview")).to_contain_text("Chapter 2")


_BOX_AND_PICTURE = """() => {
  const box = document.querySelector("#viewer polygon:not(.cell)").getBoundingClientRect();
  const picture = document.querySelector("#viewer .picture").getBoundingClientRect();
  const stage = document.querySelector("#viewer .stage");
  const along = (at, from, size) => (at - from) / size;
  return {
    left: along(box.left, picture.left, picture.width), right: along(box.right, picture.left, picture.width),
    top: along(box.top, picture.top, picture.height), bottom: along(box.bottom, picture.top, picture.height),
    width: picture.width, height: picture.height, room: stage.clientHeight,
  };
}"""


def test_the_picture_is_zoomed_turned_and_chosen_by_thumbnails(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, three_pages())
        done(page)
        expect(page.locator(".thumb img")).to_have_count(3)
        page.locator(".thumb").nth(2).click()
        expect(page.locator("#page-number")).to_have_value("3")
        page.keyboard.press("ArrowUp")
        expect(page.locator("#page-number")).to_have_value("2")
        expect(page.locator(".thumb[aria-current=page]")).to_be_focused()
        expect(page.locator("#viewer img.picture")).to_have_attribute("alt", re.compile("Page 2"))
        with_gap = page.evaluate(_BOX_AND_PICTURE)
        inner = _first_box(page)
        for name, sign in (("left", -1), ("right", 1)):
            moved = sign * (with_gap[name] - inner[name]) * with_gap["width"]
            assert 1.5 < moved < 5, (name, moved)
        page.locator("#viewer [aria-label='Zoom in']").click(click_count=3)
        expect(page.locator("#viewer .zoom")).to_have_text("195%")
        zoomed = page.evaluate(_BOX_AND_PICTURE)
        assert zoomed["width"] > 1.9 * with_gap["width"]
        assert 1.5 < (inner["left"] - zoomed["left"]) * zoomed["width"] < 5
        page.click("#viewer [aria-label='Fit the whole page']")
        whole = page.evaluate(_BOX_AND_PICTURE)
        assert whole["height"] <= whole["room"]
        with page.expect_response(re.compile("turn=90")):
            page.click("#viewer [aria-label='Rotate the picture']")
        expect(page.locator("#viewer .overlay g")).to_have_attribute("transform", re.compile("matrix"))
        expect(page.locator("#viewer .sheet.old")).to_have_count(0)
        turned = page.evaluate(_BOX_AND_PICTURE)
        assert turned["width"] > turned["height"]
        assert abs(turned["top"] - whole["left"]) < 0.02
        assert abs(turned["right"] - (1 - whole["top"])) < 0.02
        before = page.locator("#viewer").bounding_box()
        page.focus("#splitter")
        page.keyboard.press("ArrowLeft")
        after = page.locator("#viewer").bounding_box()
        assert before is not None
        assert after is not None
        assert after["width"] < before["width"]
        page.reload()
        expect(page.locator("#splitter")).to_have_attribute("aria-valuenow", "49")


def _first_box(page: Page) -> dict[str, float]:
    """The first block of the page that is shown, as shares of the page."""
    told = json.loads(
        page.evaluate("""() => {
      document.querySelector("#result-tab-json").click();
      const text = document.querySelector("#result-json pre").textContent;
      document.querySelector("#result-tab-preview").click();
      return text;
    }""")
    )
    left, _, right, _ = told["blocks"][0]["box"]
    return {"left": left / told["width"], "right": right / told["width"]}


def test_a_bad_file_is_told_in_plain_words_beside_good_ones(
    browser: Browser, page_server: Server, tmp_path: Path
) -> None:
    large = tmp_path / "large.pdf"
    with large.open("wb") as file:
        file.truncate(60_000_000)
    with visit(browser, page_server) as page:
        expect(page.locator("#engine")).to_have_text(re.compile("ppocr"))
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        page.set_input_files("#input", large)
        problem = page.locator("#failure .problem")
        expect(problem).to_contain_text("large.pdf: The file is too large")
        expect(problem).to_contain_text("It has 60.0 MB; the limit is 50.0 MB.")
        assert sent == []
        give(page, BROKEN)
        expect(problem).to_contain_text("broken.png: The image is damaged")
        expect(problem).to_contain_text("What to do: Open it in a viewer, save it again")
        give(page, SAMPLE)
        done(page)
        expect(page.locator("#result-preview")).to_contain_text("FEMIP Support Fund")
        page.locator("#files .file-name", has_text="broken.png").click()
        shoot(page, "error")
        again = page.locator("#files .file.failed button[title='Try again'], #failure button")
        expect(again).to_have_count(0)  # the same would fail again
        page.click("#options summary")
        page.select_option("#task", "text")
        expect(again).to_have_count(3)
        page.locator("#failure button").click()
        expect(problem).to_contain_text("The image is damaged")
        expect(again).to_have_count(1)  # of the other file
        page.route("**/ocr", lambda route: route.abort())
        give(page, SAMPLE)
        expect(page.locator("#files .file.failed button[title='Try again']")).to_have_count(2)
        page.click("#forget")
        expect(page.locator("#read.empty")).to_be_visible()


def test_a_locked_pdf_asks_for_its_password(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, LOCKED)
        form = page.locator("#failure form.locked")
        expect(form).to_contain_text("g20_pw_r6_latin.pdf has a password")
        expect(form.get_by_label("Password")).to_be_focused()
        shoot(page, "locked")
        page.keyboard.type("not this one")
        page.keyboard.press("Enter")
        expect(form).to_contain_text("This password does not open the PDF")
        page.fill("#unlock", "pässwört")
        page.keyboard.press("Enter")
        done(page)
        expect(page.locator("#failure")).to_be_empty()
        expect(page.locator("#again")).to_be_hidden()


def test_doubtful_words_are_walked_through_and_corrected_in_every_form(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.route("**/ocr", lambda route: route.fulfill(body=DOUBTFUL, content_type="application/x-ndjson"))
        give(page, SAMPLE)
        done(page)
        expect(page.locator(".doubts")).to_contain_text("2")
        page.keyboard.press("n")
        mark = page.locator("#result-preview mark:focus")
        expect(mark).to_have_text("Harb0ur")
        shoot(page, "doubtful")
        page.keyboard.press("Enter")
        page.keyboard.type("Harbour")
        page.keyboard.press("Enter")
        expect(page.locator("#result-preview")).to_contain_text("Little Harbour Books")
        expect(page.locator(".doubts")).to_contain_text("1")
        page.click("#result-tab-source")
        expect(page.locator("#result-source")).to_contain_text("# Little Harbour Books")
        page.click("#result-tab-text")
        line = page.locator("#result-text .line", has_text="0pen")
        line.hover()
        line.locator(".edit").click()
        page.keyboard.press("Control+A")
        page.keyboard.type("Open daily")
        page.keyboard.press("Enter")
        expect(page.locator(".doubts")).to_be_hidden()
        page.click(".menu summary")
        with page.expect_download() as download:
            page.click("[data-format=markdown]")
        assert download.value.path().read_text(encoding="utf-8") == "## Little Harbour Books\n\nOpen daily\n"
        expect(page.locator("#document-state")).to_contain_text("corrected")


_LINES = """(cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((box) => box.top)).size;
}"""
_COVERED = """() => {
  const box = document.querySelector("#result-preview .csv").getBoundingClientRect();
  const table = document.querySelector("#result-preview table").getBoundingClientRect();
  return box.bottom > table.top;
}"""


def test_numbers_in_a_wide_table_stay_whole_and_the_table_scrolls(browser: Browser, page_server: Server) -> None:
    heads = ["Item", *(f"Q{number} 2024" for number in range(1, 9))]
    row = ["Provisions for pensions and similar obligations", "257,055,899", "(1 234 567)", *["98.5 %"] * 5, "–"]
    body = _page([], [_table([heads, row, row])], "")
    for width in (1440, 390):
        with visit(browser, page_server, width=width) as page:
            page.route("**/ocr", partial(_fulfill, body))
            give(page, SAMPLE)
            done(page)
            cells = page.locator("#result-preview tr:last-child td")
            expect(cells).to_have_count(9)
            assert [cells.nth(at).evaluate(_LINES) for at in (1, 2)] == [1, 1]
            ends = [cell.evaluate("(cell) => getComputedStyle(cell).textAlign") for cell in cells.all()]
            assert ends == ["left", *["right"] * 7, "left"]
            head = page.locator("#result-preview tr:first-child td").nth(1)
            assert head.evaluate("(cell) => getComputedStyle(cell).textAlign") == "right"
            assert not page.evaluate(_COVERED)
            scroll = page.locator("#result-preview .scroll")
            assert scroll.evaluate("(node) => node.scrollWidth > node.clientWidth")
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            scroll.evaluate("(node) => node.scrollTo(9999, 0)")
            expect(cells.nth(0)).to_be_in_viewport()


def _fulfill(body: bytes, route: Route) -> None:
    route.fulfill(body=body, content_type="application/x-ndjson")


def test_numbers_are_told_from_text(browser: Browser, page_server: Server) -> None:
    numbers = ["7", "-12.5%", "(202,724,977)", "1 234 567", "1'234.50", "€ 3.20", "$5", "0.76±0.02", "12 kg", "USD 7"]
    numbers += ["2024-01-31", "10:30", "−3", "<0.05", "1.234,50 €", "12*"]
    texts = ["", "-", "n/a", "A4 paper", "Q4 2024", "3 items left", "B-12", "No. 7", "7 of 9", "12 Main Street"]
    with visit(browser, page_server) as page:
        told = page.evaluate(
            """async (all) => {
          const { isNumber } = await import("/ui/tables.js");
          return all.filter(isNumber);
        }""",
            numbers + texts,
        )
    assert told == numbers


def _table(rows: list[list[str]]) -> dict[str, object]:
    cells: list[dict[str, object]] = [
        {
            "row": y,
            "column": x,
            "row_span": 1,
            "column_span": 1,
            "text": text,
            "lines": [],
            "box": None,
            "header": False,
        }
        for y, row in enumerate(rows)
        for x, text in enumerate(row)
    ]
    return _block("table", "", "", 0) | {"lines": [], "table": {"rows": len(rows), "columns": 9, "cells": cells}}


def _line(text: str, top: float, doubtful: int) -> dict[str, object]:
    quad = [[10, top], [300, top], [300, top + 20], [10, top + 20]]
    words = [
        {"text": word, "quad": quad, "confidence": 0.4 if place == doubtful else 0.99}
        for place, word in enumerate(text.split())
    ]
    return {"text": text, "quad": quad, "confidence": 0.8, "words": words}


def _block(kind: str, text: str, markdown: str, line: int) -> dict[str, object]:
    block = {"type": kind, "box": [10, 10, 300, 40], "lines": [line], "text": text, "markdown": markdown}
    return block | {"level": None, "confidence": 0.8, "type_confidence": None, "table": None, "error": None}


def _page(lines: list[dict[str, object]], blocks: list[dict[str, object]] | None, markdown: str) -> bytes:
    texts = "\n".join(str(line["text"]) for line in lines)
    page: dict[str, object] = {"index": 0, "width": 400, "height": 500, "dpi": None, "rotation": 0, "source": "ocr"}
    page |= {"coordinates": "upright", "engine": "ppocr", "confidence": 0.8, "text": texts, "markdown": markdown}
    page |= {"fields": None, "header": None, "footer": None, "lines": lines, "words": [], "blocks": blocks}
    page |= {"left_out": [], "review": [], "timings_ms": {}, "degraded": [], "attempts": [], "error": None}
    end = {"status": "complete", "name": "a.png", "mime_type": "image/png", "byte_count": 1, "page_count": 1}
    end |= {"engine": "ppocr", "pages_answered": 1, "pages_failed": 0, "needs_review": [], "notes": [], "error": None}
    return "".join(json.dumps(line) + "\n" for line in (page, end)).encode()


DOUBTFUL = _page(
    [_line("Little Harb0ur Books", 10, 1), _line("0pen daily", 40, 0)],
    [
        _block("title", "Little Harb0ur Books", "# Little Harb0ur Books", 0),
        _block("text", "0pen daily", "0pen daily", 1),
    ],
    "# Little Harb0ur Books\n\n0pen daily",
)
HOSTILE = """# <img src=x onerror=alert(1)> <script>alert(2)</script>

[safe](https://inkgate.example/x) [bad](javascript:alert(3)) [data](data:text/html,x) ![pic](http://evil.example/p.png)

<table><tr onclick="alert(4)"><td colspan="2" style="position:fixed"><b>left</b><iframe src="http://evil.example">
</iframe></td><td>&lt;b&gt;</td></tr></table>

<a href="http://evil.example">a</a><svg onload=alert(5)>

"""


def test_hostile_text_stays_text_and_long_pages_do_not_freeze(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        alerts: list[str] = []
        page.on("dialog", lambda dialog: alerts.append(dialog.message))
        long = HOSTILE + "*" * 40_000 + "[" * 40_000 + "\n\n" + "| a " * 2000 + "|\n" + "> " * 5000 + "\n"
        lines = [_line(f"line {number} <i>x</i>", number, -1) for number in range(3000)]
        page.route(
            "**/ocr", lambda route: route.fulfill(body=_page(lines, None, long), content_type="application/x-ndjson")
        )
        give(page, ("<b>name</b>.png", SAMPLE.read_bytes()))
        done(page)
        preview = page.locator("#result-preview")
        expect(preview.locator("table td").first).to_have_text('left<iframe src="http://evil.example">\n</iframe>')
        expect(preview.locator("h2")).to_have_text("<img src=x onerror=alert(1)> <script>alert(2)</script>")
        assert preview.locator("a").evaluate_all("all => all.map(a => a.href)") == ["https://inkgate.example/x"]
        assert (
            page.locator("#result :is(script, iframe, img, svg:not(.icon), [onclick], [style], [onerror])").count() == 0
        )
        expect(page.locator("#document-name")).to_have_text("<b>name</b>.png")
        page.click("#result-tab-text")
        expect(page.locator("#result-text .line")).to_have_count(400)
        page.click("#result-text .more")
        expect(page.locator("#result-text .line")).to_have_count(800)
        assert alerts == []


def test_text_and_tables_made_to_keep_the_page_busy_do_not(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        searches = page.evaluate("""async () => {
          const { renderMarkdown } = await import("/ui/markdown.js");
          const { indexOf } = String.prototype;
          let count = 0;
          String.prototype.indexOf = function (...sought) { count += 1; return indexOf.apply(this, sought); };
          try { renderMarkdown("[]".repeat(10_000) + "](", document.createElement("div")); }
          finally { String.prototype.indexOf = indexOf; }
          return count;
        }""")
        assert searches < 10
        lengths = page.evaluate("""async () => {
          const { csvOfElement, tableOf } = await import("/ui/tables.js");
          const wide = "<tr>" + "<td colspan=200>a".repeat(2000) + "<tr><td>b".repeat(4000);
          const high = "<tr><td colspan=200 rowspan=200>a".repeat(3000);
          return [wide, high].map((rows) => csvOfElement(tableOf(rows)).length);
        }""")
        assert max(lengths) < 1_000_000


def test_a_document_is_neither_read_nor_sent_twice_at_once(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        reads = page.evaluate("""async () => {
          const { Doc, Reading } = await import("/ui/documents.js");
          const reads = [];
          let finish;
          const finished = new Promise((resolve) => { finish = resolve; });
          class Slow extends Reading {
            async read(doc) { reads.push(doc.name); await finished; doc.status = "done"; }
          }
          const docs = ["a", "b", "c"].map((name) => new Doc(new Blob(["x"], { type: "image/png" }), name));
          await new Promise((resolve) => {
            let reading = null;
            reading = new Slow(() => { if (!reading.queue.length && !reading.running.size) resolve(); });
            for (const doc of [...docs, ...docs]) reading.add(doc, {});
            finish();
          });
          return reads;
        }""")
        assert reads == ["a", "b", "c"]
        page.wait_for_load_state("networkidle")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url))
        page.evaluate("""async () => {
          const { Doc, ensurePictures } = await import("/ui/documents.js");
          const doc = new Doc(new Blob(["%PDF-1.7"], { type: "application/pdf" }), "a.pdf");
          await Promise.all([ensurePictures(doc), ensurePictures(doc)]);
        }""")
        assert sent == [f"{page_server.url}/v1/files"]


def test_a_file_removed_while_it_is_read_does_not_come_back(browser: Browser, page_server: Server) -> None:
    pages = [text_at(30, 380, f"Part {number} of a long document", 18) + paragraph() for number in range(150)]
    with visit(browser, page_server) as page:
        page.click("#options summary")
        page.select_option("#pdf-text", "never")
        give(page, BROKEN)
        expect(page.locator("#files .file.failed")).to_have_count(1)
        give(page, ("long.pdf", text_pdf(*pages)))
        expect(page.locator("#document-name")).to_have_text("long.pdf")
        page.locator("#files .file", has_text="long.pdf").locator("button").last.click()
        expect(page.locator("#stop")).to_be_hidden()
        expect(page.locator("#files .file")).to_have_count(1)
        expect(page.locator("#failure")).to_contain_text("broken.png")
        expect(page.locator("#bar")).to_be_hidden()


def test_stop_and_removing_a_file_stop_the_reading_itself(browser: Browser, page_server: Server) -> None:
    pages = [text_at(30, 380, f"Part {number} of a long document", 18) + paragraph() for number in range(150)]
    with InkgateClient(page_server.url) as client, visit(browser, page_server) as page:
        before = sum(client.state().work.pages.values())
        page.click("#options summary")
        page.select_option("#pdf-text", "never")
        give(page, ("long.pdf", text_pdf(*pages)))
        expect(page.locator("#files .state")).to_contain_text(re.compile(r"reading [1-9]\d*/150"))
        expect(page.locator("#result-preview")).to_contain_text("Part 0")
        page.click("#stop")
        expect(page.locator("#files .state")).to_contain_text("stopped")
        for _ in range(600):
            if client.state().admission.documents == 0:
                break
            page.wait_for_timeout(100)
        assert client.state().admission.documents == 0
        assert sum(client.state().work.pages.values()) - before < 150
