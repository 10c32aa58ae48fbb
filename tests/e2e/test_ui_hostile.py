"""A hostile document in the web page, in a real browser: nothing of it runs, loads something or leads elsewhere."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from inkgate_client.block_image import BlockImage
from inkgate_client.codec import page_to_dict
from inkgate_client.diagram import Diagram, DiagramCheck
from inkgate_client.types import (
    Attempt,
    Barcode,
    Block,
    BlockType,
    CheckMark,
    LeftOut,
    LeftOutReason,
    PageError,
    ReviewNote,
    ReviewReason,
    Stamp,
    Table,
    TableCell,
)
from support.api_client import png
from support.browser import active_parts, visit
from support.sample_results import PAGE, TITLE, upright
from support.server import Server

pytestmark = pytest.mark.real

Json = dict[str, Any]

_TEXTS = json.loads((Path(__file__).parents[1] / "data" / "hostile_text.json").read_text(encoding="utf-8"))
MARKUP: list[str] = _TEXTS["markup"]
DIAGRAMS: list[str] = _TEXTS["diagrams"]
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that change the order of what is around them: names are shown without."""
_LABEL = str.maketrans({'"': "'", "\n": " ", "\r": " ", "\0": " "})

_BOX = (10.0, 10.0, 90.0, 60.0)
_CELL = TableCell(0, 0, "a", lines=(0,), box=_BOX, confidence=0.5, header=True)
_ERROR = PageError("page_broken", "detail", "remedy")
_BLOCKS = (
    Block(BlockType.TITLE, _BOX, (0,), "a", "# a", 1, 0.5, _ERROR),
    Block(BlockType.TEXT, _BOX, (0,), "a", "a", None, 0.5),
    Block(BlockType.TEXT, _BOX, (), "a", ""),
    Block(BlockType.LIST, _BOX, (0,), "a", "a"),
    Block(BlockType.FORMULA, _BOX, (0,), "a", "a"),
    Block(BlockType.CAPTION, _BOX, (0,), "a", "a"),
    Block(BlockType.TABLE, _BOX, (0,), "a", "a", table=Table(2, 1, (_CELL, replace(_CELL, row=1, header=False)))),
    Block(BlockType.TABLE, _BOX, (0,), "a", "a"),
    Block(BlockType.BARCODE, _BOX, (), "", "", barcode=Barcode("a", "a", upright(*_BOX), "a", {"a": "a"})),
    Block(BlockType.STAMP, _BOX, (), "", "", stamp=Stamp("a", "round", "red", 0.5)),
    Block(BlockType.CHECKBOX, _BOX, (), "", "", checkbox=CheckMark(checked=True, label="a", confidence=0.5)),
    Block(
        BlockType.FIGURE,
        _BOX,
        (),
        "a",
        "a",
        image=BlockImage("a.png", "image/png", 200, 130, base64.b64encode(png()).decode()),
    ),
)
_DOUBTFUL = replace(TITLE, confidence=0.5, words=tuple(replace(word, confidence=0.5) for word in TITLE.words))
_PAGE = replace(
    PAGE,
    lines=(_DOUBTFUL, _DOUBTFUL),
    blocks=_BLOCKS,
    markdown="a",
    header="a",
    footer="a",
    degraded=("a",),
    attempts=(Attempt("a", _ERROR, 1.0),),
    fields={"a": ["a", {"a": "a"}]},
    left_out=(LeftOut("a", LeftOutReason.SIDE_STAMP, (0,)),),
    review=(ReviewReason.UNCERTAIN_TEXT,),
    review_notes=(ReviewNote(ReviewReason.UNCERTAIN_TEXT, "a", _BOX),),
    attachments=("a",),
    links=("a",),
)
"""A page that has something in every field of the published JSON."""
_PAGES = (
    _PAGE,
    replace(_PAGE, blocks=None),
    replace(_PAGE, blocks=None, markdown=None, error=_ERROR),
)
_SAYS = frozenset({"type", "reason", "source", "base64", "mime_type", "format", "status", "schema_version"})
"""Keys whose values choose how the page shows what is beside them."""

# Notes what must not happen.
_WATCH = """() => {
  window.hits = [];
  window.drawings = [];
  window.hit = () => { window.hits.push("hit"); };
  addEventListener("securitypolicyviolation", (event) => window.hits.push(event.violatedDirective + event.sample));
  addEventListener("message", ({ data }) => { if (data && data.svg) window.drawings.push(data.svg); });
}"""
# Finds elements and attributes that no text may become, among those that were not there at the first call.
_FIND = """() => {
  const own = window.own ??= new WeakSet(document.querySelectorAll("*"));
  const tags = new Set(("A B BLOCKQUOTE BR BUTTON CANVAS CODE DETAILS DIV EM FIGCAPTION FIGURE FORM H2 H3 H4 H5 H6 " +
    "HR IMG INPUT KBD LABEL LI MARK OL OPTION P PRE S SMALL SPAN STRONG SUB SUMMARY SUP TABLE TBODY TD TH THEAD TIME " +
    "TR U UL g line path polygon svg text").split(" "));
  const leads = /^(href|src|action|formaction|data|srcdoc|srcset|background|xlink:href|ping|poster|manifest)$/;
  const harmless = { href: /^https?:/, src: /^(blob:|data:image\\/(png|jpeg);base64,|http:\\/\\/127\\.0\\.0\\.1:)/ };
  const found = new Set();
  for (const node of document.querySelectorAll("*")) {
    if (own.has(node) || node.matches("iframe.drawing-frame[sandbox=allow-scripts]")) continue;
    own.add(node);
    const told = (what) => found.add(`${node.tagName} ${what}`.slice(0, 200));
    if (!tags.has(node.tagName)) told("");
    if (node.tagName === "A" && !/noopener/.test(node.rel)) told("opener");
    for (const { name, value } of node.attributes) {
      if (/^on|^name$/.test(name)) told(`${name}=${value}`);
      if (leads.test(name) && !(harmless[name] && harmless[name].test(value))) told(`${name}=${value}`);
      if (name === "style" && /url|expression|@import/i.test(value)) told(`${name}=${value}`);
      if (name === "id" && !/^[a-z][\\w-]{0,40}$/.test(value)) told(`${name}=${value}`);
    }
  }
  return [...found, ...window.hits.splice(0)];
}"""
# Shows each page of the document in each form, and returns what was found, and the number of pages.
_WALK = """async (find) => {
  const look = eval(`(${find})`), found = new Set(), after = document.querySelector("#after");
  for (let page = 1; ; page += 1) {
    for (const tab of document.querySelectorAll("#result [role=tab]")) tab.click();
    await new Promise((resolve) => setTimeout(resolve));
    for (const each of look()) found.add(`page ${page}: ${each}`);
    if (after.disabled) return [[...found], page];
    after.click();
  }
}"""
_DROP = """([names, bytes]) => {
  const transfer = new DataTransfer();
  for (const name of names) transfer.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
  document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: transfer }));
}"""


def hostile(value: Any, text: str) -> Any:  # noqa: ANN401 - JSON
    """`value` with `text` for all texts, also for names of values."""
    if isinstance(value, dict):
        return {text if name == "a" else name: hostile_value(name, inner, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, text) for inner in value]
    return text if isinstance(value, str) else value


def hostile_value(name: str, value: Any, text: str) -> Any:  # noqa: ANN401 - JSON
    return value if name in _SAYS and isinstance(value, str) else hostile(value, text)


def stream_of(pages: Sequence[Json], text: str) -> bytes:
    """The pages as /ocr streams them, with a hostile summary."""
    end = {"status": "complete", "name": text, "mime_type": text, "byte_count": 1, "page_count": len(pages)}
    end |= {"engine": text, "notes": [text], "needs_review": [], "error": None}
    return b"".join(orjson.dumps(line) + b"\n" for line in (*pages, end))


def pages_with(texts: Sequence[str]) -> list[Json]:
    pages = [hostile(page_to_dict(page), text) for text in texts for page in _PAGES]
    return [{**page, "index": index} for index, page in enumerate(pages)]


def problem_with(text: str) -> Json:
    return {
        "title": text,
        "detail": text,
        "remedy": text,
        "code": text,
        "request_id": text,
        "type": text,
        "status": 422,
    }


@contextmanager
def watched(page: Page) -> Iterator[None]:
    """Fails if a dialog, a window or another address was opened within the block."""
    opened: list[str] = []

    def note(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    page.context.on("page", lambda other: opened.append(other.url))
    page.on("framenavigated", lambda frame: opened.append(frame.url) if frame == page.main_frame else None)
    own = page.url.partition("#")[0]
    page.evaluate(_WATCH)
    page.evaluate(_FIND)
    yield
    assert [url for url in opened if url.partition("#")[0] != own] == []


def answer(route: Route, body: bytes | Json, status: int = 200, kind: str = "application/json") -> None:
    route.fulfill(status=status, body=body if isinstance(body, bytes) else orjson.dumps(body), content_type=kind)


def test_the_watch_finds_what_must_not_be_there(browser: Browser, page_server: Server) -> None:
    with visit(browser, page_server) as page:
        page.evaluate(_WATCH)
        assert page.evaluate(_FIND) == []
        page.evaluate("""() => {
          const link = document.createElement("a");
          link.setAttribute("href", "javascript:hit()");
          link.setAttribute("name", "body");
          document.body.append(link, document.createElement("object"));
          hit();
        }""")
        found = page.evaluate(_FIND)
        page.evaluate("() => { for (const node of [...document.body.children].slice(-2)) node.remove(); }")
    assert {"A href=javascript:hit()", "A name=body", "OBJECT ", "hit"} <= set(found)


def test_hostile_text_in_every_field_stays_text_in_every_form(browser: Browser, page_server: Server) -> None:
    body = stream_of(pages_with(MARKUP), MARKUP[0])
    with visit(browser, page_server) as page, watched(page):
        page.route("**/ocr", lambda route: answer(route, body, kind="application/x-ndjson"))
        page.evaluate(_DROP, [["one.png"], list(png(20, 20))])
        expect(page.locator("#files .file.done")).to_have_count(1)
        found, shown = page.evaluate(_WALK, _FIND)
        assert found == []
        assert shown == len(MARKUP) * len(_PAGES)
        page.reload()
        expect(page.locator("html[data-restored]")).to_be_attached()
        expect(page.locator("#files .file.done")).to_have_count(1)
        page.evaluate(_WATCH)
        assert page.evaluate(_WALK, _FIND)[0] == []


def test_hostile_names_and_problems_stay_text(browser: Browser, page_server: Server) -> None:
    texts = iter(MARKUP)
    with visit(browser, page_server) as page, watched(page):
        page.route("**/ocr", lambda route: answer(route, problem_with(next(texts)), 422, "application/problem+json"))
        page.evaluate(_DROP, [MARKUP, list(png(20, 20))])
        expect(page.locator("#files .file.failed")).to_have_count(len(MARKUP))
        shown = page.locator("#files .name").all_text_contents()
        assert shown == [_UNSEEN.sub("", text) for text in MARKUP]
        assert sum(map(len, shown)) < sum(map(len, MARKUP))
        for button in page.locator("#files .file-name").all():
            button.dispatch_event("click")
        assert page.evaluate(_FIND) == []


def test_hostile_diagrams_draw_nothing_that_runs_or_loads(browser: Browser, page_server: Server) -> None:
    labels = "flowchart TD\n" + "".join(f' n{at}["{text.translate(_LABEL)}"]\n' for at, text in enumerate(MARKUP))
    sources = [*DIAGRAMS, labels]
    figure = replace(_BLOCKS[-1], image=None)
    blocks = []
    for at, source in enumerate(sources):
        told = Diagram("flowchart", source, DiagramCheck.LIKELY)
        fenced = replace(figure, type=BlockType.TEXT, markdown=f"```mermaid\n{source}\n```")
        blocks.append(replace(figure, diagram=told) if at % 2 else fenced)
    body = stream_of([page_to_dict(replace(PAGE, blocks=tuple(blocks)))], "one.png")
    with visit(browser, page_server) as page, watched(page):
        page.route("**/ocr", lambda route: answer(route, body, kind="application/x-ndjson"))
        page.evaluate(_DROP, [["one.png"], list(png(20, 20))])
        ended = page.locator("#result-preview .diagram:has(> img, > .note)")
        expect(ended).to_have_count(len(sources))
        drawings: list[str] = page.evaluate("drawings")
        assert len(drawings) > len(sources) // 2, "most are drawn"
        assert {at: parts for at, drawing in enumerate(drawings) if (parts := active_parts(drawing))} == {}
        assert page.evaluate(_FIND) == []


def test_hostile_jobs_and_fields_stay_text(browser: Browser, page_server: Server) -> None:
    jobs = [job_with(f"j{at}", text) for at, text in enumerate(MARKUP)]
    pages = [{"index": 0, "width": 20, "height": 20, "rotation": 0}]
    fields = {
        "document_type": MARKUP[0],
        "status": "needs_review",
        "review": None,
        "data": {},
        "notes": list(MARKUP),
        "pages": pages,
        "checks": [{"code": text, "passed": False, "fields": [text], "detail": text} for text in MARKUP],
        "fields": {f"/{text}": field_with(text) for text in MARKUP},
    }
    with visit(browser, page_server) as page, watched(page):
        page.route("**/v1/jobs?*", lambda route: answer(route, {"jobs": jobs, "next": None}))
        page.route("**/extract", lambda route: answer(route, fields))
        page.click("#tab-jobs")
        expect(page.locator("#jobs-rows tr")).to_have_count(len(MARKUP))
        assert page.evaluate(_FIND) == []
        page.click("#tab-live")
        expect(page.locator("#verdict")).not_to_be_empty()
        assert page.evaluate(_FIND) == []
        page.click("#tab-extract")
        expect(page.locator("#review-jobs li")).to_have_count(len(MARKUP))
        page.evaluate(_DROP, [["one.png"], list(png(20, 20))])
        expect(page.locator("#extract .field")).to_have_count(len(set(MARKUP)))
        for value in page.locator("#extract input.value").all()[:3]:
            value.fill(MARKUP[5])
            value.press("Enter")
        assert page.evaluate(_FIND) == []


def job_with(job_id: str, text: str) -> Json:
    times = dict.fromkeys(("created", "started", "ended"), "2026-01-01T00:00:00Z")
    return {
        "id": job_id,
        "name": text,
        "state": "failed",
        "review": "needs_review",
        "position": None,
        "eta_s": None,
        "pages": {"total": 1, "saved": 1, "failed": 1},
        "error": problem_with(text),
        **times,
    }


def field_with(text: str) -> Json:
    source = {"page": 0, "box": _BOX, "text": text}
    told = {"value": text, "text": text + "!", "confidence": 0.5, "status": "uncertain", "origin": text}
    return {**told, "sources": [source], "alternatives": [text]}
