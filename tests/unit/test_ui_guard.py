"""Of Gradio's addresses, only those that the page needs can be reached."""

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from inkgate.ui.page import MAX_BODY_BYTES, Guard

pytestmark = pytest.mark.anyio


async def behind(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{len(body)} bytes")(scope, receive, send)


@pytest.fixture
def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(Guard(behind, "/ui")), base_url="http://inkgate.localhost")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/ui", 200),
        ("GET", "/ui/", 200),
        ("GET", "/ui/assets/index-Dp.js", 200),
        ("GET", "/ui/static/fonts/a/b.woff2", 200),
        ("GET", "/ui/gradio_api/queue/data", 200),
        ("POST", "/ui/gradio_api/queue/join", 200),
        ("POST", "/ui/gradio_api/component_server", 200),
        ("POST", "/ui/gradio_api/upload", 404),
        ("GET", "/ui/gradio_api/file=/etc/passwd", 404),
        ("GET", "/ui/file=/etc/passwd", 404),
        ("GET", "/ui/gradio_api/proxy=http://127.0.0.1:8001/metrics", 404),
        ("POST", "/ui/gradio_api/run/read", 404),
        ("POST", "/ui/gradio_api/call/read", 404),
        ("POST", "/ui/gradio_api/vibe-code", 404),
        ("POST", "/ui/gradio_api/process_recording", 404),
        ("GET", "/ui/gradio_api/runs", 404),
        ("GET", "/ui/monitoring", 404),
        ("GET", "/ui/login", 404),
        ("GET", "/ui/assets/..%2f..%2fsecret", 404),
        ("DELETE", "/ui/", 404),
    ],
)
async def test_what_is_served(client: httpx.AsyncClient, method: str, path: str, status: int) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == status


async def test_the_browser_is_told_to_ask_nobody_else(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/ui/")).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "http" not in policy.replace("https", "http").replace("data:", "")


async def test_a_large_body_is_refused_whether_it_says_so_or_not(client: httpx.AsyncClient) -> None:
    path = "/ui/gradio_api/queue/join"
    assert (await client.post(path, content=bytes(MAX_BODY_BYTES))).text == f"{MAX_BODY_BYTES} bytes"
    assert (await client.post(path, content=bytes(MAX_BODY_BYTES + 1))).status_code == 413
    assert (await client.post(path, headers={"content-length": "-1"})).status_code == 413
