"""A real Chromium on the web page, which sends requests only to the service."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from support.server import Server, running_server

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 60_000
OPEN_S = 60.0
FOLDER = os.environ.get("INKGATE_SCREENSHOTS", "")
"""Folder for screenshots; empty: none are taken."""

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
    """A server whose web page is loaded."""
    with running_server(
        environment={"INKGATE_UI__ENABLED": "true", "INKGATE_METRICS__PORT": "0"} | environment
    ) as server:
        give_up = time.monotonic() + OPEN_S
        while httpx.get(f"{server.url}/ui/", timeout=60).status_code != 200:
            assert time.monotonic() < give_up, server.log_text()
            time.sleep(0.2)
        yield server


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def visit(
    browser: Browser, server: Server, *, width: int = 1280, height: int = 860, locale: str = "en-GB", dark: bool = False
) -> Iterator[Page]:
    """The page as a visitor opens it. At the end checks that no request went to another host, and no script failed."""
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
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{server.url}/")
    page.wait_for_selector("#ink-go")
    page.wait_for_function("document.querySelector('#ink-go').textContent !== ''")
    yield page
    context.close()
    assert not faults
    assert [url for url in asked if not url.startswith((server.url + "/", "data:", "blob:"))] == []


def give(page: Page, *files: Path | tuple[str, bytes]) -> None:
    """Chooses the files, and waits until they are sent."""
    chosen = [
        {"name": file[0], "mimeType": "application/octet-stream", "buffer": file[1]}
        if isinstance(file, tuple)
        else {"name": file.name, "mimeType": "application/octet-stream", "buffer": file.read_bytes()}
        for file in files
    ]
    page.set_input_files("#ink-input", chosen)  # type: ignore[arg-type]  # dicts do for its TypedDict
    page.wait_for_selector("#ink-go:not([disabled])")


def shoot(page: Page, name: str) -> None:
    """Takes a screenshot for docs/screenshots if INKGATE_SCREENSHOTS names a folder."""
    if FOLDER:
        page.mouse.move(2, 2)
        page.wait_for_timeout(400)
        page.screenshot(path=str(Path(FOLDER) / f"{name}.png"))
