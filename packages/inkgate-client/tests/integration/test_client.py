"""The client, blocking and awaited, at the API itself."""

from __future__ import annotations

import hashlib
import inspect
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, SpooledTemporaryFile
from typing import Any, BinaryIO

import httpx
import orjson
import pytest
from PIL import Image

from inkgate.errors import EngineFailed
from inkgate_client import (
    AsyncInkgateClient,
    AsyncPages,
    File,
    FileUnreadable,
    InkgateClient,
    Pages,
    ReadOptions,
    ServiceError,
)
from inkgate_client.files import BinaryFile
from inkgate_client.types import TaskKind
from support.api_client import Api, png, running_api
from support.fake_engine import FakeEngine
from support.pdf_writer import paragraph, text_pdf

anyio_test = pytest.mark.anyio
PDF = text_pdf(paragraph(), paragraph(), paragraph())


def client_of(api: Api, key: str = "") -> AsyncInkgateClient:
    return AsyncInkgateClient("http://inkgate.localhost", key, transport=httpx.ASGITransport(api.app))


@pytest.mark.smoke
@anyio_test
async def test_a_document_comes_back_with_its_pages_lines_and_blocks() -> None:
    async with running_api() as api, client_of(api) as client:
        result = await client.read(png(), ReadOptions(task="parse", fields=("total",)), "page.png")
        assert (result.name, result.mime_type, result.engine) == ("page.png", "image/png", "fake")
        assert result.pages[0].lines[0].text
        assert len(result.pages[0].lines[0].quad) == 4
        assert result.pages[0].blocks
        assert api.engine.tasks[0].kind is TaskKind.PARSE
        assert (await client.read_in(png(), "alto")).startswith(b"<?xml")
        assert await client.engine() == "fake"
        assert await client.models() == ("fake",)
        assert (await client.state()).build.engine


@anyio_test
async def test_pages_come_one_by_one_and_then_the_summary() -> None:
    broken = FakeEngine(failing={1: EngineFailed("engine_failed", "It is broken.")})
    as_pixels = ReadOptions(pdf_text="never")
    async with (
        running_api(broken) as api,
        client_of(api) as client,
        client.stream(PDF, as_pixels, "a.pdf") as pages,
    ):
        assert pages.count == 3
        found = [page async for page in pages]
        assert [page.index for page in found] == [0, 1, 2]
        assert [page.error is None for page in found] == [True, False, True]
        assert (pages.summary.status, pages.summary.pages_failed) == ("partial", 1)


@anyio_test
async def test_an_error_is_told_with_all_that_the_service_says_of_it() -> None:
    async with running_api() as api, client_of(api) as client:
        with pytest.raises(ServiceError) as refused:
            await client.read(b"no document")
        error = refused.value
        assert (error.code, error.status) == ("type_unsupported", 415)
        assert error.title
        assert error.remedy in str(error)
        assert error.request_id
        with pytest.raises(ServiceError) as refused:
            async with client.stream(b"no document"):
                pytest.fail("there is nothing to iterate")
        assert refused.value.code == "type_unsupported"


@anyio_test
async def test_the_key_is_sent_and_a_wrong_one_is_told() -> None:
    auth: dict[str, object] = {"key_hashes": [hashlib.sha256(b"alpha").hexdigest()]}
    async with running_api(auth=auth) as api:
        async with client_of(api, "alpha") as client:
            assert (await client.read(png())).pages
        async with client_of(api, "beta") as client:
            with pytest.raises(ServiceError, match="requires an API key") as refused:
                await client.read(png())
        assert refused.value.code == "unauthenticated"


@anyio_test
async def test_files_are_kept_shown_turned_and_forgotten() -> None:
    async with running_api() as api, client_of(api) as client:
        kept = await client.upload(PDF, "a.pdf")
        assert await client.file(kept) == PDF
        upright = Image.open(io.BytesIO(await client.picture(kept, 3, side=200)))
        turned = Image.open(io.BytesIO(await client.picture(kept, 3, turn=90, side=200)))
        assert upright.format == "JPEG"
        assert max(upright.size) == 200
        assert turned.size == (upright.height, upright.width)
        with pytest.raises(ServiceError) as refused:
            await client.picture(kept, 4)
        assert refused.value.code == "pages_invalid"
        await client.delete_file(kept)
        with pytest.raises(ServiceError) as refused:
            await client.picture(kept)
        assert refused.value.code == "file_unknown"
        assert api.limiter.in_flight == 0


def answered(body: bytes, status: int = 200, **headers: str) -> InkgateClient:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body, headers=headers)

    return InkgateClient("http://inkgate.localhost", transport=httpx.MockTransport(answer))


SUMMARY = (
    b'{"status":"complete","name":"a","mime_type":"image/png","byte_count":1,"page_count":1,"engine":"fake",'
    b'"pages_answered":1,"pages_failed":0,"error":null}\n'
)
# A line separator of Unicode inside: it ends no line of NDJSON.
PAGE = '{"index":0,"width":9,"height":9,"text":"one\u2028line","lines":[]}\n'.encode()


def test_lines_end_at_line_feeds_alone() -> None:
    with answered(PAGE + SUMMARY) as client, client.stream(b"x") as pages:
        assert [page.text for page in pages] == ["one\u2028line"]
        assert pages.summary.pages_answered == 1
        assert pages.count is None


def test_a_stream_that_was_broken_off_is_no_whole_document() -> None:
    with (
        answered(PAGE) as client,
        client.stream(b"x") as pages,
        pytest.raises(ServiceError, match="broke off the response"),
    ):
        list(pages)


def test_a_stream_that_failed_raises_what_its_summary_says() -> None:
    problem = b'{"title":"Time ran out","detail":"Too late.","remedy":"Ask for less.","code":"deadline_exceeded"}'
    with answered(PAGE + SUMMARY.replace(b"null", problem)) as client, client.stream(b"x") as pages:
        with pytest.raises(ServiceError, match="Too late") as failed:
            list(pages)
        assert failed.value.code == "deadline_exceeded"


class LaterService(httpx.AsyncBaseTransport):
    """A service whose answers have one more key in every object, as those of a later version may."""

    def __init__(self, api: Api) -> None:
        self._inner = httpx.ASGITransport(api.app)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        body = await answer.aread()
        if "json" in answer.headers["content-type"]:
            lines = [orjson.loads(line) for line in body.split(b"\n") if line]
            body = b"".join(orjson.dumps(later(line)) + b"\n" for line in lines)
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        return httpx.Response(answer.status_code, headers=headers, content=body)


def later(value: object) -> object:
    if isinstance(value, dict):
        return {key: later(item) for key, item in value.items()} | {"one_more": 1}
    return [later(item) for item in value] if isinstance(value, list) else value


@anyio_test
async def test_keys_of_a_later_version_are_ignored_everywhere() -> None:
    as_blocks = ReadOptions(task="parse")
    async with (
        running_api() as api,
        AsyncInkgateClient("http://inkgate.localhost", transport=LaterService(api)) as later_client,
        client_of(api) as client,
    ):
        found, known = await later_client.read(png(), as_blocks), await client.read(png(), as_blocks)
        assert (found.pages[0].lines, found.pages[0].blocks) == (known.pages[0].lines, known.pages[0].blocks)
        async with later_client.stream(png(), as_blocks) as pages:
            assert [page.index async for page in pages] == [0]
            assert pages.summary.status == "complete"
        assert await later_client.engine() == "fake"
        assert await later_client.models() == await client.models()
        assert (await later_client.state()).build.version == (await client.state()).build.version
        file_id = await later_client.upload(png())
        await later_client.delete_file(file_id)
        with pytest.raises(ServiceError) as refused:
            await later_client.file(file_id)
        assert refused.value.code == "file_unknown"


def test_who_should_come_back_is_told_when() -> None:
    with answered(b'{"code":"service_full","detail":"Full."}', 503, **{"retry-after": "7"}) as client:
        with pytest.raises(ServiceError, match="Full") as refused:
            client.read(b"x")
        assert (refused.value.retry_after_s, refused.value.code) == (7.0, "service_full")


def test_what_is_no_inkgate_is_told_so() -> None:
    with answered(b"<html>") as client, pytest.raises(ServiceError, match="unexpected form"):
        client.read(b"x")
    with answered(b"<html>", 404) as client, pytest.raises(ServiceError, match="another service"):
        client.models()


def test_a_service_that_is_not_there_is_told_so() -> None:
    with InkgateClient("http://127.0.0.1:9") as client, pytest.raises(ServiceError, match="can't be reached"):
        client.engine()


class OwnPath:
    """A path that is no pathlib.Path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


def named_pipe_end(path: Path) -> BinaryIO:
    """The reading end of a pipe that holds the file; its `name` is a number."""
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())
    os.close(writing)
    return os.fdopen(reading, "rb")


def rewound(file: Any) -> BinaryFile:  # noqa: ANN401 - tempfile's classes
    file.write(b"its bytes")
    file.seek(0)
    found: BinaryFile = file
    return found


FILES: dict[str, tuple[Callable[[Path], File], str]] = {
    "str": (str, "scan.png"),
    "Path": (lambda path: path, "scan.png"),
    "PathLike": (OwnPath, "scan.png"),
    "bytes": (lambda path: path.read_bytes(), "document"),
    "bytearray": (lambda path: bytearray(path.read_bytes()), "document"),
    "memoryview": (lambda path: memoryview(path.read_bytes()), "document"),
    "open file": (lambda path: path.open("rb"), "scan.png"),
    "unbuffered file": (lambda path: path.open("rb", buffering=0), "scan.png"),
    "file opened by a path in bytes": (lambda path: open(os.fsencode(path), "rb"), "scan.png"),  # noqa: PTH123, SIM115
    "BytesIO": (lambda path: io.BytesIO(path.read_bytes()), "document"),
    "pipe": (named_pipe_end, "document"),
    "temporary file": (lambda path: rewound(NamedTemporaryFile(prefix=path.name)), "scan.png"),  # noqa: SIM115
    "spooled file": (lambda path: rewound(SpooledTemporaryFile(prefix=path.name)), "document"),  # noqa: SIM115
}
"""What a document may be, made from a path, and the beginning of the name under which it is sent."""


@pytest.mark.parametrize("kind", FILES)
@anyio_test
async def test_paths_bytes_and_file_objects_are_sent_by_both_clients(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "scan.png"
    path.write_bytes(b"its bytes")
    make, name = FILES[kind]
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return httpx.Response(200, content=PAGE + SUMMARY if request.url.path == "/ocr" else b'{"id":"7"}')

    transport = httpx.MockTransport(answer)
    with InkgateClient("http://inkgate.localhost", transport=transport) as client:
        with opened(make(path)) as file:
            assert client.upload(file) == "7"
        with opened(make(path)) as file, client.stream(file, name="other.png") as pages:
            assert [page.index for page in pages] == [0]
    async with AsyncInkgateClient("http://inkgate.localhost", transport=transport) as awaited:
        with opened(make(path)) as file:
            assert await awaited.upload(file) == "7"
        with opened(make(path)) as file:
            async with awaited.stream(file, name="other.png") as awaited_pages:
                assert [page.index async for page in awaited_pages] == [0]
    names = [name, "other.png"] * 2
    assert [f'filename="{name}'.encode() in body for name, body in zip(names, sent, strict=True)] == [True] * 4
    assert all(b"its bytes" in body for body in sent)


@contextmanager
def opened(file: File) -> Iterator[File]:
    """`file`, closed at the end of the block if it is one."""
    try:
        yield file
    finally:
        if not isinstance(file, bytes | bytearray | memoryview):
            getattr(file, "close", lambda: None)()


@anyio_test
async def test_a_file_object_is_read_from_where_it_is_and_stays_open() -> None:
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return httpx.Response(200, content=b'{"id":"7"}')

    transport = httpx.MockTransport(answer)
    file, awaited_file = io.BytesIO(b"skipped, sent"), io.BytesIO(b"skipped, sent")
    file.seek(9)
    awaited_file.seek(9)
    with InkgateClient("http://inkgate.localhost", transport=transport) as client:
        client.upload(file)
    async with AsyncInkgateClient("http://inkgate.localhost", transport=transport) as awaited:
        await awaited.upload(awaited_file)
    assert [(b"sent" in body, b"skipped" in body) for body in sent] == [(True, False)] * 2
    assert (file.closed, awaited_file.closed) == (False, False)


@anyio_test
async def test_the_service_names_documents_by_their_files(tmp_path: Path) -> None:
    path = tmp_path / "scan.png"
    path.write_bytes(png())
    async with running_api() as api, client_of(api) as client:
        with path.open("rb") as file:
            assert [(await client.read(given)).name for given in (path, str(path), file)] == ["scan.png"] * 3
        assert (await client.read(png())).name == "document"
        assert (await client.read(str(path), name="other.png")).name == "other.png"


def test_both_clients_have_the_same_methods() -> None:
    def methods(of: type) -> dict[str, list[str]]:
        public = {name: method for name, method in vars(of).items() if callable(method) and name[0] != "_"}
        return {name: list(inspect.signature(method).parameters) for name, method in public.items()}

    assert methods(InkgateClient) == methods(AsyncInkgateClient)
    assert methods(Pages) == methods(AsyncPages)


@pytest.mark.parametrize("name", ["nowhere.pdf", "", "nul\0byte"])
@anyio_test
async def test_a_file_that_can_not_be_read_is_a_service_error(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    with answered(b"") as client, pytest.raises(FileUnreadable, match="can't be read"):
        client.read(path)
    async with AsyncInkgateClient("http://inkgate.localhost") as awaited:
        with pytest.raises(ServiceError, match="can't be read"):
            await awaited.upload(Path(path))
        with pytest.raises(ServiceError, match="can't be read"):
            async with awaited.stream(path):
                pytest.fail("there is nothing to iterate")


def test_a_closed_file_is_a_service_error_and_one_of_text_is_the_programmers() -> None:
    with answered(b"") as client:
        with pytest.raises(FileUnreadable, match="closed file"):
            client.read(closed_file())
        with pytest.raises(TypeError, match="binary mode"):
            client.read(io.StringIO("text"))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not int"):
            client.read(7)  # type: ignore[arg-type]


def closed_file() -> io.BytesIO:
    file = io.BytesIO(b"x")
    file.close()
    return file


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "not a URL"),
        ("localhost:7860", "not a URL"),
        ("ftp://inkgate.test", "not a URL"),
        ("http://[::", "not a URL"),
        (f"http://{'a' * 64}.test", "not a URL|can't be reached"),
        ("http://inkgate.invalid", "can't be reached"),
        ("http://127.0.0.1:9", "can't be reached"),
    ],
)
@anyio_test
async def test_a_wrong_address_is_a_service_error_of_both_clients(url: str, message: str) -> None:
    with pytest.raises(ServiceError, match=message), InkgateClient(url) as client:
        client.read(b"x")
    with pytest.raises(ServiceError, match=message):
        async with AsyncInkgateClient(url) as awaited:
            await awaited.state()


@pytest.mark.parametrize("key", ["schlüssel", "with\nline"])
def test_a_key_that_can_not_be_sent_is_a_service_error_that_does_not_show_it(key: str) -> None:
    with pytest.raises(ServiceError, match="The key or a header") as refused:
        InkgateClient("http://127.0.0.1:9", key).engine()
    assert key not in str(refused.value)


def test_pages_of_proxies_are_service_errors() -> None:
    html = {"content-type": "text/html"}
    asked: list[Callable[[InkgateClient], object]] = [
        InkgateClient.engine,
        InkgateClient.models,
        InkgateClient.state,
        lambda client: client.read(b"x"),
        lambda client: client.read_in(b"x", "text"),
        lambda client: client.upload(b"x"),
        lambda client: client.file("7"),
        lambda client: client.picture("7"),
    ]
    for ask in asked:
        with answered(b"<html>Log in", 200, **html) as client, pytest.raises(ServiceError, match="unexpected form"):
            ask(client)
        with answered(b"<html>Bad gateway", 502, **html) as client, pytest.raises(ServiceError, match="a proxy") as bad:
            ask(client)
        assert bad.value.status == 502
    with answered(b"", 302, location="https://login.test") as client, pytest.raises(ServiceError, match=r"login\.test"):
        client.engine()


@pytest.mark.parametrize("line", [b"<html>\n", b'{"index":"x"}\n', b'{"status":"comp\n'])
def test_a_stream_of_something_else_is_a_service_error(line: bytes) -> None:
    with answered(PAGE + line) as client, client.stream(b"x") as pages, pytest.raises(ServiceError):
        list(pages)
