"""Images of figures in the form of Mistral's OCR, and what a model says of them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from mistralai.client import Mistral
from mistralai.extra import response_format_from_pydantic_model
from pydantic import BaseModel

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.page import Page
from inkgate_client.types import PageResult, Task, TaskKind
from support.api_client import Api, b64, png, running_api, tiff
from support.pictured_page import PicturedEngine, opened

pytestmark = pytest.mark.anyio


class Figure(BaseModel):
    """What a program asks about each figure."""

    image_type: str
    short_description: str
    people: int | None


FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {"name": "figure", "schema": Figure.model_json_schema(), "strict": True},
}
ANSWERS = {"Image Type": "photograph", "Short Description": "Hills by night.", "People": "2"}


def body(data: bytes | None = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    image = f"data:image/png;base64,{b64(png() if data is None else data)}"
    return {"model": "mistral-ocr-latest", "document": {"type": "image_url", "image_url": image}, **options}


async def test_images_are_sent_if_asked_for_and_the_markdown_links_to_them() -> None:
    async with running_api(PicturedEngine()) as api:
        answer = await api.client.post("/v1/ocr", json=body(include_image_base64=True, include_blocks=True))
        (page,) = answer.json()["pages"]
        (image,) = page["images"]
        assert opened(image["image_base64"]).size == (40, 30)
        assert image["id"] == "img-0.png"
        assert page["markdown"].count("![img-0.png](img-0.png)") == 1
        assert "images/" not in page["markdown"]
        assert [block["content"] for block in page["blocks"] if block["type"] == "image"] == [""]
        plain = (await api.client.post("/v1/ocr", json=body())).json()["pages"][0]
        assert plain["images"][0]["image_base64"] is None
        assert plain["markdown"] == page["markdown"].replace("png", "jpeg")
        limits: list[dict[str, Any]] = [{"image_limit": 0}, {"image_min_size": 31}]
        for limit in limits:
            less = (await api.client.post("/v1/ocr", json=body(include_image_base64=True, **limit))).json()["pages"][0]
            assert (less["images"], "![" in less["markdown"]) == ([], False)
            assert "Gr\u00fc\u00dfe" in less["markdown"]


async def test_each_figure_is_described_in_the_form_of_the_schema() -> None:
    engine = PicturedEngine(answers=ANSWERS)
    async with running_api(engine) as api:
        answer = await api.client.post("/v1/ocr", json=body(tiff(3), bbox_annotation_format=FORMAT))
        assert answer.status_code == 200, answer.text
        images = [image for page in answer.json()["pages"] for image in page["images"]]
        described = {"image_type": "photograph", "short_description": "Hills by night.", "people": 2}
        assert [json.loads(image["image_annotation"]) for image in images] == [described] * 3
        assert [image["image_base64"] for image in images] == [None] * 3
        assert answer.json()["document_annotation"] is None
        asked = [task for task in engine.tasks if task.kind is TaskKind.EXTRACT]
        assert [task.fields for task in asked] == [tuple(ANSWERS)] * 3
        told = json.dumps(api.logs, default=str)
        assert "Hills" not in told
        assert "Short Description" not in told
        form = {"bbox_annotation_format": json.dumps(FORMAT), "image_limit": "0"}
        none = await api.client.post("/v1/ocr", files={"file": ("a.png", png())}, data=form)
        assert (none.status_code, none.json()["pages"][0]["images"]) == (200, [])
        text = {"type": "text"}
        plain = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=text))
        assert plain.json()["pages"][0]["images"][0]["image_annotation"] is None


async def test_figures_of_private_papers_are_read_as_privately_as_the_page() -> None:
    class Watched(PicturedEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            anew.append(caller.anew)
            return await super().read(page, task, caller)

    schema = FORMAT["json_schema"]["schema"]
    for private in (False, True):
        anew: list[bool] = []
        wanted = {**FORMAT, "json_schema": {"name": "figure", "schema": {**schema, "x-private": private}}}
        async with running_api(Watched(answers=ANSWERS)) as api:
            await api.client.post("/v1/ocr", json=body(bbox_annotation_format=wanted))
        assert anew == [private, private]


async def test_both_annotations_come_in_one_answer() -> None:
    schema = {"type": "object", "properties": {"total": {"type": ["number", "null"]}}}
    document = {"type": "json_schema", "json_schema": {"name": "d", "schema": schema}}
    async with running_api(PicturedEngine(answers=ANSWERS)) as api:
        asked = body(bbox_annotation_format=FORMAT, document_annotation_format=document, include_image_base64=True)
        answer = (await api.client.post("/v1/ocr", json=asked)).json()
    assert json.loads(answer["document_annotation"]) == {"total": None}
    (image,) = answer["pages"][0]["images"]
    assert json.loads(image["image_annotation"])["people"] == 2
    assert image["image_base64"].startswith("data:image/png;base64,")


async def test_mistral_s_own_client_gets_images_and_what_is_said_of_them() -> None:
    async with running_api(PicturedEngine(answers=ANSWERS)) as api:
        answer = await _client(api).ocr.process_async(
            **body(include_image_base64=True, bbox_annotation_format=response_format_from_pydantic_model(Figure))
        )
    (image,) = answer.pages[0].images
    assert isinstance(image.image_base64, str)
    assert opened(image.image_base64).size == (40, 30)
    assert isinstance(image.image_annotation, str)
    assert Figure.model_validate_json(image.image_annotation).people == 2


def _client(api: Api) -> Mistral:
    http = httpx.AsyncClient(transport=httpx.ASGITransport(api.app))
    return Mistral(api_key="any", server_url="http://inkgate.localhost", async_client=http)  # type: ignore[arg-type]


async def test_an_engine_that_can_t_be_asked_says_what_to_set() -> None:
    async with running_api(PicturedEngine()) as api:
        answer = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=FORMAT))
        assert (answer.status_code, answer.json()["code"]) == (501, "feature_unavailable")
        assert "Set `engine.name`" in answer.json()["detail"]
    engine = PicturedEngine(name="ppocr")
    async with running_api(engine) as api:
        answer = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=FORMAT))
        assert (answer.status_code, answer.json()["code"]) == (501, "feature_unavailable")
        assert TaskKind.PARSE not in {task.kind for task in engine.tasks}  # told before anything is read


async def test_a_figure_that_can_t_be_read_costs_the_document_nothing_else_but_an_engine_that_fails_is_told() -> None:
    class Failing(PicturedEngine):
        error: InkgateError

        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            if task.kind is TaskKind.EXTRACT:
                raise self.error
            return await super().read(page, task, caller)

    cases: list[tuple[InkgateError, int]] = [
        (InputRejected("image_too_narrow", "The image is 900 times as wide as high."), 200),
        (EngineFailed("engine_failed", "The model failed."), 502),
    ]
    for error, status in cases:
        engine = Failing(answers=ANSWERS)
        engine.error = error
        async with running_api(engine) as api:
            answer = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=FORMAT))
        assert answer.status_code == status, answer.text
        if status == 200:
            (image,) = answer.json()["pages"][0]["images"]
            assert image["image_annotation"] is None


async def test_schemas_of_figures_are_checked_before_anything_is_read() -> None:
    arrays = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
    hostile: list[tuple[dict[str, Any], str]] = [
        ({"type": "json_schema", "json_schema": {"schema": arrays}}, "feature_unavailable"),
        ({"type": "json_schema"}, "options_invalid"),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}, "schema_invalid"),
        (
            {"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {"$ref": "file:///x"}}}}},
            "schema_invalid",
        ),
    ]
    engine = PicturedEngine(answers=ANSWERS)
    async with running_api(engine) as api:
        for wanted, code in hostile:
            answer = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=wanted))
            assert (answer.status_code, answer.json()["code"]) == (422 if "invalid" in code else 501, code)
        markdown = {"accept": "text/markdown"}
        other = await api.client.post("/v1/ocr", json=body(bbox_annotation_format=FORMAT), headers=markdown)
        assert other.status_code == 406
    assert TaskKind.PARSE not in {task.kind for task in engine.tasks}
