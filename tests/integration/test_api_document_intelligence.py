"""What clients of Azure AI Document Intelligence send and get.

The requests are those of azure-ai-documentintelligence 1.0.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import cv2
import httpx
import numpy as np
import pytest

from inkgate.caller import Caller
from inkgate.errors import EngineFailed
from inkgate.page import Page
from inkgate_client.block_image import BlockImage
from inkgate_client.types import Block, BlockType, PageResult, Task
from support.api_client import Api, b64, png, tiff
from support.fake_engine import FakeEngine
from support.jobs_api import BETA, KEYS, jobs_api

pytestmark = pytest.mark.anyio

READ = "/documentintelligence/documentModels/prebuilt-read:analyze?_overload=analyzeDocument&api-version=2024-11-30"
LAYOUT = READ.replace("prebuilt-read", "prebuilt-layout")


@dataclass
class FigureEngine(FakeEngine):
    """Pages with a figure."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        read = await super().read(page, task, caller)
        _, data = cv2.imencode(".jpg", np.zeros((30, 40, 3), np.uint8))
        image = BlockImage(f"page-{page.index + 1}-1.jpg", "image/jpeg", 40, 30, b64(data.tobytes()))
        return replace(
            read, blocks=(Block(BlockType.FIGURE, (10, 70, 50, 100), (), "", "", image=image if task.images else None),)
        )


async def ended(api: Api, place: str) -> dict[str, Any]:
    while True:
        found: dict[str, Any] = (await api.client.get(place)).json()
        if found["status"] not in {"notStarted", "running"}:
            return found
        await anyio.sleep(0.02)


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """The status, and inkgate's code."""
    return answer.status_code, answer.json()["error"]["innererror"]["code"]


@pytest.mark.smoke
async def test_paperless_gets_the_text_and_a_searchable_pdf(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        query = "&outputContentFormat=text&output=pdf"
        answer = await api.client.post(READ + query, json={"base64Source": b64(tiff(2))})
        assert answer.status_code == 202, answer.text
        place = answer.headers["operation-location"]
        assert answer.headers["retry-after"] == "1"
        found = await ended(api, place)
        assert found["status"] == "succeeded"
        result = found["analyzeResult"]
        assert (result["modelId"], result["contentFormat"]) == ("prebuilt-read", "text")
        assert len(result["paragraphs"]) >= 2
        assert result["warnings"] == []
        assert result.keys().isdisjoint({"tables", "figures", "sections"})
        assert [page["pageNumber"] for page in result["pages"]] == [1, 2]
        for page in result["pages"]:
            assert page["lines"]
            for part in (*page["lines"], *page["words"]):
                span = part.get("span") or part["spans"][0]
                assert result["content"][span["offset"] : span["offset"] + span["length"]] == part["content"]
                assert len(part["polygon"]) == 8
        pdf = await api.client.get(place.replace("?", "/pdf?"))
        assert (pdf.status_code, pdf.content[:5]) == (200, b"%PDF-")


async def test_open_webui_gets_markdown_of_bytes(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        head = {"Content-Type": "application/octet-stream"}
        url = LAYOUT + "&outputContentFormat=markdown&pages=2-3"
        answer = await api.client.post(url, content=tiff(3), headers=head)
        found = await ended(api, answer.headers["operation-location"])
    result = found["analyzeResult"]
    first, second = result["content"].split("<!-- PageBreak -->")
    assert first.startswith("# Hello page 1")
    assert "# Hello page 2" in second
    assert [page["pageNumber"] for page in result["pages"]] == [2, 3]
    assert result["stringIndexType"] == "textElements"
    for page in result["pages"]:
        assert len(page["words"]) >= 5
        for word in page["words"]:
            start = word["span"]["offset"]
            assert result["content"][start : start + word["span"]["length"]] == word["content"]
    assert [each["content"] for each in result["paragraphs"] if each.get("role")] == [
        *("Hello page 1", "Foot", "Hello page 2", "Foot")
    ]


async def test_a_figure_is_sent_as_png(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, FigureEngine()) as api:
        head = {"Content-Type": "application/octet-stream"}
        for query, status in (("&output=pdf,figures", 200), ("&output=figures&output=pdf", 200), ("", 404)):
            answer = await api.client.post(LAYOUT + query, content=png(), headers=head)
            place = answer.headers["operation-location"]
            figures = (await ended(api, place))["analyzeResult"]["figures"]
            image = await api.client.get(place.replace("?", f"/figures/{figures[0]['id']}?"))
            assert image.status_code == status
            if status == 200:
                assert image.content.startswith(b"\x89PNG")
            missing = await api.client.get(place.replace("?", "/figures/1.9?"))
            assert error_of(missing) == (404, "route_unknown")
        jobs = api.context.service.jobs
        assert jobs is not None
        await jobs.store.expire(jobs.store.clock() + 10)
        assert error_of(await api.client.get(place.replace("?", "/figures/1.1?"))) == (410, "job_expired")


async def test_what_can_not_be_analyzed_is_refused(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        url = "https://example.com/a.pdf"
        for path, body, expected in (
            (READ, {}, (400, "file_missing")),
            (READ, {"base64Source": "!"}, (400, "base64_invalid")),
            (READ, {"base64Source": b64(b"x")}, (415, "type_unsupported")),
            (READ, {"urlSource": url}, (403, "source_forbidden")),
            (READ + "&pages=0", {"base64Source": b64(png())}, (422, "pages_invalid")),
            (READ.replace("read", "invoice"), {"base64Source": b64(png())}, (404, "route_unknown")),
            (READ.replace("documentintelligence", "formrecognizer"), {}, (400, "file_missing")),
        ):
            refused = await api.client.post(path, json=body)
            assert error_of(refused) == expected, path
        missing = await api.client.get("/documentintelligence/documentModels/prebuilt-read/analyzeResults/none")
        assert error_of(missing) == (404, "job_unknown")
        error = missing.json()["error"]
        assert error["code"] == "NotFound"
        assert "no such job" in error["message"]
        assert error["innererror"]["remedy"]


async def test_a_result_is_that_of_the_model_that_made_it(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        answer = await api.client.post(READ + "&pages=1&pages=3", json={"base64Source": b64(tiff(3))})
        place = answer.headers["operation-location"]
        found = await ended(api, place)
        assert [page["pageNumber"] for page in found["analyzeResult"]["pages"]] == [1, 3]
        for model, expected in (("layout", "job_unknown"), ("invoice", "route_unknown")):
            other = place.replace("prebuilt-read", f"prebuilt-{model}")
            assert error_of(await api.client.get(other)) == (404, expected)
            assert error_of(await api.client.delete(other)) == (404, expected)


async def test_a_document_that_fails_says_why(tmp_path: Path) -> None:
    engine = FakeEngine(failing={0: EngineFailed("engine_failed", "The page is too hard.")})
    async with jobs_api(tmp_path, engine) as api:
        answer = await api.client.post(READ, json={"base64Source": b64(png())})
        found = await ended(api, answer.headers["operation-location"])
    assert found["status"] == "failed"
    assert found["error"]["code"] == "InternalServerError"
    assert found["error"]["innererror"]["code"] == "engine_failed"


async def test_paths_of_form_recognizer(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        path = "/formrecognizer/documentModels/prebuilt-layout:analyze?stringIndexType=unicodeCodePoint"
        head = {"Content-Type": "application/octet-stream"}
        answer = await api.client.post(f"{path}&api-version=2023-07-31", content=png(), headers=head)
        place = answer.headers["operation-location"]
        assert "/formrecognizer/documentModels/prebuilt-layout/analyzeResults/" in place
        assert place.endswith("?api-version=2023-07-31")
        found = await ended(api, place)
        assert found["analyzeResult"]["apiVersion"] == "2023-07-31"
        assert (await api.client.delete(place)).status_code == 204
        assert error_of(await api.client.get(place)) == (404, "job_unknown")


@pytest.mark.parametrize("service", ["documentintelligence", "formrecognizer"])
async def test_models_are_listed(tmp_path: Path, service: str) -> None:
    async with jobs_api(tmp_path) as api:
        info = (await api.client.get(f"/{service}/info")).json()
        assert info == {"customDocumentModels": {"count": 0, "limit": 0}}
        listed = (await api.client.get(f"/{service}/documentModels")).json()["value"]
        assert [model["modelId"] for model in listed] == ["prebuilt-read", "prebuilt-layout"]
        for model in listed:
            assert (await api.client.get(f"/{service}/documentModels/{model['modelId']}")).json() == model
        assert error_of(await api.client.get(f"/{service}/documentModels/mine")) == (404, "route_unknown")


@pytest.mark.parametrize("service", ["documentintelligence", "formrecognizer"])
async def test_azures_clients_in_a_browser_send_their_headers_and_see_where_to_poll(
    tmp_path: Path, service: str
) -> None:
    page = "https://app.example"
    headers = "accept, content-type, ocp-apim-subscription-key, x-ms-client-request-id, x-ms-useragent"
    path = READ.replace("documentintelligence", service)
    async with jobs_api(tmp_path, server={"cors_origins": [page]}) as api:
        preflight = {"origin": page, "access-control-request-method": "POST", "access-control-request-headers": headers}
        allowed = await api.client.options(path, headers=preflight)
        assert allowed.status_code == 200
        assert set(headers.split(", ")) <= set(allowed.headers["access-control-allow-headers"].lower().split(", "))
        answer = await api.client.post(path, json={"base64Source": b64(png())}, headers={"origin": page})
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        for name in ("Operation-Location", "Retry-After", "apim-request-id"):
            assert name in exposed
            assert answer.headers[name]


async def test_azures_header_has_the_key(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, auth=KEYS) as api:
        refused = await api.client.post(READ, json={"base64Source": b64(png())})
        assert error_of(refused) == (401, "unauthenticated")
        key = {"Ocp-Apim-Subscription-Key": "alpha"}
        answer = await api.client.post(READ, json={"base64Source": b64(png())}, headers=key)
        assert answer.status_code == 202
        others = await api.client.get(answer.headers["operation-location"], headers=BETA)
        assert error_of(others) == (404, "job_unknown")
