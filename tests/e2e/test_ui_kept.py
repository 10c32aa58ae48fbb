"""What a reload of the web page's tab keeps, and what forgets it, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support.browser import give, visit
from support.pdf_writer import paragraph, text_at, text_pdf
from support.server import Server

ROOT = Path(__file__).parents[2]
LETTER = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples" / "letter.pdf"
BROKEN = ROOT / "tests" / "data" / "images" / "broken.png"

# Counts the rows of each store; `seen`: sets when the tabs were last renewed.
_ROWS = """async (seen) => {
  const [{ name }] = await indexedDB.databases();
  const db = await new Promise((resolve) => {
    indexedDB.open(name).onsuccess = (event) => resolve(event.target.result);
  });
  const work = db.transaction([...db.objectStoreNames], "readwrite"), counts = {};
  const ended = new Promise((resolve) => { work.oncomplete = resolve; });
  for (const store of db.objectStoreNames) {
    work.objectStore(store).count().onsuccess = (event) => { counts[store] = event.target.result; };
  }
  const tabs = work.objectStore("tabs");
  const note = (event) => event.target.result.forEach((key) => tabs.put({ seen }, key));
  if (seen !== null) tabs.getAllKeys().onsuccess = note;
  await ended;
  db.close();
  return counts;
}"""

pytestmark = pytest.mark.real


def rows(page: Page, seen: float | None = None) -> dict[str, int]:
    counts: dict[str, int] = page.evaluate(_ROWS, seen)
    return counts


def reload(page: Page) -> None:
    page.reload()
    expect(page.locator("html[data-restored]")).to_be_attached()


def two_pages() -> tuple[str, bytes]:
    return "chapters.pdf", text_pdf(*(text_at(30, 380, f"Chapter {number}", 24) + paragraph() for number in (1, 2)))


def test_a_reload_keeps_documents_corrections_and_the_place(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, BROKEN, LETTER, two_pages())
        expect(page.locator("#files .file.done")).to_have_count(2)
        held: list[Route] = []
        page.route("**/ocr", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks it
        give(page, ("slow.pdf", two_pages()[1]))
        expect(page.locator("#files .file.reading")).to_have_count(1)
        page.locator("#files .file-name", has_text="chapters.pdf").click()
        page.click("#after")
        page.click("#result-tab-text")
        line = page.locator("#result-text .line", has_text="Chapter 2")
        line.hover()
        line.locator(".edit").click()
        page.keyboard.press("Control+A")
        page.keyboard.type("Chapter Two")
        page.keyboard.press("Enter")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/ocr") else None)
        page.unroute_all(behavior="ignoreErrors")
        reload(page)
        names = page.locator("#files .name")
        expect(names).to_have_text(["broken.png", "letter.pdf", "chapters.pdf", "slow.pdf"])
        expect(page.locator("#files .file.done")).to_have_count(3)
        expect(page.locator("#files .file.failed")).to_have_count(1)
        assert len(asked) == 1, "only the document that was not read to its end is read again"
        expect(page.locator("#document-name")).to_have_text("chapters.pdf")
        expect(page.locator("#page-number")).to_have_value("2")
        expect(page.locator("#result-text")).to_contain_text("Chapter Two")
        expect(page.locator("#document-state")).to_contain_text("corrected")
        expect(page.locator("#viewer img.picture")).to_be_visible()


# Keeps the stores busy, as on a slow disk: whatever is to be written waits until the page is left.
_BUSY = """async () => {
  const [{ name }] = await indexedDB.databases();
  const db = await new Promise((resolve) => {
    indexedDB.open(name).onsuccess = (event) => resolve(event.target.result);
  });
  const work = db.transaction([...db.objectStoreNames], "readwrite");
  const again = () => { work.objectStore("tabs").count().onsuccess = again; };
  again();
}"""


def edit(page: Page, before: str, after: str) -> None:
    """Types a correction of a line, and does not leave the field."""
    line = page.locator("#result-text .line", has_text=before)
    line.hover()
    line.locator(".edit").click()
    page.keyboard.type(after)


def test_a_reload_keeps_corrections_that_were_not_stored_yet(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, two_pages())
        expect(page.locator("#files .file.done")).to_have_count(1)
        page.wait_for_function(f"async () => (await ({_ROWS})(null)).pages === 2")
        page.click("#result-tab-text")
        page.evaluate(_BUSY)
        edit(page, "Chapter 1", "Chapter One")
        page.keyboard.press("Enter")
        page.click("#after")
        edit(page, "Chapter 2", "Chapter Two")  # and the field is not left
        reload(page)
        expect(page.locator("#result-text")).to_contain_text("Chapter Two")
        expect(page.locator("#document-state")).to_contain_text("corrected")
        page.click("#before")
        expect(page.locator("#result-text")).to_contain_text("Chapter One")
        page.wait_for_function("() => !sessionStorage.getItem('inkgate-unsaved')")
        reload(page)
        expect(page.locator("#result-text")).to_contain_text("Chapter One")
        page.click("#after")
        expect(page.locator("#result-text")).to_contain_text("Chapter Two")


def test_a_duplicated_tab_starts_empty_and_a_closed_one_is_forgotten(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        give(page, LETTER)
        expect(page.locator("#files .file.done")).to_have_count(1)
        with page.context.expect_page() as opened:
            page.evaluate("void window.open(location.href)")
        copy = opened.value
        expect(copy.locator("html[data-restored]")).to_be_attached()
        expect(copy.locator("#read.empty")).to_be_visible()
        give(copy, ("other.pdf", two_pages()[1]))
        expect(copy.locator("#files .file.done")).to_have_count(1)
        assert rows(copy)["documents"] == 2
        copy.close()
        # The next tab that starts removes the rows of the closed one, once it is gone for a while.
        rows(page, seen=0)
        third = page.context.new_page()
        third.goto(page.url)
        third.wait_for_function(f"async () => (await ({_ROWS})(null)).documents === 1")
        expect(third.locator("#read.empty")).to_be_visible()
        third.close()
        page.click("#forget")
        expect(page.locator("#read.empty")).to_be_visible()
        assert rows(page) == {"documents": 0, "files": 0, "pages": 0, "tabs": 2}
        reload(page)
        expect(page.locator("#read.empty")).to_be_visible()


def test_a_correction_is_not_kept_alone_after_another_tab_removed_the_document(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        give(page, two_pages())
        expect(page.locator("#files .file.done")).to_have_count(1)
        page.evaluate("""async () => {
          const [{ name }] = await indexedDB.databases();
          const db = await new Promise((resolve) => {
            indexedDB.open(name).onsuccess = (event) => resolve(event.target.result);
          });
          const work = db.transaction([...db.objectStoreNames], "readwrite");
          for (const store of db.objectStoreNames) work.objectStore(store).clear();
          await new Promise((resolve) => { work.oncomplete = resolve; });
          db.close();
        }""")
        page.click("#result-tab-text")
        line = page.locator("#result-text .line", has_text="Chapter 1")
        line.hover()
        line.locator(".edit").click()
        page.keyboard.type("Chapter One")
        page.keyboard.press("Enter")
        expect(page.locator("#kept-not")).to_be_visible()
        reload(page)
        expect(page.locator("#read.empty")).to_be_visible()


def test_a_browser_that_keeps_nothing_reads_as_ever_and_a_full_one_says_so(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        page.evaluate("""() => {
          const { put } = IDBObjectStore.prototype;
          IDBObjectStore.prototype.put = function (value, key) {
            const asked = put.call(this, value, key);
            if (this.name === "pages") this.transaction.abort();
            return asked;
          };
        }""")
        expect(page.locator("#kept-not")).to_be_hidden()
        give(page, LETTER)
        expect(page.locator("#files .file.done")).to_have_count(1)
        expect(page.locator("#kept-not")).to_contain_text("no room")
        page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
        reload(page)
        give(page, LETTER)
        expect(page.locator("#files .file.done")).to_have_count(1)
        expect(page.locator("#kept-text")).to_be_hidden()
        page.click("#forget")
        expect(page.locator("#read.empty")).to_be_visible()


def test_a_tab_without_locks_knows_a_reload_from_a_copy_and_forgets_after_a_minute_away(
    browser: Browser, page_server: Server
) -> None:
    with visit(browser, page_server) as page:
        page.context.add_init_script("Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })")
        reload(page)
        give(page, LETTER)
        expect(page.locator("#files .file.done")).to_have_count(1)
        reload(page)
        expect(page.locator("#files .file.done")).to_have_count(1)
        with page.context.expect_page() as opened:
            page.evaluate("void window.open(location.href)")
        copy = opened.value
        expect(copy.locator("html[data-restored]")).to_be_attached()
        expect(copy.locator("#read.empty")).to_be_visible()
        copy.close()
        page.evaluate("onpagehide = () => sessionStorage.setItem('inkgate-left', String(Date.now() - 7e4))")
        reload(page)
        expect(page.locator("#read.empty")).to_be_visible()
        page.wait_for_function(f"async () => (await ({_ROWS})(null)).documents === 0")
