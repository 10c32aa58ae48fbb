"""PDFs that need a password, by every way in which one can be given."""

from __future__ import annotations

import base64
import unicodedata
from pathlib import Path

import anyio
import pytest

from inkgate.caller import NO_CALLER
from inkgate.documents.open import Opener
from inkgate.errors import InputRejected
from inkgate.library import AsyncOcr
from inkgate.service.page_cache import page_cache
from inkgate.service.reader import CheckedOptions
from inkgate.serving.cache import MemoryStore
from inkgate.settings import LimitSettings, PdfSettings
from inkgate_client.requests import ReadOptions, reading
from inkgate_client.types import Document, Line, PageResult, Task
from support.api_client import running_api
from support.page_readers import cache_of, page_reader
from support.pdf_writer import encrypted_pdf, locked_pdf, paragraph
from support.scripted_engine import ScriptedEngine
from support.server import inkgate

pytestmark = pytest.mark.anyio

SECRET = "open sésame"  # noqa: S105 - of a document that is made here
DECOMPOSED = unicodedata.normalize("NFD", SECRET)
"""As macOS sends it."""
GUESS = "open sesame"
LOCKED = locked_pdf(SECRET, paragraph())


async def test_a_form_and_json_take_a_password_and_an_address_does_not() -> None:
    image = base64.b64encode(LOCKED).decode()
    async with running_api() as api:

        async def code(**options: str) -> str:
            address = options.pop("address", "/ocr")
            form = await api.client.post(address, files={"file": ("a.pdf", LOCKED)}, data=options)
            simple = await api.client.post(address, json={"image": image, **options})
            assert form.json().get("code") == simple.json().get("code")
            return str(form.json().get("code", form.status_code))

        assert await code(password=SECRET) == "200"
        assert await code(password=DECOMPOSED) == "200"
        assert await code(password=GUESS) == "pdf_password_wrong"
        assert await code() == "pdf_encrypted"
        assert await code(password="x" * 501) == "options_invalid"
        assert await code(password=GUESS + "\0") == "options_invalid"
        assert await code(address=f"/ocr?password={SECRET}") == "options_invalid"
        by_client = reading(("a.pdf", LOCKED), ReadOptions(password=SECRET), "json", 60.0)
        assert (await api.client.send(by_client.build(api.client))).status_code == 200
        assert SECRET not in str(api.logs)


async def test_no_password_opens_what_needs_another_or_is_ignored_where_none_is_needed() -> None:
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opener:
        with pytest.raises(InputRejected, match="pdf_password_wrong"):
            async with opener.open(Document(encrypted_pdf()), password=GUESS):
                pass
        async with opener.open(Document(locked_pdf("", paragraph())), password=GUESS) as opened:
            assert (await opened.page(0)).text_layer is not None


async def test_a_page_that_was_kept_is_not_for_who_does_not_know_the_password() -> None:
    engine = ScriptedEngine()
    cached = page_reader(engine, cache=page_cache(MemoryStore(100_000), 60.0))
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opener, anyio.create_task_group() as tasks:
        tasks.start_soon(cache_of(cached).run)

        async def read(password: str) -> str:
            async with opener.open(Document(LOCKED), password=password) as opened:
                return (await cached.read(await opened.page(0), Task(), NO_CALLER)).text

        assert await read(SECRET) == "page 0"
        for wrong, code in ((GUESS, "pdf_password_wrong"), ("", "pdf_encrypted")):
            with pytest.raises(InputRejected, match=code):
                await read(wrong)
        assert await read(SECRET) == "page 0"
        tasks.cancel_scope.cancel()
    assert engine.begun == [0]


def test_the_command_line_takes_a_password(tmp_path: Path) -> None:
    path = tmp_path / "locked.pdf"
    path.write_bytes(LOCKED)
    told = inkgate("read", str(path), "--password", DECOMPOSED, "-f", "json")
    assert told.returncode == 0, told.stderr
    assert b"The harbour lay quiet in the early light" in told.stdout
    refused = inkgate("read", str(path))
    assert refused.returncode == 1
    assert b"--password" in refused.stderr
    assert SECRET.encode() not in told.stderr + refused.stderr


async def test_the_library_and_searchable_pdfs_take_a_password_in_either_form() -> None:
    async with AsyncOcr({}) as ocr:
        for secret in (SECRET, DECOMPOSED):
            read = await ocr.read(Document(LOCKED, "a.pdf"), password=secret, pdf_text="always")
            assert "The harbour lay quiet" in read.text
            assert (await ocr.file(Document(LOCKED, "a.pdf"), read, "pdf", password=secret)).startswith(b"%PDF")
    page = PageResult(0, 300, 400, 72.0, text="x", lines=(Line("x", ((9, 9), (19, 9), (19, 19), (9, 19)), 0.9),))
    async with Opener(LimitSettings(), PdfSettings(workers=1)) as opener:
        made = await opener.searchable_pdf(Document(LOCKED), [page], DECOMPOSED)
        async with opener.open(Document(made), password=DECOMPOSED) as opened:
            assert opened.page_count == 1


def test_a_password_is_not_shown_where_options_are() -> None:
    assert SECRET not in repr([CheckedOptions(password=SECRET), ReadOptions(password=SECRET)])
