"""Documents that the client read: their texts and files, options as arguments, URLs, and many at once."""

from __future__ import annotations

import io
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from inkgate_client import (
    AsyncInkgateClient,
    ClientDocument,
    FileUnreadable,
    InkgateClient,
    Outcome,
    ServiceError,
    retries,
)
from inkgate_client.codec import document_to_dict
from inkgate_client.files import Source
from inkgate_client.types import DocumentResult, PageResult, TaskKind
from support.api_client import Api, png, running_api
from support.fake_engine import FakeEngine
from support.pdf_writer import paragraph, text_pdf
from support.pictured_page import PicturedEngine

pytestmark = pytest.mark.anyio
PDF = text_pdf(paragraph(), paragraph(), paragraph())


@asynccontextmanager
async def reading_service(engine: FakeEngine | None = None) -> AsyncIterator[tuple[Api, AsyncInkgateClient]]:
    async with running_api(engine or FakeEngine()) as api:
        transport = httpx.ASGITransport(api.app)
        async with AsyncInkgateClient("http://inkgate.localhost", transport=transport) as client:
            yield api, client


async def test_options_are_arguments_and_blocks_are_the_default() -> None:
    async with reading_service() as (api, client):
        document = await client.read(PDF, name="a.pdf", pages=[1, 3], pdf_text="never")
        assert [page.index for page in document.pages] == [0, 2]
        assert api.engine.tasks[0].kind is TaskKind.PARSE
        assert document.markdown.startswith("<!-- page 1 -->")
        assert document.text.count("\f") == 1
        with pytest.raises(
            TypeError, match=r"^read\(\) has no argument 'taks'. Did you mean 'task'\? Options: pages, pdf_text"
        ):
            await client.read(PDF, taks="parse")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^extract\(\) has no argument 'task'"):
            await client.extract(PDF, "receipt", task="text")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=r"^submit\(\) has no argument 'lang'. Text is read in all languages"):
            await client.jobs.submit(PDF, lang="en")  # type: ignore[call-arg]


async def test_images_in_memory_are_read() -> None:
    image = Image.open(io.BytesIO(png()))
    async with reading_service() as (_, client):
        texts = [(await client.read(each)).text for each in (png(), image, np.asarray(image.convert("RGB")))]
        with pytest.raises(FileUnreadable, match="pixels are float64"):
            await client.read(np.asarray(image) / 255)
    assert texts == [texts[0]] * 3


async def test_a_document_is_saved_as_its_suffix_says_and_only_files_ask_the_service_again(tmp_path: Path) -> None:
    scan = tmp_path / "scan.png"
    scan.write_bytes(png())
    async with reading_service() as (api, client):
        document = await client.read(str(scan))
        for name in ("a.txt", "a.md", "a.json", "a.csv"):
            await document.save(tmp_path / name)
        assert len(api.engine.tasks) == 1
        assert (tmp_path / "a.md").read_text() == document.markdown
        await document.save(tmp_path / "a.alto.xml")
        await document.save(tmp_path / "a.hocr")
        assert (tmp_path / "a.alto.xml").read_bytes().startswith(b"<?xml")
        assert b"ocr_page" in (tmp_path / "a.hocr").read_bytes()
        await document.save(tmp_path / "a.docx")
        await document.save(tmp_path / "whatever", "pdf")
        assert (tmp_path / "a.docx").read_bytes()[:2] == b"PK"
        assert (tmp_path / "whatever").read_bytes()[:5] == b"%PDF-"
        with pytest.raises(ValueError, match="stands for no format"):
            await document.save(tmp_path / "a.odt")
        scan.write_bytes(b"something else")
        with pytest.raises(FileUnreadable, match="was changed"):
            await document.save(tmp_path / "b.docx")


async def test_saved_markdown_has_the_images_of_figures_inside(tmp_path: Path) -> None:
    async with reading_service(PicturedEngine()) as (api, client):
        document = await client.read(png(), task="parse", images=True)
        assert "](images/page-1-1.png)" in document.markdown
        await document.save(tmp_path / "a.md")
        assert len(api.engine.tasks) == 1
    saved = (tmp_path / "a.md").read_text()
    assert "](images/" not in saved
    assert saved.count("](data:image/png;base64,") == 1


async def test_one_broken_file_does_not_end_the_others_and_files_are_taken_as_they_are_read(tmp_path: Path) -> None:
    taken = []

    def files() -> Iterator[bytes | str]:
        for each in (png(), b"no document", str(tmp_path / "missing.png"), png(), png()):
            taken.append(each)
            yield each

    async with reading_service() as (_, client):
        async with client.read_many(files(), concurrency=2, task="text") as outcomes:
            found = {outcome.index: outcome async for outcome in outcomes}
        assert sorted(found) == [0, 1, 2, 3, 4]
        assert [found[index].value is not None for index in range(5)] == [True, False, False, True, True]
        assert [error.code for index in (1, 2) if isinstance(error := found[index].error, ServiceError)] == [
            "type_unsupported",
            "",
        ]
        assert isinstance(found[2].error, FileUnreadable)

        taken.clear()
        async with client.read_many(files(), concurrency=1) as outcomes:
            async for outcome in outcomes:
                assert outcome.index == 0
                break
        assert len(taken) < 5
        with pytest.raises(ValueError, match="at least 1"):
            async with client.read_many([], concurrency=0):
                pytest.fail("it was entered")


RESULT = DocumentResult("a.png", "image/png", 2, 1, "none", (PageResult(0, 10, 10, text="words"),))


class Refusing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Refuses the first requests with a Retry-After, or loses all."""

    def __init__(self, refused: int, *, lost: bool = False) -> None:
        self.refused, self.lost, self.asked = refused, lost, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.lost:
            raise httpx.ConnectError("refused")
        if self.asked <= self.refused:
            return httpx.Response(503, headers={"Retry-After": "7"}, json={"code": "overloaded"})
        return httpx.Response(200, json=document_to_dict(RESULT))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)


async def test_a_refused_document_is_sent_again_after_the_seconds_the_service_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited = []

    async def pause_awaited(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(retries, "pause_awaited", pause_awaited)
    busy = Refusing(2)
    async with AsyncInkgateClient("http://inkgate.localhost", transport=busy) as client:
        async with client.read_many([b"ab"], concurrency=1) as outcomes:
            assert (await anext(outcomes)).value is not None
        assert waited == [7.0, 7.0]
        busy.asked = 0
        with pytest.raises(ServiceError) as refused:
            await client.read(b"ab")
        assert refused.value.retry_after_s == 7.0


async def test_a_service_that_is_gone_is_waited_for_once_and_not_for_every_file() -> None:
    gone = Refusing(0, lost=True)
    async with (
        AsyncInkgateClient("http://inkgate.localhost", transport=gone) as client,
        client.read_many([b"ab"] * 50, concurrency=1, retry_s=0.6) as outcomes,
    ):
        errors = [outcome.error async for outcome in outcomes]
    assert all(errors)
    assert gone.asked == 51  # the first was sent twice


def test_threads_read_many_and_leaving_early_ends_their_waiting() -> None:
    with InkgateClient("http://inkgate.localhost", transport=Refusing(0)) as client:
        with client.read_many([b"ab"] * 9, concurrency=3) as outcomes:
            read: list[Outcome[Source, ClientDocument]] = list(outcomes)
        assert sorted(outcome.index for outcome in read) == list(range(9))
        assert all(outcome.value and outcome.value.text == "words\n" for outcome in read)
    reached = threading.Event()

    class Busy(Refusing):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if self.asked:
                reached.set()
            return super().handle_request(request) if self.asked else self._first()

        def _first(self) -> httpx.Response:
            self.asked += 1
            return httpx.Response(200, json=document_to_dict(RESULT))

    busy = Busy(10**9)
    with (
        InkgateClient("http://inkgate.localhost", transport=busy) as client,
        client.read_many([b"ab"] * 9, concurrency=2, retry_s=10**6) as outcomes,
    ):
        assert next(outcomes).value is not None
        assert reached.wait(30)  # the other waits for 7 s and would be sent again for days
    assert busy.asked < 10


@pytest.fixture
def website(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "a b.png").write_bytes(png())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

        def do_GET(self) -> None:
            assert "Authorization" not in self.headers
            super().do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_a_url_is_fetched_by_the_client_without_the_services_key(website: str) -> None:
    async with running_api() as api:
        transport = httpx.ASGITransport(api.app)
        async with AsyncInkgateClient("http://inkgate.localhost", "secret", transport=transport) as client:
            document = await client.read(f"{website}/a%20b.png?token=hidden")
            assert document.name == "a b.png"
            with pytest.raises(FileUnreadable, match="status 404") as missing:
                await client.read(f"{website}/missing.png?token=hidden")
            assert "hidden" not in str(missing.value)
