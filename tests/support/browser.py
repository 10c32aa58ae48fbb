"""A real Chromium on the web page, which sends requests only to the service."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, ConsoleMessage, FilePayload, Page, expect, sync_playwright

from support.server import Server, running_server

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 120_000
FOLDER = os.environ.get("INKGATE_SCREENSHOTS", "")
"""Folder for screenshots; empty: none are taken."""

_FORBIDDEN = re.compile("Content Security Policy|Trusted(HTML|Script)")
_TYPES = {".png": "image/png", ".pdf": "application/pdf", ".jpg": "image/jpeg"}
_DROP = """(given) => {
  const transfer = new DataTransfer();
  for (const { name, mimeType, buffer } of given) {
    transfer.items.add(new File([new Uint8Array(buffer)], name, { type: mimeType }));
  }
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: transfer }));
  }
}"""

expect.set_options(timeout=WAIT_MS)


def require_chromium() -> None:
    """Skips the test without Chromium, unless INKGATE_REQUIRE_ALL is set."""
    if CHROMIUM.exists():
        return
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail("no Chromium here: apt-get install chromium")
    pytest.skip("no Chromium here: apt-get install chromium")


@contextmanager
def running_page(**environment: str) -> Iterator[Server]:
    """A server with its web page."""
    with running_server(
        environment={"INKGATE_UI__ENABLED": "true", "INKGATE_METRICS__PORT": "0"} | environment
    ) as server:
        yield server


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Browser,
    server: Server,
    *,
    width: int = 1280,
    height: int = 860,
    locale: str = "en-GB",
    dark: bool = False,
    path: str = "/",
) -> Iterator[Page]:
    """The page as a visitor opens it. At the end checks that no request went to another host, no script failed, and
    nothing was tried that the Content-Security-Policy forbids, except by Mermaid in its sandbox.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        locale=locale,
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    asked: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.remove(request.url) if request.failure == "csp" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if _is_fault(said) else None)
    page.goto(server.url + path)
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert faults == []
    assert [url for url in asked if not url.startswith((server.url + "/", "data:", "blob:"))] == []


def _is_fault(said: ConsoleMessage) -> bool:
    """Whether the browser refused something. Mermaid's attempts in its sandbox, whose origin is opaque, are none."""
    of_sandbox = said.location["url"].startswith("blob:null/") or said.location["url"].endswith("/diagram/frame.html")
    return bool(_FORBIDDEN.search(said.text)) and not of_sandbox


def give(page: Page, *files: Path | tuple[str, bytes], field: str = "#input") -> None:
    """Chooses the files, as the page's button does."""
    page.set_input_files(field, [_payload(file) for file in files])


def drop(page: Page, *files: Path | tuple[str, bytes]) -> None:
    """Drops the files somewhere on the window."""
    given = [{**file, "buffer": list(file["buffer"])} for file in map(_payload, files)]
    page.evaluate(_DROP, given)


def _payload(file: Path | tuple[str, bytes]) -> FilePayload:
    name, data = file if isinstance(file, tuple) else (file.name, file.read_bytes())
    return {"name": name, "mimeType": _TYPES.get(Path(name).suffix, "application/octet-stream"), "buffer": data}


def shoot(page: Page, name: str) -> None:
    """Takes a screenshot for docs/screenshots if INKGATE_SCREENSHOTS names a folder."""
    if FOLDER:
        page.mouse.move(2, 2)
        page.wait_for_timeout(400)
        page.screenshot(path=str(Path(FOLDER) / f"{name}.png"))


def active_parts(svg: str) -> list[str]:
    """What in a drawing could run, load or lead somewhere."""
    found: list[str] = []
    for node in ET.fromstring(svg).iter():  # noqa: S314 - Mermaid wrote it
        name = str(node.tag).rpartition("}")[2]
        found += [name] if name in {"script", "foreignObject", "iframe", "image", "a"} else []
        found += [key for key, value in node.attrib.items() if key.startswith("on") or "://" in value]
        found += [f"{key}={value}" for key, value in node.attrib.items() if "href" in key and value[0] != "#"]
        found += re.findall(r"@import|url\((?!#)[^)]*", node.text or "") if name == "style" else []
    return found
