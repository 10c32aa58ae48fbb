"""Office files and conversions in worker processes: what they may use, and what ends them."""

from __future__ import annotations

import io
import os
import signal
import zipfile

import anyio
import anyio.to_thread
import docx
import orjson
import pytest

from inkgate.caller import Caller
from inkgate.documents.files.wire import decode_result, encode_result
from inkgate.documents.files.writers import Writers
from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import PdfSettings
from inkgate_client.codec import document_to_dict
from inkgate_client.format_names import FileFormat, Format
from support.api_client import RawCall, running_api, tiff
from support.processes import all_ended, children
from support.sample_results import DOCUMENT

pytestmark = pytest.mark.anyio

ONE_WORKER = PdfSettings(workers=1)
BODY = orjson.dumps(document_to_dict(DOCUMENT))
CALLER = Caller("a")


def body_of(pages: int) -> bytes:
    """A document of blank pages, each of which takes 20 bytes, and much more as an object."""
    document = document_to_dict(DOCUMENT) | {"pages": [{"index": index} for index in range(pages)]}
    return orjson.dumps(document)


async def test_what_office_files_show_of_a_result_arrives() -> None:
    (page, *_) = decode_result(encode_result(DOCUMENT)).pages
    assert (page.blocks, page.text, page.markdown) == (
        DOCUMENT.pages[0].blocks,
        DOCUMENT.pages[0].text,
        DOCUMENT.pages[0].markdown,
    )


async def test_one_process_writes_all_formats_and_loads_a_library_with_its_first_file() -> None:
    before = children()
    async with Writers(ONE_WORKER, None, None) as writers:
        word = await writers.office_file(DOCUMENT, FileFormat.DOCX, CALLER)
        excel = await writers.office_file(DOCUMENT, FileFormat.XLSX, CALLER)
        text = await writers.converted(BODY, Format.TEXT, CALLER, marks=False)
        (worker,) = children() - before
        # The libraries of a format are loaded with the first file of it.
        loaded = (await anyio.Path(f"/proc/{worker}/maps").read_bytes()).count(b"pikepdf")
    assert loaded == 0
    assert docx.Document(io.BytesIO(word)).core_properties.title == DOCUMENT.name
    assert "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(excel)).namelist()
    assert text
    assert all_ended({worker})


async def test_a_document_that_needs_too_much_memory_is_refused_and_the_next_is_written() -> None:
    async with Writers(PdfSettings(workers=1, worker_memory_mb=128), None, None) as writers:
        with pytest.raises(InputRejected) as refused:
            await writers.converted(body_of(300_000), Format.JSON, CALLER, marks=False)
        assert refused.value.code == "page_memory"
        assert await writers.converted(body_of(1), Format.JSON, CALLER, marks=False)


async def test_a_document_that_takes_too_long_is_refused() -> None:
    async with Writers(PdfSettings(workers=1, write_timeout_s=0.5), None, None) as writers:
        with pytest.raises(EngineFailed) as late:
            await writers.converted(body_of(1_000_000), Format.JSON, CALLER, marks=False)
        assert late.value.code == "page_timeout"


async def test_a_worker_does_not_go_on_for_a_caller_who_has_left_and_is_charged_until_it_ends() -> None:
    class Charge:
        running = 0

        def begin_work(self) -> None:
            self.running += 1

        def end_work(self) -> None:
            self.running -= 1

    charge = Charge()
    before = children()
    async with Writers(ONE_WORKER, None, None) as writers:
        await writers.converted(BODY, Format.TEXT, CALLER, marks=False)
        (worker,) = children() - before
        os.kill(worker, signal.SIGSTOP)  # as good as a document that takes all of `write_timeout_s`
        with anyio.move_on_after(0.2):
            await writers.converted(BODY, Format.TEXT, Caller("a", charge=charge), marks=False)
        assert charge.running == 1
        with anyio.fail_after(60):  # half of `write_timeout_s`
            assert await writers.converted(BODY, Format.TEXT, CALLER, marks=False)
        assert charge.running == 0
        assert all_ended({worker})


async def test_a_tenant_can_not_use_all_workers() -> None:
    done: list[str] = []
    before = children()
    async with Writers(ONE_WORKER, None, None) as writers:

        async def convert(tenant: str) -> None:
            await writers.converted(BODY, Format.TEXT, Caller(tenant), marks=False)
            done.append(tenant)

        await convert("a")
        (worker,) = children() - before
        os.kill(worker, signal.SIGSTOP)  # as good as a document that takes long
        try:
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(convert, "a")
                    await anyio.wait_all_tasks_blocked()
                with anyio.fail_after(60):  # half of `write_timeout_s`
                    await convert("b")
                assert done == ["a", "b"]
                os.kill(worker, signal.SIGCONT)
        finally:
            os.kill(worker, signal.SIGCONT)
    assert done == ["a", "b", "a", "a", "a"]


async def test_the_service_stays_as_it_is_while_a_hostile_document_is_converted() -> None:
    async with running_api(pdf={"worker_memory_mb": 128}) as api:
        answer = await api.client.post("/ui/api/convert?format=json", content=body_of(300_000))
        assert (answer.status_code, answer.json()["code"]) == (422, "page_memory")
        word = await api.client.post("/ocr?format=docx", files={"file": tiff(1)})
        assert word.status_code == 200
        empty = await api.client.post("/ui/api/convert?format=json", content=b"")
        assert (empty.status_code, empty.json()["code"]) == (422, "options_invalid")


async def test_a_conversion_ends_with_its_client() -> None:
    before = children()
    async with running_api(pdf={"workers": 1}) as api:
        assert (await api.client.post("/ui/api/convert?format=text", content=BODY)).status_code == 200
        (worker,) = children() - before
        os.kill(worker, signal.SIGSTOP)  # as good as a document that takes all of `write_timeout_s`
        call = RawCall(api.app, {}, [BODY], "/ui/api/convert", "format=text")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await anyio.wait_all_tasks_blocked()
            assert api.limiter.in_flight == 1
            call.left.set()
            assert await anyio.to_thread.run_sync(all_ended, {worker})  # within a sixth of `write_timeout_s`
        assert call.sent == []
        with anyio.fail_after(10):
            while api.limiter.in_flight:  # noqa: ASYNC110 - its place is free once the thread that killed the worker ends
                await anyio.sleep(0.01)
        assert api.limiter.ended == {"ok": 1, "left": 1}
