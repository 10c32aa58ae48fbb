"""Diagrams in the web page, drawn by the real Mermaid in a real browser beside the picture; hostile ones do nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import active_parts, give, require_chromium, shoot, visit
from support.flow_picture import ANSWER, flow_picture, running_chart_page
from support.server import Server

pytestmark = pytest.mark.real

HOSTILE = """Three diagrams:

```mermaid
%%{init: {"securityLevel": "loose", "htmlLabels": true, "flowchart": {"htmlLabels": true}, "themeCSS": "* {background: url(https://evil.invalid/a)}"}}%%
flowchart TD
    A["<img src=x onerror=parent.document.title='hit'>one"] --> B["<script>parent.document.title='hit'</script>two"]
    click A href "javascript:parent.document.title='hit'"
    click B call alert()
    C["<iframe src=https://evil.invalid>three</iframe>"]
```

```mermaid
sequenceDiagram
    participant A as <svg onload=parent.document.title='hit'>
    A->>A: <b onclick=alert(1)>hello</b>
    link A: Site @ javascript:alert(1)
```

```mermaid
flowchart TD
    A[never closed --> B
```"""
_LOADED = "(node) => [node.complete, node.naturalWidth, node.naturalHeight]"


@dataclass
class Said:
    """What the model answers next."""

    text: str = ANSWER


@pytest.fixture(scope="module")
def said() -> Said:
    return Said()


@pytest.fixture(scope="module")
def chart_server(said: Said) -> Iterator[Server]:
    require_chromium()
    with running_chart_page(lambda: said.text) as server:
        yield server


def read_chart(page: Page, title: str = "Orders") -> None:
    """Each title makes another picture: the service keeps what it read of one."""
    page.click("#options summary")
    page.select_option("#task", "chart")
    give(page, (f"{title}.png", flow_picture(title)))
    expect(page.locator("#files .file.done")).to_have_count(1)


def test_a_flowchart_is_drawn_beside_its_picture_with_its_source(browser: Browser, chart_server: Server) -> None:
    with visit(browser, chart_server) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_load_state("networkidle")
        assert not [url for url in asked if "diagram" in url]
        read_chart(page)
        drawn = page.locator("#result-preview .block.figure .diagram img")
        expect(drawn).to_have_count(1)
        loaded, width, height = drawn.evaluate(_LOADED)
        assert loaded
        assert width > 150
        assert height > 300
        assert page.locator("#viewer .picture").count() == 1
        shoot(page, "diagram")
        assert page.locator("#viewer .box.kind-figure").count() == 1
        expect(page.locator(".diagram")).to_contain_text("Repaired: quotes")
        page.click(".diagram summary")
        expect(page.locator(".diagram pre")).to_contain_text('B{"In stock (warehouse)?"}')
        with page.expect_download() as download:
            page.locator(".diagram button", has_text="Save as SVG").click()
        svg = download.value.path().read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert "Order received" in re.sub("<[^>]*>", "", svg)
        assert "foreignObject" not in svg
        page.click("#result-tab-source")
        expect(page.locator("#result-source pre")).to_contain_text("```mermaid")


def test_hostile_diagrams_run_no_script_and_reach_no_host(
    browser: Browser, chart_server: Server, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(said, "text", HOSTILE)
    with visit(browser, chart_server) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        read_chart(page, "Hostile")
        drawn = page.locator("#result-preview .diagram img")

        expect(drawn).to_have_count(2)
        broken = page.locator("#result-preview .diagram .note")
        expect(broken).to_contain_text("Mermaid can't draw this diagram")
        expect(broken).to_contain_text("Parse error on line")
        expect(page.locator("#result-preview .diagram > pre")).to_contain_text("A[never closed --> B")
        for number in range(2):
            with page.expect_download() as download:
                page.locator(".diagram button", has_text="Save as SVG").nth(number).click()
            assert active_parts(download.value.path().read_text(encoding="utf-8")) == []
        assert dialogs == []
        assert page.title() != "hit"
        frame = next(each for each in page.frames if each.url.endswith("diagram/frame.html"))
        assert frame.evaluate("origin") == "null"
