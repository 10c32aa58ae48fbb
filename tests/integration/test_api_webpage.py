"""The web page beside the API."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys

import pytest
from PIL import Image
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from support.api_client import running_api

pytestmark = pytest.mark.anyio
BROWSER = {"accept": "text/html,*/*;q=0.8"}


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"page at {scope['path']} below {scope['root_path']}")(scope, receive, send)


async def test_without_the_extra_the_small_page_says_how_to_get_it() -> None:
    async with running_api() as api:
        home = await api.client.get("/", headers=BROWSER)
        assert home.status_code == 200
        assert "pip install '.[ui]'" in home.text
        assert (await api.client.get("/ui/")).headers["location"] == "/"


async def test_while_it_is_loaded_the_small_page_asks_for_patience_and_looks_again() -> None:
    async with running_api() as api:
        api.context.page.coming = True
        home = await api.client.get("/", headers=BROWSER)
        assert "is loading" in home.text
        assert 'http-equiv="refresh"' in home.text


async def test_once_it_is_there_browsers_are_sent_to_it_and_others_are_not() -> None:
    async with running_api() as api:
        api.context.page.app = page
        assert (await api.client.get("/", headers=BROWSER)).headers["location"] == "ui/"
        assert "curl" in (await api.client.get("/", headers={"accept": "*/*"})).text
        assert (await api.client.get("/ui/assets/x.js")).text == "page at /ui/assets/x.js below /ui"


async def test_the_page_passes_no_rate_and_no_drain_but_the_api_does() -> None:
    async with running_api(rate_limit={"per_key": "1/minute"}) as api:
        api.context.page.app = page
        api.context.drain.begin()
        for _ in range(3):
            assert (await api.client.get("/ui/")).status_code == 200
        assert (await api.client.get("/v1/models")).status_code == 503
        assert (await api.client.get("/uix")).status_code == 503
        assert not [line for line in api.logs if line.get("path") == "/ui/"]


LOADED = """
import sys
reached = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        reached.append((event, arguments[1:]))
sys.addaudithook(watch)
from inkgate.ui.page import build_page
build_page("http://127.0.0.1:9", "/ui")
import threading
for thread in threading.enumerate():
    if thread is not threading.main_thread() and not thread.daemon:
        thread.join(5)
print(reached)
"""


def test_loading_the_page_tells_nobody() -> None:
    pytest.importorskip("gradio")
    ended = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, timeout=60, check=True)
    assert ended.stdout.decode().strip() == "[]"


async def test_the_icon_is_there_for_everybody() -> None:
    async with running_api(auth={"key_hashes": [hashlib.sha256(b"alpha").hexdigest()]}) as api:
        icon = await api.client.get("/favicon.ico", headers={"authorization": ""})
        assert (icon.status_code, icon.headers["content-type"]) == (200, "image/x-icon")
        assert Image.open(io.BytesIO(icon.content)).size == (32, 32)
