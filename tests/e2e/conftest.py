"""Servers for the tests that leave them as they are."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from support.browser import chromium, require_chromium, running_page
from support.real_vllm import VllmProcess, require_vllm, running_vllm
from support.server import Server, running_server
from support.stub_upstream import Reply, Request, StubUpstream, error_reply, running_stub

READ = "Invoice number 20417"
_PIECES = ("Invoice", " number", " 20417")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file: while Playwright is there, no other test of its thread can run an event loop."""
    require_chromium()
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def page_server(browser: Browser) -> Iterator[Server]:
    """A server whose web page is loaded."""
    with running_page() as started:
        yield started


@pytest.fixture(scope="session")
def model_server() -> Iterator[StubUpstream]:
    """Reads the same on every image; does other things where the request's `user` field says so."""

    def script(request: Request) -> Reply:
        match request.get("user"):
            case "endless":
                return Reply(_PIECES, endless=True)
            case "wrong":
                return error_reply(400, "max_tokens=9000 cannot be greater than max_model_len=4096. Secret.")
            case "broken":
                return Reply(_PIECES, broken="close")
        return Reply(_PIECES)

    with running_stub(script, models=("PaddleOCR-VL-1.6-0.9B",)) as stub:
        yield stub


@pytest.fixture(scope="session")
def gateway(model_server: StubUpstream) -> Iterator[Server]:
    """A server in front of `model_server`."""
    with running_server("--engine", "paddleocr-vl", "--vllm-url", model_server.url) as started:
        yield started


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmProcess]:
    """One for all tests that leave it running: it takes a minute to start."""
    require_vllm()
    with running_vllm(tmp_path_factory.mktemp("vllm") / "vllm.log") as running:
        yield running
