"""Documents of a batch that are read by services."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import orjson
import pytest

from inkgate.batch import gateways
from inkgate.batch.gateways import GatewayReader, GatewaysUnusable
from inkgate.client import AsyncInkgateClient
from inkgate.codec import document_to_dict
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.types import Document, DocumentResult, PageResult

pytestmark = pytest.mark.anyio

READ = orjson.dumps(document_to_dict(DocumentResult("a", "image/png", 3, 1, "ppocr", (PageResult(0, text="read"),))))
Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "_FIRST_PAUSE_S", 0.001)


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, json={"code": code, "title": "t", "detail": "Why.", "remedy": "Do."})


def reader(*answers: Answer, patience_s: float = 0.02) -> GatewayReader:
    transports = [httpx.MockTransport(answer) for answer in answers]
    return GatewayReader(
        [AsyncInkgateClient(f"http://gateway{n}", transport=each) for n, each in enumerate(transports)], patience_s
    )


def gone(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


async def test_a_busy_gateway_is_asked_again_when_it_said() -> None:
    answers = [problem(503, "queue_full", **{"retry-after": "0"}), httpx.Response(502, text="proxy"), None]
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["x-inkgate-priority"])
        return answers.pop(0) or httpx.Response(200, content=READ)

    result = await reader(answer).read(Document(b"png", "a"))
    assert (result.pages[0].text, asked) == ("read", ["batch"] * 3)


async def test_a_gateway_that_is_gone_is_replaced_by_another() -> None:
    result = await reader(gone, lambda _: httpx.Response(200, content=READ)).read(Document(b"png", "a"))
    assert result.pages[0].text == "read"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda _: problem(422, "image_corrupt"), InputRejected),
        (lambda _: problem(502, "engine_failed"), EngineFailed),
        (lambda _: problem(500, "of_another_version"), EngineFailed),
    ],
)
async def test_an_error_of_the_document_is_the_documents(answer: Answer, error: type[InkgateError]) -> None:
    with pytest.raises(error, match="Why"):
        await reader(answer).read(Document(b"png", "a"))


@pytest.mark.parametrize("answer", [gone, lambda _: problem(401, "key_invalid"), lambda _: httpx.Response(400)])
async def test_gateways_that_nothing_can_be_read_by_end_the_run(answer: Answer) -> None:
    with pytest.raises(GatewaysUnusable):
        await reader(answer).read(Document(b"png", "a"))
