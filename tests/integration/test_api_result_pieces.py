"""Results of jobs are sent in pieces: the same bytes as of the whole document, and little memory, which is counted."""

from __future__ import annotations

import io
import socket
import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from anyio.abc import SocketAttribute

from inkgate.api import docling
from inkgate.api.azure_content import AzureForm
from inkgate.api.azure_document import LARGE_PARTS, SMALL_PARTS, AnalyzedPart
from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.jobs.job import Job
from inkgate.layout.text.markdown import page_markdown
from inkgate.page import Page
from inkgate.serving.order import Work
from inkgate_client.block_image import BlockImage
from inkgate_client.formats import Format, render
from inkgate_client.formats.markdown import without_marks
from inkgate_client.image_links import IMAGE_FOLDER, images_of, with_all_images_embedded
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult, Task, TaskKind
from support.api_client import Api, Message, RawCall, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import ALPHA, BETA, KEYS, code, ended, jobs_api, submit
from support.served_api import Served, served

pytestmark = pytest.mark.anyio

AZURE = "/documentintelligence/documentModels/prebuilt-layout/analyzeResults"
NOON = time.struct_time((2026, 11, 28, 12, 0, 0, 5, 332, 0))


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": True}


@dataclass
class FigureEngine(FakeEngine):
    """Pages with a running title, text that JSON escapes, and two figures."""

    image_bytes: int = 3000

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        read = await super().read(page, task, caller)
        if task.kind is not TaskKind.PARSE:
            return read
        blocks = [Block(BlockType.HEADER, (10, 2, 190, 8), (), "Report", "Report")]
        for number in range(2 if page.index % 3 != 1 else 0):
            name = f"page-{page.index + 1}-{number + 1}.jpg"
            data = f"{page.index:02d}{number}+" * (self.image_bytes // 4)
            image = BlockImage(name, "image/jpeg", 40, 30, data) if task.images else None
            markdown = f"![Figure](images/{name})" if task.images else ""
            blocks.append(Block(BlockType.FIGURE, (10, 40, 50, 70), (), "", markdown, image=image))
        text = f'"Page" {page.index} \\ \u4e16\u754c \U0001f388\t\x07'
        blocks.append(Block(BlockType.TEXT, (10, 80, 190, 100), (0, 1), text, text))
        return replace(read, text=text, blocks=tuple(blocks), markdown=page_markdown(blocks))


DOCUMENTS: dict[str, tuple[FakeEngine, int, bool]] = {
    "one page": (FigureEngine(), 1, True),
    "many pages": (FigureEngine(), 47, True),
    "no images": (FigureEngine(), 23, False),
    "lines only": (FakeEngine(), 21, False),
    "a page that failed": (FigureEngine(failing={2: EngineFailed("engine_failed", 'No "luck".')}), 5, True),
}


def docling_whole(job: Job, result: DocumentResult) -> bytes:
    markdown = without_marks(with_all_images_embedded(result))
    text = render(result, Format.TEXT).decode()
    document = docling.DoclingDocument(filename=job.name, md_content=markdown, text_content=text)
    errors = [f"{job.failed} pages could not be read."] if job.failed else []
    answer = docling.DoclingResult(
        document=document,
        status="partial_success" if job.failed else "success",
        errors=[
            {"component_type": "document_backend", "module_name": "inkgate", "error_message": error} for error in errors
        ],
        processing_time=round((job.ended or 0.0) - (job.started or 0.0), 3),
        timings={},
    )
    return orjson.dumps(answer.model_dump())


def azure_whole(body: bytes, result: DocumentResult, *, markdown: bool) -> bytes:
    found = orjson.loads(body)
    for name in LARGE_PARTS:
        part = AnalyzedPart(name, AzureForm(layout=True, markdown=markdown))
        shown = part.begin() + b"".join(map(part.page, result.pages)) + part.end()
        found["analyzeResult"][name] = shown.decode() if name == "content" else orjson.Fragment(shown)
    found["analyzeResult"] |= {name: orjson.Fragment(part.small(name)) for name in SMALL_PARTS}
    return orjson.dumps(found)


def zip_whole(name: str, result: DocumentResult) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/hybrid_auto/{name}.md", without_marks(result))
        for image in images_of(result):
            archive.writestr(f"{name}/hybrid_auto/{IMAGE_FOLDER}/{image.name}", image.data, zipfile.ZIP_STORED)
    return file.getvalue()


@pytest.mark.parametrize("which", DOCUMENTS)
async def test_the_pieces_are_the_bytes_of_the_whole(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "localtime", lambda *_: NOON)
    engine, pages, images = DOCUMENTS[which]
    async with jobs_api(tmp_path, engine) as api:
        include = "images" if images else ""
        shown = await ended(api, await submit(api, tiff(pages), task="parse", include=include))
        jobs = api.context.service.jobs
        assert jobs is not None
        job = await jobs.store.get(shown["id"], None)
        result = await jobs.document(job)

        async def body(path: str) -> bytes:
            answer = await api.client.get(path.format(job.id))
            assert answer.status_code == 200, answer.text
            return answer.content

        assert await body("/v1/result/{}") == docling_whole(job, result)
        for suffix, markdown in (("", False), (".m0", True)):
            found = await body(f"{AZURE}/{{}}{suffix}")
            assert found == azure_whole(found, result, markdown=markdown)
        links = {image.name: image.data_url for image in images_of(result)}
        mineru = {"md_content": without_marks(result), **({"images": links} if images else {})}
        found = await body("/tasks/{}/result")
        assert found == orjson.dumps({**orjson.loads(found), "results": {"scan": mineru}})
        fields = {"response_format_zip": "true", "return_images": str(images).lower()}
        task = (await api.client.post("/tasks", files={"files": ("scan.tiff", tiff(pages))}, data=fields)).json()
        await ended(api, {"links": {"self": f"/v1/jobs/{task['task_id']}"}})
        assert (await api.client.get(task["result_url"])).content == zip_whole("scan", result)
        state = {"status": "partial"} if job.failed else {}
        assert orjson.loads(await body("/v1/jobs/{}/result")) == orjson.loads(render(result, Format.JSON)) | state
        embedded = with_all_images_embedded(result)
        assert await body("/v1/jobs/{}/result?format=markdown") == render(embedded, Format.MARKDOWN)
        lines = (await body("/v1/jobs/{}/result?format=ndjson")).splitlines()
        stored = await jobs.store.pages(job.id)
        assert [orjson.loads(line)["blocks"] for line in lines[:-1]] == [
            page["blocks"] for page in orjson.loads(render(replace(result, pages=tuple(stored)), Format.JSON))["pages"]
        ]


@asynccontextmanager
async def results_api(folder: Path, **admission: float) -> AsyncIterator[Served]:
    """A server of large results, with short buffers. At the end, clients leave, and nothing is counted any more."""
    branches = {"auth": KEYS, "jobs": {"folder": str(folder), "poll_s": 0.05}, "serving": {"admission": admission}}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        async with served(FigureEngine(image_bytes=400_000), listener=listener, branches=branches) as server:
            yield server
            for client in server.connections:
                await anyio.aclose_forcefully(client)
            await nothing_sent(server)


async def nothing_sent(server: Served) -> None:
    limiter = server.api.context.room.limiter
    with anyio.fail_after(30):
        while limiter.documents:  # noqa: ASYNC110 - it has no event
            await anyio.sleep(0.01)
    assert limiter.body_bytes == 0


async def unread(server: Served, path: str, headers: dict[str, str]) -> anyio.abc.SocketStream:
    """A client that has the beginning of a response, and reads no more."""
    client = await server.connect()
    client.extra_attributes[SocketAttribute.raw_socket]().setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    await client.send("\r\n".join([*lines, "", ""]).encode())
    assert (await client.receive(20)).startswith(b"HTTP/1.1 200 ")
    return client


async def stored(api: Api, pages: int = 12) -> str:
    job = await ended(api, await submit(api, tiff(pages), ALPHA, task="parse", include="images"), ALPHA)
    return str(job["id"])


async def test_what_a_result_holds_is_counted_until_it_is_taken(tmp_path: Path) -> None:
    async with results_api(tmp_path) as server:
        job, limiter = await stored(server.api), server.api.context.room.limiter
        for path in (f"/v1/result/{job}", f"/tasks/{job}/result", f"/v1/jobs/{job}/result?format=ndjson"):
            client = await unread(server, path, ALPHA)
            assert limiter.documents == 1
            assert 0 < limiter.body_bytes < 2_000_000, path  # of 6.4 MB: the images of a page, and the texts
            await client.aclose()
            await nothing_sent(server)


async def test_results_over_the_room_are_refused_and_say_so(tmp_path: Path) -> None:
    async with results_api(tmp_path, max_results=4) as server:
        job = await stored(server.api)
        for _ in range(4):
            await unread(server, f"/v1/result/{job}", ALPHA)
        full = await server.client.get(f"/v1/result/{job}", headers=ALPHA)
        assert code(full) == (503, "service_full")
        assert "4 results being sent" in full.json()["detail"]
        assert int(full.headers["retry-after"]) > 0
        file = (await server.client.post("/v1/files", files={"file": ("a.tiff", tiff(1))}, headers=BETA)).json()
        refused = await server.client.get(f"/v1/files/{file['id']}/content", headers=BETA)
        assert code(refused) == (503, "service_full")
        assert (await server.client.get(f"/v1/jobs/{job}", headers=ALPHA)).status_code == 200


async def test_a_tenant_leaves_room_for_the_results_of_others(tmp_path: Path) -> None:
    async with results_api(tmp_path, max_results=4, reserve=0.25) as server:
        job = await stored(server.api)
        file = (await server.client.post("/v1/files", files={"file": ("a.tiff", tiff(900))}, headers=BETA)).json()
        for _ in range(2):
            await unread(server, f"/v1/result/{job}", ALPHA)
        await unread(server, f"/v1/files/{file['id']}/content", BETA)
        refused = await server.client.get(f"/v1/result/{job}", headers=ALPHA)
        assert code(refused) == (429, "share_exceeded")
        assert "You have 2 results being sent, and 1 other tenants" in refused.json()["detail"]


async def test_another_tenant_does_not_wait_for_the_parts_of_one(tmp_path: Path) -> None:
    async with results_api(tmp_path) as server:
        await ended(server.api, job := await submit(server.api, tiff(1), BETA, task="parse"), BETA)
        parts = server.api.context.room.parts
        async with AsyncExitStack() as stack:
            for _ in range(parts.limit.value):  # as if parts of large results were rendered
                await stack.enter_async_context(parts.turn(Work(1, "key:of alpha")))
            found = await server.client.get(f"/v1/result/{job['id']}", headers=BETA)
            assert found.status_code == 200
            assert parts.waiting == 0


async def test_a_part_that_does_not_fit_is_refused_before_the_first_byte(tmp_path: Path) -> None:
    async with results_api(tmp_path, max_result_mb=0.01) as server:
        job = await stored(server.api)
        await unread(server, f"/v1/result/{job}", ALPHA)  # a single one is sent, whatever it needs
        refused = await server.client.get(f"/v1/jobs/{job}/result", headers=ALPHA)
        assert code(refused) == (503, "service_full")
        assert "results being sent have" in refused.json()["detail"]


async def test_a_picture_and_a_converted_document_are_counted_until_they_are_taken(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        file = (await api.client.post("/v1/files", files={"file": ("a.png", png(1600, 1600))})).json()
        document = (await api.client.post("/ocr", files={"file": ("a.png", png())})).content
        room, counted = api.context.room.limiter, list[tuple[int, int]]()
        picture = RawCall(api.app, {}, [b""], f"/v1/files/{file['id']}/pages/1", method="GET")
        converted = RawCall(api.app, {}, [document], "/ui/api/convert", "format=text")
        for call in (picture, converted):

            async def look(message: Message, call: RawCall = call) -> None:
                call.sent.append(message)
                counted.append((room.documents, room.body_bytes))

            call._send = look  # type: ignore[method-assign]
            counted.clear()
            await call.run()
            assert call.status == 200
            assert set(counted) == {(1, len(call.body))}
        assert (room.documents, room.body_bytes) == (0, 0)


async def test_a_file_is_sent_in_pieces(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    async with jobs_api(tmp_path) as api:
        file: dict[str, Any] = (await api.client.post("/v1/files", files={"file": ("a.bin", data)})).json()
        answer = await api.client.get(f"/v1/files/{file['id']}/content")
        assert answer.content == data
        assert answer.headers["content-length"] == str(len(data))
