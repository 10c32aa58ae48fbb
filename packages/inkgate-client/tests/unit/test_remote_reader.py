"""Documents that are read by several services."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import httpx
import orjson
import pytest

from inkgate_client import AsyncInkgateClient, ReadOptions, ServiceError
from inkgate_client.codec import document_to_dict
from inkgate_client.format_names import FileFormat
from inkgate_client.reading import RemoteReader
from inkgate_client.retries import RetryPolicy
from inkgate_client.types import Document, DocumentResult, PageResult

pytestmark = pytest.mark.anyio

READ = orjson.dumps(document_to_dict(DocumentResult("a", "image/png", 3, 1, "ppocr", (PageResult(0, text="read"),))))
Answer = Callable[[httpx.Request], httpx.Response]


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, json={"code": code, "title": "t", "detail": "Why.", "remedy": "Do."})


def reader(*answers: Answer, limit_s: float = 0.02) -> RemoteReader:
    transports = [httpx.MockTransport(answer) for answer in answers]
    clients = [AsyncInkgateClient(f"http://gateway{n}", transport=each) for n, each in enumerate(transports)]
    return RemoteReader(*clients, policy=RetryPolicy(limit_s, outlast_load=True, first_pause_s=0.001, max_pause_s=0.03))


def gone(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


async def test_a_busy_gateway_is_asked_again_when_it_said() -> None:
    answers = [problem(503, "queue_full", **{"retry-after": "0"}), httpx.Response(502, text="proxy"), None]
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("x-inkgate-priority", ""))
        return answers.pop(0) or httpx.Response(200, content=READ)

    result = await reader(answer, limit_s=60.0).read(Document(b"png", "a"), ReadOptions("parse", priority="batch"))
    assert (result.pages[0].text, asked) == ("read", ["batch"] * 3)


async def test_a_gateway_that_is_gone_is_replaced_by_another() -> None:
    result = await reader(gone, lambda _: httpx.Response(200, content=READ)).read(Document(b"png", "a"))
    assert result.pages[0].text == "read"


async def test_check_says_which_services_are_gone_and_fails_if_all_are() -> None:
    def types(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"types": [{"name": "invoice", "fields": ["total"]}]})

    async with reader(gone, lambda _: problem(503, "queue_full"), types) as some:
        found, missing = await some.check()
    assert list(found) == ["invoice"]
    assert [str(each).split(" can't")[0] for each in missing] == ["http://gateway0"]
    async with reader(gone, lambda _: httpx.Response(401)) as none:
        with pytest.raises(ServiceError, match="gateway0 can't be reached"):
            await none.check()


async def test_a_service_that_is_full_is_outlasted_for_longer_than_one_that_is_gone() -> None:
    answers = iter([problem(503, "service_full")] * 20)
    result = await reader(lambda _: next(answers, None) or httpx.Response(200, content=READ)).read(
        Document(b"png", "a")
    )
    assert result.pages[0].text == "read"


@pytest.mark.parametrize(
    ("answer", "unavailable", "rejected"),
    [
        (lambda _: problem(422, "image_corrupt"), False, True),
        (lambda _: problem(502, "engine_failed"), False, False),
        (lambda _: problem(500, "of_another_version"), False, False),
        (lambda _: httpx.Response(413, text="nginx"), False, True),
        (gone, True, False),
        (lambda _: problem(401, "unauthenticated"), True, True),
        (lambda _: httpx.Response(404), True, True),
        (lambda _: httpx.Response(504, text="proxy"), True, False),
        (lambda _: httpx.Response(200, text="a page"), True, False),
    ],
)
async def test_an_error_tells_whether_the_document_or_the_service_is_to_blame(
    answer: Answer, unavailable: bool, rejected: bool
) -> None:
    with pytest.raises(ServiceError) as error:
        await reader(answer, limit_s=0.0).read(Document(b"png", "a"))
    assert (error.value.unavailable, error.value.rejected) == (unavailable, rejected)


def late(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("late", request=request)


@pytest.mark.parametrize(("answer", "flags"), [(gone, (True, False, True)), (late, (False, True, False))])
async def test_an_error_says_the_same_in_another_process(answer: Answer, flags: tuple[bool, bool, bool]) -> None:
    with pytest.raises(ServiceError) as caught:
        await reader(answer, limit_s=0).read(Document(b"png", "a"))
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):  # noqa: S301 - our own
        assert (error.unreachable, error.late, error.unavailable) == flags
        assert str(error) == str(caught.value)


@pytest.mark.parametrize("kind", list(FileFormat))
@pytest.mark.parametrize("body", [b"", b"null", b'{"pages": []}'])
async def test_a_response_that_is_no_such_file_is_an_error(kind: FileFormat, body: bytes) -> None:
    result = DocumentResult("a", "image/png", 3, 1, "ppocr", ())
    with pytest.raises(ServiceError, match="unexpected form"):
        await reader(lambda _: httpx.Response(200, content=body)).file(Document(b"png", "a"), result, kind)
