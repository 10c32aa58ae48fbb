"""Servers for tests that don't change them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.browser import chromium, require_chromium, running_page
from support.numbered_model import ModelProcess, running_model
from support.real_vllm import VllmProcess, require_vllm, running_vllm
from support.scenario import ServiceUnderLoad, service_under_load
from support.server import Server, running_server
from support.stub_upstream import Reply, Request, StubUpstream, error_reply, running_stub
from support.tiny_disk import TinyDisk, tiny_disk

READ = "Invoice number 20417"
_PIECES = ("Invoice", " number", " 20417")


@pytest.fixture(scope="session")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for temporary files of `server`."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="session")
def server(temporary: Path) -> Iterator[Server]:
    """A server with the embedded engine, for all tests that don't depend on its limits."""
    limits = {"INKGATE_LIMITS__MAX_BODY_MB": "5", "INKGATE_LIMITS__BODY_TIMEOUT_S": "5"}
    with running_server(environment={**limits, "TMPDIR": str(temporary)}) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file: while Playwright runs, no other test of its thread can run an event loop."""
    require_chromium()
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def page_server() -> Iterator[Server]:
    """A server whose web page is loaded. Runs one job at a time, so that others wait."""
    require_chromium()
    with running_page(INKGATE_JOBS__AT_ONCE="1", INKGATE_JOBS__POLL_S="0.2", INKGATE_JOBS__MAX_RETRIES="1") as started:
        yield started


@pytest.fixture(scope="session")
def model_server() -> Iterator[StubUpstream]:
    """Reads the same text on every image; the request's `user` field can select other behaviour."""

    def script(request: Request) -> Reply:
        match request.get("user"):
            case "endless":
                return Reply(_PIECES, endless=True)
            case "silent":
                return Reply(silent="at all")
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
    """For all tests that leave it running: it takes a minute to start."""
    require_vllm()
    with running_vllm(tmp_path_factory.mktemp("vllm") / "vllm.log") as running:
        yield running


@pytest.fixture(scope="session")
def model_process() -> Iterator[ModelProcess]:
    with running_model() as started:
        yield started


@pytest.fixture(scope="session")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TinyDisk | None]:
    """Where `service` writes its log and its temporary files; None if that is an ordinary folder."""
    with tiny_disk(tmp_path_factory.mktemp("disk")) as disk:
        yield disk


@pytest.fixture(scope="session")
def service(model_process: ModelProcess, small_disk: TinyDisk | None) -> Iterator[ServiceUnderLoad]:
    """For all faults that need no settings of their own."""
    folder = small_disk.folder if small_disk else None
    variables = {"TMPDIR": str(folder)} if folder else {}
    with service_under_load(model_process.url, variables, folder) as started:
        yield started


@pytest.fixture
def model(model_process: ModelProcess) -> Iterator[ModelProcess]:
    """The model server behind `service`; restored after each test."""
    yield model_process
    model_process.restore()
