"""What clients of docling-serve's synchronous API send and get."""

from __future__ import annotations

import anyio
import pytest

from inkgate.errors import EngineFailed
from inkgate_client.types import TaskKind
from support.api_client import RawCall, b64, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


async def test_the_request_of_open_webui_is_answered_with_markdown() -> None:
    # As backend/open_webui/retrieval/loaders/main.py of Open WebUI sends it with requests: the path as the file name,
    # and parameters of which booleans are written as Python does.
    async with running_api() as api:
        answer = await api.client.post(
            "/v1/convert/file",
            files={"files": ("/app/backend/data/uploads/1_a.png", png(), "image/png")},
            data={"image_export_mode": "placeholder", "do_ocr": "True", "force_ocr": "False", "ocr_lang": ["en", "de"]},
            headers={"X-Api-Key": "any"},
        )
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found.keys() == {"document", "status", "errors", "processing_time", "timings"}
    assert found["document"]["md_content"].startswith("# Hello page 0")
    assert found["document"]["filename"] == "1_a.png"
    assert (found["status"], found["errors"]) == ("success", [])
    assert {task.kind for task in api.engine.tasks} == {TaskKind.PARSE}


async def test_open_webui_gets_a_page_for_each_page_break_also_of_failed_ones() -> None:
    # Open WebUI 0.12 asks for a form feed between pages, splits there, and numbers the parts.
    async with running_api(FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})) as api:
        answer = await api.client.post(
            "/v1/convert/file",
            files={"files": ("a.tiff", tiff(3), "image/tiff")},
            data={
                "image_export_mode": "placeholder",
                "md_page_break_placeholder": "\f",
                "to_formats": ["md", "json"],
            },
        )
        plain = await api.client.post("/v1/convert/file", files={"files": ("a.png", png(), "image/png")})
    first, second, third = (page.strip() for page in answer.json()["document"]["md_content"].split("\f"))
    assert (first.splitlines()[0], third.splitlines()[0]) == ("# Hello page 0", "# Hello page 2")
    assert second == "> **Page 2 could not be read:** No luck."
    assert "\f" not in plain.json()["document"]["md_content"]


async def test_a_source_is_read_with_its_options() -> None:
    source = {"kind": "file", "base64_string": b64(tiff(4)), "filename": "../a.tiff"}
    async with running_api() as api:
        body = {"sources": [source], "options": {"page_range": [2, 3], "to_formats": ["md"]}}
        answer = await api.client.post("/v1/convert/source", json=body)
    document = answer.json()["document"]
    assert document["filename"] == "a.tiff"
    assert document["md_content"].startswith("# Hello page 1")
    assert document["text_content"].count("\f") == 1


async def test_a_page_that_fails_makes_a_partial_success() -> None:
    engine = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with running_api(engine) as api:
        answer = await api.client.post("/v1/convert/file", files={"files": ("a.tiff", tiff(2))})
    found = answer.json()
    assert (answer.status_code, found["status"]) == (200, "partial_success")
    assert found["errors"][0]["error_message"] == "1 pages could not be read."
    assert "Hello page 0" in found["document"]["md_content"]


async def test_failures_are_problems_whose_detail_is_a_text() -> None:
    async with running_api(FakeEngine(failing={0: EngineFailed("engine_failed", "No luck.")})) as api:
        answer = await api.client.post("/v1/convert/file", files={"files": ("a.png", png())})
        assert answer.status_code == 502
        assert "No luck. Try again." in answer.json()["detail"]  # docling's client shows nothing else
        file = {"files": ("a.png", png())}
        refused = await api.client.post("/v1/convert/file", files=file, data={"to_formats": "doctags"})
        assert (refused.status_code, refused.json()["code"]) == (422, "options_invalid")
        refused = await api.client.post("/v1/convert/file", data={"to_formats": "md"})
        assert (refused.status_code, refused.json()["code"]) == (400, "file_missing")
        for sources, expected in (
            ([], (400, "file_missing")),
            ([{"kind": "http"}], (400, "file_missing")),
            ([{"kind": "http", "url": "https://example.com/a.pdf"}], (403, "url_forbidden")),
            ([{"base64_string": "!"}], (400, "base64_invalid")),
        ):
            refused = await api.client.post("/v1/convert/source", json={"sources": sources})
            assert (refused.status_code, refused.json()["code"]) == expected


async def test_a_client_that_leaves_cancels_the_reading() -> None:
    engine = FakeEngine(gate=anyio.Event())
    async with running_api(engine) as api:
        head = b'--B\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
        body = head + png() + b"\r\n--B--\r\n"
        call = RawCall(api.app, {"content-type": "multipart/form-data; boundary=B"}, [body], path="/v1/convert/file")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call.run)
            await engine.reading.wait()
            call.left.set()
        assert engine.cancelled == 1
        assert call.sent == []
        assert api.limiter.ended == {"left": 1}
