"""The web page's views "Extract", "Jobs" and "Live" in a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Route, expect

from inkgate.jobs.corrections import with_corrections
from support.browser import drop, give, shoot, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

BROKEN = Path(__file__).parents[2] / "tests" / "data" / "images" / "broken.png"
SLIP = Path(__file__).parents[2] / "src" / "inkgate" / "ui" / "assets" / "samples" / "receipt.png"
HOSTILE = "Report <b>2026 & <script>.pdf"
LONG = 400

pytestmark = pytest.mark.real


def test_fields_are_found_shown_on_the_page_corrected_and_saved(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.click("#tab-extract")
        page.click("#extract-sample")
        total = field(page, "Total")
        expect(total.locator("input")).to_have_value("18.70")
        expect(total.locator(".badge")).to_have_text(re.compile(r"found 9\d%|found 100%"))
        expect(page.locator("#extract-verdict")).to_have_text("All fields found; none needs review.")
        expect(page.locator("#checks")).to_contain_text("subtotal and tax add up to the total")
        total.locator(".field-title").click()
        box = page.locator("#field-viewer polygon.picked")
        expect(box).to_have_attribute("data-id", total.get_attribute("data-id") or "")
        shoot(page, "extract")
        page.locator("#field-viewer polygon.field-found").first.click()
        expect(field(page, "Merchant")).to_have_class(re.compile("picked"))
        merchant = field(page, "Merchant").locator("input")
        merchant.fill("Harbour Bakery Ltd")
        merchant.press("Enter")
        expect(field(page, "Merchant").locator(".badge")).to_have_text("corrected")
        with page.expect_download() as download:
            page.click("#fields-json")
        saved = json.loads(download.value.path().read_text(encoding="utf-8"))
        assert saved["data"]["merchant_name"] == "Harbour Bakery Ltd"
        assert saved["fields"]["/merchant_name"]["status"] == "corrected"
        (row,) = table(page, "#fields-csv")
        assert (row["file"], row["document_type"], row["merchant_name"]) == (
            "receipt.png",
            "receipt",
            "Harbour Bakery Ltd",
        )

        page.click("#way-names")
        page.fill("#extract-names", " ")
        page.click("#extract-again")
        expect(page.locator("#extract-fault")).to_have_text("Write at least one field name.")
        page.fill("#extract-names", "receipt, total")
        page.click("#extract-again")
        expect(page.locator("#fields-list .field")).to_have_count(2)
        page.click("#way-schema")
        page.fill("#extract-schema", "{")
        page.click("#extract-again")
        expect(page.locator("#extract-fault")).to_contain_text("This is not a JSON Schema")
        page.fill("#extract-schema", '{"type": "object", "properties": {"total": {"type": "number"}}}')
        page.click("#extract-again")
        expect(page.locator("#fields-list .field")).to_have_count(1)
        drop(page, BROKEN)
        page.locator("#extract-files .file-name", has_text="broken.png").click()
        expect(page.locator("#extract-failure .problem")).to_contain_text("The image is damaged")


def test_items_are_a_table_to_correct_that_a_reload_keeps(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, path="/ui/#extract") as page:
        page.click("#extract-sample")
        expect(page.locator(".items h3")).to_have_text("items (3)")
        second = page.get_by_label("description, row 2")
        second.fill("Oat roll")
        second.press("Enter")
        expect(page.get_by_label("description, row 3")).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(second).to_be_focused()
        page.get_by_role("button", name="Remove row 1").press("Enter")
        expect(page.get_by_role("button", name="Remove row 1")).to_be_focused()
        page.get_by_role("button", name="Add a row").press("Enter")
        expect(page.get_by_label("description, row 3")).to_be_focused()
        page.keyboard.type("Jam")
        page.keyboard.press("Tab")
        page.get_by_label("amount, row 3").fill("4.00")
        page.reload()  # and the last value's field was not left
        expect(page.locator("html[data-restored]")).to_be_attached()
        expect(page.locator(".items h3")).to_have_text("items (3)")
        expect(page.locator("#field-viewer .picture")).to_be_visible()
        names = [page.get_by_label(f"description, row {row}").input_value() for row in range(1, 4)]
        assert (names[0], names[2]) == ("Oat roll", "Jam")
        expect(page.get_by_label("amount, row 3")).to_have_value("4.00")
        with page.expect_download() as download:
            page.click("#fields-json")
        saved = json.loads(download.value.path().read_text(encoding="utf-8"))
        assert [item["description"] for item in saved["data"]["items"]] == names
        assert saved["data"]["items"][2]["amount"] == "4.00"
        assert saved["fields"]["/items/0/description"]["status"] == "corrected"
        assert saved["fields"]["/items/0/amount"]["value"] == saved["data"]["items"][0]["amount"]
        (row,) = table(page, "#fields-csv")
        assert json.loads(row["items"]) == saved["data"]["items"]


def test_several_documents_become_one_sheet_which_a_reload_keeps(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, path="/ui/#extract") as page:
        drop(page, SLIP, ("faint.png", faint(SLIP)), BROKEN)
        rows = page.locator("#sheet-rows tr")
        expect(rows).to_have_count(3)
        expect(page.locator("#extract-total")).to_have_text(re.compile("2 of 3 documents read · 1 failed"))
        expect(rows.filter(has_text="broken.png")).to_contain_text("The image is damaged")
        expect(rows.filter(has_text="receipt.png")).to_contain_text("Receipt")
        shoot(page, "sheet")
        page.locator("#sheet-rows .link", has_text="receipt.png").click()
        total = field(page, "Total").locator("input")
        total.fill("20.00")
        total.press("Enter")
        page.click("#extract-all")
        expect(rows.filter(has_text="receipt.png")).to_contain_text("20.00")
        page.reload()
        expect(rows).to_have_count(3)
        first, second = table(page, "#sheet-csv")
        assert (first["file"], first["total"], second["file"]) == ("receipt.png", "20.00", "faint.png")
        with page.expect_download() as download:
            page.click("#sheet-xlsx")
        book = zipfile.ZipFile(download.value.path())
        assert re.findall('<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode()) == ["documents", "items"]
        page.click("#extract-forget")
        expect(page.locator("#extract.empty")).to_be_visible()
        page.reload()
        expect(page.locator("#extract.empty")).to_be_visible()


def test_a_state_and_a_confidence_never_contradict_each_other(browser: Browser, page_server: Server) -> None:
    places = [{"page": 0, "box": [1, 1, 9, 9], "text": "03/04/2026"}]
    sure = {"kind": "date", "value": "2026-04-03", "text": "03/04/2026", "confidence": 0.98, "sources": places}
    none: dict[str, object] = {
        "kind": "text",
        "value": None,
        "text": None,
        "confidence": None,
        "sources": [],
        "alternatives": [],
    }
    fields: dict[str, dict[str, object]] = {
        "/date": {**sure, "status": "uncertain", "alternatives": ["2026-03-04"]},
        "/name": {**sure, "status": "uncertain", "confidence": 0.6, "alternatives": []},
        "/vat_id": {**none, "status": "not_found"},
        "/total": {**none, "status": "not_found"},
        "/tax": {**sure, "status": "invalid", "confidence": 0.5, "alternatives": []},
    }
    checks = [
        {"code": "required_missing", "passed": False, "fields": ["/total"], "detail": "1 missing"},
        {"code": "subtotal_plus_tax", "passed": False, "fields": ["/tax"], "detail": "1 + 1 and 3"},
    ]
    data = {path[1:]: each["value"] for path, each in fields.items()}
    pages = [{"index": 0, "width": 20, "height": 20, "rotation": 0}]
    answer = {"document_type": "invoice", "status": "needs_review", "data": data, "fields": fields, "checks": checks}
    with visit(browser, page_server, path="/ui/#extract") as page:
        page.route("**/extract", partial(_answer, json.dumps({**answer, "notes": [], "pages": pages})))
        page.click("#extract-sample")
        shown = {title: field(page, title) for title in ("Date", "Name", "VAT number", "Total", "Tax")}
        badges = {title: each.locator(".badge").inner_text() for title, each in shown.items()}
        assert badges == {
            "Date": "several readings",
            "Name": "uncertain 60%",
            "VAT number": "not found",
            "Total": "not found",
            "Tax": "a check fails",
        }
        expect(shown["VAT number"]).to_have_class("field field-absent")
        expect(shown["Total"]).to_have_class("field field-bad")
        expect(shown["Tax"]).to_contain_text("Fails: subtotal and tax add up to the total.")
        expect(page.locator("#extract-verdict")).to_have_text("Needs review. Fields to look at: 4.")
        page.click("#fields-save")
        expect(page.locator("#extract-verdict")).to_have_text("Reviewed.")
        page.unroute_all()
        nothing = {**answer, "document_type": None, "data": {}, "fields": {}, "checks": [], "notes": [], "pages": pages}
        page.route("**/extract", partial(_answer, json.dumps(nothing)))
        page.click("#extract-again")
        expect(page.locator("#extract-verdict")).to_contain_text("No known type of document. Choose a type")


_EDITS = """async (answer) => {
  const { Edited } = await import("./fields.js");
  const edited = new Edited(answer, ["/items/-/name", "/items/-/amount", "/phones/-"]), [items, phones] = edited.arrays;
  edited.removeRow(items, "0");
  edited.type("/items/2/name", "Bread");
  edited.type("/items/2/amount", " ");
  const row = edited.addRow(items);
  edited.addRow(items);
  edited.type(`/items/${row}/amount`, "4.50");
  edited.removeRow(phones, "1");
  edited.removeRow(phones, "0");
  edited.type("/count", "7");
  const restored = new Edited(answer, [], JSON.parse(JSON.stringify(edited)));
  return [edited.changes(), edited.result(), restored.result()];
}"""


def test_a_job_gets_the_rows_that_the_page_shows(browser: Browser, page_server: Server) -> None:
    rows = [{"name": name, "amount": amount} for name, amount in (("Tea", "2.00"), ("Cake", None), ("Rolls", "3.00"))]
    data: dict[str, Any] = {"count": 3, "items": rows, "phones": ["1", "2"], "tags": []}
    flat = {f"/items/{number}/{name}": row[name] for number, row in enumerate(rows) for name in row}
    about = {"status": "found", "kind": "text", "sources": [], "alternatives": [], "checks": []}
    values = {"/count": 3, **flat, "/phones/0": "1", "/phones/1": "2"}
    fields = {path: {**about, "value": value} for path, value in values.items() if value is not None}
    with visit(browser, page_server) as page:
        changes, result, restored = page.evaluate(_EDITS, {"data": data, "fields": fields, "checks": []})
    items = [{"name": "Cake", "amount": None}, {"name": "Bread", "amount": None}, {"name": None, "amount": "4.50"}]
    assert result["data"] == {"count": 7, "items": items, "phones": [], "tags": []}
    assert result == restored
    assert with_corrections(data, changes) == result["data"]
    assert {path: each["status"] for path, each in result["fields"].items() if path.startswith("/items")} == {
        "/items/0/name": "found",
        "/items/1/name": "corrected",
        "/items/1/amount": "corrected",
        "/items/2/amount": "corrected",
    }


def faint(picture: Path) -> bytes:
    """The picture with less contrast, so that its text is read again."""
    out = io.BytesIO()
    Image.open(picture).convert("L").point([128 + value // 2 for value in range(256)]).save(out, "PNG")
    return out.getvalue()


def table(page: Page, button: str) -> list[dict[str, str]]:
    """The rows of the CSV that a button saves."""
    with page.expect_download() as download:
        page.click(button)
    return list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))


def test_uncertain_fields_of_jobs_wait_in_a_queue_until_somebody_has_reviewed_them(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server, path="/ui/#extract") as page:
        page.check("#extract-later")
        page.click("#extract-sample")
        page.click("#way-names")
        page.fill("#extract-names", "colour of the shop")
        drop(page, ("nothing-found.png", SLIP.read_bytes()))
        waiting = page.locator("#review-jobs .partial .file-name")
        expect(waiting).to_have_text(re.compile("nothing-found.png.*needs review", re.DOTALL))
        waiting.click()
        expect(page.locator("#extract-verdict")).to_contain_text("Needs review")
        expect(page.locator("#field-viewer .picture")).to_be_visible()
        shoot(page, "review")
        value = page.locator("#fields-list .field input")
        value.fill("blue")
        value.press("Enter")
        with visit(browser, page_server, path="/ui/#jobs") as other:
            press(other, "nothing-found.png", "review")
            expect(other.locator("#field-viewer .picture")).to_be_visible()  # in a tab that never had the file
            other.locator("#fields-list .field input").fill("green")
            other.locator("#fields-list .field input").press("Enter")
            other.click("#fields-save")
            expect(other.locator("#extract-verdict")).to_have_text("Reviewed.")
            expect(other.locator("#review-queue")).to_be_hidden()
        page.click("#fields-save")
        expect(page.locator("#extract-failure")).to_contain_text("The fields were changed meanwhile")
        page.click("#extract-reload")
        expect(value).to_have_value("green")
        expect(page.locator("#review-queue")).to_be_hidden()
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/fields", hold)
        value.fill("red")
        value.press("Enter")
        with page.expect_request("**/fields"):
            page.click("#fields-save")
        value.fill("yellow, seen while red was saved")
        value.press("Enter")
        page.evaluate("document.getElementById('announcer').textContent = ''")
        held[0].continue_()
        expect(page.locator("#announcer")).to_contain_text("reviewed")
        expect(value).to_have_value("yellow, seen while red was saved")


def field(page: Page, title: str) -> Locator:
    return page.locator("#fields-list .field", has=page.get_by_text(re.compile(f"^{title}$", re.IGNORECASE)))


def chapters(count: int) -> bytes:
    return text_pdf(*(text_at(30, 380, f"Chapter {number + 1}", 24) + paragraph() for number in range(count)))


def add(page: Page, *files: Path | tuple[str, bytes]) -> None:
    give(page, *files, field="#jobs-input")
    expect(page.locator("#jobs-status")).to_contain_text("Jobs added")


def row(page: Page, name: str) -> Locator:
    return page.locator(".job", has=page.get_by_text(name, exact=True))


def state(page: Page, name: str) -> Locator:
    return row(page, name).locator(".badge")


def press(page: Page, name: str, act: str) -> None:
    row(page, name).locator(f"[data-act={act}]").click()


def test_jobs_are_added_watched_shown_cancelled_retried_and_removed(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server, path="/ui/#jobs") as page:
        page.select_option("#jobs-filter", "failed")  # other tests may have added jobs, but none that failed
        expect(page.locator("#jobs-empty")).to_be_visible()
        page.select_option("#jobs-filter", "all")
        add(page, (HOSTILE, chapters(3)), BROKEN)
        expect(state(page, HOSTILE)).to_have_text("done")
        expect(state(page, "broken.png")).to_have_text("failed")
        expect(row(page, "broken.png")).to_contain_text("The image is damaged")
        expect(row(page, HOSTILE).locator("time")).to_have_text(
            re.compile(r"\d\d/\d\d/20\d\d, \d\d:\d\d")
        )  # as in en-GB
        expect(row(page, "broken.png").locator("[data-act=retry]")).to_have_count(0)  # it would fail again

        page.click("#tab-read")
        page.click("#options summary")
        page.select_option("#pdf-text", "never")
        page.click("#tab-jobs")
        add(page, ("long.pdf", chapters(LONG)), ("waiting.pdf", chapters(1)))
        expect(row(page, "long.pdf")).to_contain_text(re.compile(rf"[1-9]\d* of {LONG} pages"))
        expect(row(page, "waiting.pdf")).to_contain_text("next in the queue")
        shoot(page, "jobs")
        press(page, "waiting.pdf", "cancel")
        expect(state(page, "waiting.pdf")).to_have_text("cancelled")
        press(page, "long.pdf", "cancel")
        expect(state(page, "long.pdf")).to_have_text("cancelled")
        press(page, "waiting.pdf", "retry")
        expect(state(page, "waiting.pdf")).to_have_text("done")
        page.select_option("#jobs-filter", "failed")
        expect(row(page, "waiting.pdf")).to_have_count(0)
        delete(page, "broken.png")
        page.select_option("#jobs-filter", "all")
        download(page)

        show_result(page)
        page.click("#tab-jobs")
        page.route("**/v1/jobs**", lambda route: route.abort())
        page.click("#jobs-refresh")
        expect(page.locator("#jobs-problem")).to_contain_text("The service can't be reached")
        page.unroute_all()
        page.click("#jobs-refresh")
        expect(page.locator("#jobs-problem")).to_be_empty()
    show_narrow(browser, page_server)


def delete(page: Page, name: str) -> None:
    """Asks once, in place, and may be answered by Escape or "Keep"."""
    question, remove = page.locator(".job-more"), row(page, name).locator("[data-act=remove]")
    press(page, name, "remove")
    expect(question).to_contain_text(f"Delete {name} and its result?")
    expect(question.locator("[data-act=keep]")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(remove).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(question).to_have_count(0)
    expect(remove).to_be_focused()
    for key in ("Enter", "Shift+Tab", "Enter"):
        page.keyboard.press(key)
    expect(row(page, name)).to_have_count(0)
    expect(page.locator("#jobs-status")).to_have_text(f"{name}: deleted.")
    expect(page.locator("#jobs-rows [data-act=remove]").first).to_be_focused()


def download(page: Page) -> None:
    """The result of a job, from the list; jobs without a result have none."""
    expect(row(page, "long.pdf").locator("[data-act=download]")).to_have_count(0)  # it was cancelled
    opens, formats = row(page, HOSTILE).locator("[data-act=download]"), page.locator(".job-more button")
    opens.click()
    expect(formats).to_have_count(9)
    expect(formats.first).to_be_focused()
    saved = {}
    for name in ("Text", "Word", "JSON"):
        with page.expect_download() as found:
            formats.get_by_text(name, exact=True).click()
        saved[found.value.suggested_filename.rpartition(".")[2]] = found.value.path().read_bytes()
        expect(opens).to_be_focused()
        opens.click()
    assert b"Chapter 3" in saved["txt"]
    assert saved["docx"].startswith(b"PK")
    assert json.loads(saved["json"])["page_count"] == 3
    page.route("**/result?**", lambda route: route.abort())
    formats.first.click()
    expect(page.locator("#jobs-problem")).to_contain_text("The service can't be reached")
    page.unroute_all()
    opens.click()
    expect(formats).to_have_count(0)
    page.click("#jobs-refresh")
    expect(page.locator("#jobs-problem")).to_be_empty()


def show_result(page: Page) -> None:
    """The pages of a job, with the picture of a file that was added in this tab."""
    press(page, HOSTILE, "show")
    expect(page.locator("#document-name")).to_have_text(HOSTILE)
    expect(page.locator("#page-count")).to_have_text("of 3")
    expect(page.locator("#viewer img.picture")).to_be_visible()
    page.click("#after")
    expect(page.locator("#result-preview")).to_contain_text("Chapter 2")
    page.click(".menu summary")
    with page.expect_download() as download:
        page.click("[data-format=json]")
    assert json.loads(download.value.path().read_text(encoding="utf-8"))["page_count"] == 3


def show_narrow(browser: Browser, page_server: Server) -> None:
    """The same jobs on a phone, dark and in Chinese, in another tab, which never had the files."""
    with visit(browser, page_server, width=390, height=844, locale="zh-CN", dark=True, path="/ui/#jobs") as page:
        expect(state(page, "long.pdf")).to_have_text("已取消")
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        press(page, HOSTILE, "show")
        expect(page.locator("#result-preview")).to_contain_text("Chapter 1")
        expect(page.locator("#viewer img.picture")).to_be_visible()


def test_live_says_first_how_the_service_does_then_draws_charts(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.click("[data-sample='receipt.png']")
        give(page, BROKEN)
        expect(page.locator("#files .file.done")).to_have_count(1)
        expect(page.locator("#files .file.failed")).to_have_count(1)
        page.click("#tab-live")
        expect(page.locator("#verdict")).to_contain_text("Healthy")
        expect(page.locator(".chart").first).to_be_visible()
        assert page.locator(".chart").count() >= 8
        expect(page.locator(".chart .plot").first).to_have_attribute("aria-label", re.compile("Requests"))
        expect(page.locator("#recent-rows tr", has_text="receipt.png").first).to_contain_text("done")
        refusals = page.locator(".chart", has_text="Refused and failed")
        expect(refusals.locator(".keys")).to_have_text(re.compile("failed [1-9]"))  # as in the table
        cases: dict[str, dict[str, object]] = {
            "Overloaded: all requests": {"history": [{"refused": 2.0, "pages": 0.0}]},
            "Overloaded, some requests": {"history": [{"refused": 2.0, "pages": 1.0}], "waiting": 7},
            "Busy: 7 waiting": {"waiting": 7},
            "can't read pages: no model": {"ready": False, "reasons": ["no model"]},
        }
        with page.expect_response(lambda answer: answer.url.endswith("/state") and answer.json()["history"]) as told:
            pass  # the page asks every few seconds; the first point is five seconds after the start
        now = told.value.json()
        show_moments(page, now)
        for sentence, change in cases.items():
            page.route("**/state", partial(_answer, json.dumps(_changed(now, change))))
            expect(page.locator("#verdict")).to_contain_text(sentence)
            page.unroute_all()


def show_moments(page: Page, now: dict[str, object]) -> None:
    """The charts of 150 steps with an outlier and three failed documents: values at a time, scale and range."""
    usual = {**now["history"][-1], "p50_s": 1.0, "p95_s": 2.0, "failed": 0.0, "cpu": 0.5, "cpu_all": 0.75}  # type: ignore[index]
    points = [{**usual, "at": 10_000.0 + 5 * step} for step in range(150)]
    points[-3] |= {"p95_s": 90.0, "failed": 0.4}
    points[-100] |= {"failed": 0.2}
    page.route("**/state", partial(_answer, json.dumps({**now, "at": 10_750.0, "history": points})))
    latency, refusals = (page.locator(".chart", has_text=title) for title in ("Latency", "Refused and failed"))
    expect(page.locator("#live-title")).to_have_text("The last 15 minutes")
    expect(latency.locator(".top")).to_have_text("2 (above: 1, up to 90)")
    expect(refusals.locator(".keys")).to_contain_text("failed 3")
    cores = 0.75 * now["build"]["cores"]  # type: ignore[index]
    expect(page.locator(".chart", has_text="CPU").locator(".keys")).to_have_text(f"inkgate 0.5all programs {cores:g}")
    page.get_by_role("button", name="5 min", exact=True).click()
    expect(page.locator("#live-title")).to_have_text("The last 5 minutes")
    expect(refusals.locator(".keys")).to_contain_text("failed 2")
    plot = latency.locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (1 - 10 / 300), box["y"] + 40)  # ten seconds before the end
    expect(latency.locator(".readout")).to_contain_text("p50 1 · p95 90")
    expect(refusals.locator(".keys")).to_contain_text("failed 2")
    expect(refusals.locator("small")).to_have_text("in 5 s")
    page.mouse.move(2, 2)
    expect(latency.locator(".readout")).to_be_hidden()
    plot.focus()
    plot.press("ArrowLeft")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("p50 1 · p95 2$"))
    plot.press("ArrowLeft")
    plot.press("ArrowLeft")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("p50 1 · p95 90$"))
    with page.expect_response("**/state"):
        pass
    expect(plot).to_be_focused()  # new values don't take the focus or the moment
    expect(plot).to_have_attribute("aria-valuetext", re.compile("p95 90$"))
    plot.press("Escape")
    expect(plot).to_have_attribute("aria-valuetext", "now: p50 1 · p95 2")
    page.unroute_all()


def _answer(body: str, route: Route) -> None:
    route.fulfill(body=body, content_type="application/json")


def _changed(now: dict[str, object], change: dict[str, object]) -> dict[str, object]:
    """The state with `waiting` work, and with points of now that have the values of `history`."""
    told = json.loads(json.dumps(now))
    told.update({name: value for name, value in change.items() if name in {"ready", "reasons"}})
    for queue in told["queues"]:
        queue["waiting"]["normal"] = change.get("waiting", 0)
    steps = change.get("history", [])
    if isinstance(steps, list):
        calm = [{**point, "refused": 0.0} for point in told["history"] if point["at"] < told["at"] - 60]
        last = {**told["history"][-1], "at": told["at"] - 1}
        told["history"] = [*calm, *({**last, **step} for step in steps or [{"refused": 0.0}])]
    return dict(told)
