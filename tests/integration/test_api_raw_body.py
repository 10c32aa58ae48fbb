"""`POST /ocr` with the document itself as the body."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from PIL import Image

from support import images
from support.api_client import RawCall, png, running_api, tiff
from support.jobs_api import jobs_api

pytestmark = pytest.mark.anyio


@pytest.mark.smoke
@pytest.mark.parametrize(
    "kind",
    [
        "image/png",
        "application/octet-stream",
        "application/pdf; x=1",
        "IMAGE/JPEG",
        "binary/octet-stream",
        "application/x-www-form-urlencoded",
        "",
    ],
)
async def test_the_body_is_the_document_whatever_its_type_says(kind: str) -> None:
    name = 'attachment; filename="a/Übung 1.png"'.encode()
    headers = [(b"content-type", kind.encode()), (b"content-disposition", name)]
    async with running_api() as api:
        answer = await api.client.post("/ocr", content=png(), headers=headers)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["name"], body["mime_type"]) == ("Übung 1.png", "image/png")
    assert body["text"].startswith("Hello page 0")


async def test_options_are_in_the_query_and_the_accept_header() -> None:
    kind = {"content-type": "image/tiff"}
    async with running_api() as api:
        answer = await api.client.post("/ocr?pages=2-3&task=parse", content=tiff(4), headers=kind)
        assert [page["index"] for page in answer.json()["pages"]] == [1, 2]
        assert answer.json()["name"] == "document"
        answer = await api.client.post("/infer", content=png(), headers=kind | {"accept": "text/markdown"})
        assert answer.headers["content-type"].startswith("text/markdown")


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ("image/png", b"", (400, "document_empty")),
        ("application/zip", b"no document", (415, "type_unsupported")),
        ("text/plain", b"no document", (415, "media_type_unsupported")),
        ("application/problem+json", b"{}", (400, "file_missing")),
        ("", b"{}", (400, "file_missing")),
        ("", b"no document", (415, "type_unsupported")),
        ("application/x-www-form-urlencoded", b"PK\x03\x04" + bytes(200), (415, "type_unsupported")),
        ("application/x-www-form-urlencoded", b"image=1", (400, "file_missing")),
    ],
)
async def test_bodies_that_are_no_document_are_refused(kind: str, content: bytes, expected: tuple[int, str]) -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", content=content, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["code"]) == expected
        assert api.engine.tasks == []


async def test_a_file_that_curl_took_bytes_out_of_is_refused_with_the_right_option() -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    noise = Image.effect_noise((200, 200), 80)
    files = {name: images.encoded(noise, name) for name in ("PNG", "JPEG")}
    async with running_api() as api:
        for name, whole in files.items():
            taken = whole.translate(None, b"\0\r\n")  # what `curl -d @file` sends
            answer = await api.client.post("/ocr", content=taken, headers=kind)
            assert "curl -F file=@" in answer.json()["detail"], name
            assert (await api.client.post("/ocr", content=whole, headers=kind)).status_code == 200


async def test_fields_and_jobs_take_the_body_too(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        for kind in ("image/png", "application/x-www-form-urlencoded"):
            answer = await api.client.post("/extract?type=receipt", content=png(), headers={"content-type": kind})
            assert answer.json()["document_type"] == "receipt"
            answer = await api.client.post("/v1/jobs?name=a.png", content=png(), headers={"content-type": kind})
            assert (answer.status_code, answer.json()["name"]) == (202, "a.png")


async def test_other_requests_still_refuse_a_raw_body() -> None:
    async with running_api() as api:
        for path in ("/v1/ocr", "/layout-parsing"):
            answer = await api.client.post(path, content=png(), headers={"content-type": "image/png"})
            assert answer.status_code == 415, path


async def test_a_body_that_grows_too_large_is_refused() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b" " * 1000

    async with running_api(limits={"max_body_mb": 0.01}) as api:
        answer = await api.client.post("/ocr", content=endless(), headers={"content-type": "application/pdf"})
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        call = RawCall(api.app, {"content-type": "application/pdf", "content-length": "10001"}, [b"x"])
        await call.run()
        assert call.status == 413
        assert call.sent[0]["type"] == "http.response.start"
        assert api.limiter.ended == {"rejected": 2}


async def test_a_body_that_is_cut_off_is_not_read_as_a_document() -> None:
    async with running_api() as api:
        call = RawCall(api.app, {"content-type": "image/png"}, [png()], ends=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            call.left.set()
        assert call.status is None
        assert api.engine.tasks == []
        assert api.limiter.ended == {"left": 1}
