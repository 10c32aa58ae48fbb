"""Health, the first page, and the description of the API."""

import re

import jsonschema_rs
import pytest

from inkgate.api.http.openapi import SAMPLE_PNG_BASE64
from inkgate.documents.pages import parse_pages
from inkgate.errors import EngineFailed, InputRejected
from support.api_client import b64, png, running_api
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


async def test_health_and_life() -> None:
    async with running_api() as api:
        health = await api.client.get("/health")
        assert (health.status_code, health.json()["status"], health.json()["engine"]) == (200, "healthy", "fake")
        for header in ({"Accept-Docling-Document-Version": "1.11.0"}, {"User-Agent": "docling-serve-sdk/1.14.0"}):
            assert (await api.client.get("/health", headers=header)).json()["status"] == "ok"
        assert (await api.client.get("/livez")).json() == {"status": "alive"}


async def test_readiness_asks_the_engine_and_remembers() -> None:
    async with running_api() as api:
        answers = [await api.client.get("/readyz") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[0].json() == {"status": "ready", "reasons": [], "warnings": []}
    assert len(api.engine.tasks) == 1


async def test_an_engine_that_fails_is_not_ready_and_the_reason_is_told() -> None:
    async with running_api(FakeEngine(failing={0: EngineFailed("engine_unavailable", "No model.")})) as api:
        answer = await api.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not_ready",
        "reasons": ["engine: fake failed on a test page: engine_unavailable"],
        "warnings": [],
    }


async def test_an_engine_that_breaks_is_not_ready() -> None:
    async with running_api(FakeEngine(failing={0: RuntimeError("secret")})) as api:
        answer = await api.client.get("/readyz")
    assert answer.status_code == 503
    assert "secret" not in answer.text


async def test_a_draining_service_is_not_ready() -> None:
    async with running_api() as api:
        api.context.drain.begin()
        answer = await api.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == ["draining: this instance is stopping"]


async def test_the_first_page_says_what_this_is_and_loads_nothing_from_elsewhere() -> None:
    async with running_api(server={"allowed_hosts": ["*"]}) as api:
        answer = await api.client.get("/", headers={"host": "<b>:80"})
    assert answer.status_code == 200
    assert "/docs" in answer.text
    assert "<b>" not in answer.text
    assert "src=" not in answer.text


@pytest.mark.smoke
async def test_the_description_of_the_api_is_valid_and_its_references_lead_somewhere() -> None:
    async with running_api() as api:
        document = (await api.client.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    names = document["components"]["schemas"].keys()

    def references(node: object) -> list[str]:
        if isinstance(node, list):
            return [found for item in node for found in references(item)]
        if isinstance(node, dict):
            own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
            return own + [found for item in node.values() for found in references(item)]
        return []

    found = references(document)
    assert found
    assert {reference.removeprefix("#/components/schemas/") for reference in found} <= names
    assert "HTTPValidationError" not in names
    for path in ("/ocr", "/v1/ocr", "/v1/files", "/layout-parsing", "/v1/chat/completions"):
        assert document["paths"][path]["post"]["requestBody"]["content"]
    assert "security" not in document


async def test_generated_clients_have_classes_for_what_they_send_and_get() -> None:
    async with running_api() as api:
        document = (await api.client.get("/openapi.json")).json()
    for path, request, response in (
        ("/ocr", "OcrRequest", "OcrResponse"),
        ("/extract", "ExtractDocumentRequest", "ExtractionResponse"),
        ("/v1/ocr", "MistralRequest", "MistralResponse"),
    ):
        post = document["paths"][path]["post"]
        for content, name in ((post["requestBody"], request), (post["responses"]["200"], response)):
            schema = content["content"]["application/json"]["schema"]
            assert schema.get("anyOf", [schema])[0] == {"$ref": f"#/components/schemas/{name}"}
            assert document["components"]["schemas"][name]["title"] == name

    offered = document["components"]["schemas"]["MistralRequest"]["properties"].keys()
    assert {"document_annotation_format", "bbox_annotation_format"} <= offered
    assert "document_annotation_prompt" not in offered  # it gets 501

    def null_fields(node: object) -> list[str]:
        if isinstance(node, list):
            return [found for item in node for found in null_fields(item)]
        if not isinstance(node, dict):
            return []
        fields = node.get("properties")
        own = fields.items() if isinstance(fields, dict) else ()
        found = [name for name, field in own if isinstance(field, dict) and field.get("type") == "null"]
        return found + [name for value in node.values() for name in null_fields(value)]

    assert null_fields(document) == []  # Go has no type for these


async def test_keys_are_part_of_the_description_once_they_are_needed() -> None:
    async with running_api(auth={"key_hashes": ["0" * 64]}) as api:
        document = (await api.client.get("/openapi.json")).json()
    assert document["security"] == [{"bearer": []}, {"header": []}]
    assert document["paths"]["/health"]["get"]["security"] == []
    assert "security" not in document["paths"]["/ocr"]["post"]


async def test_the_examples_of_the_description_work() -> None:
    async with running_api() as api:
        document = (await api.client.get("/openapi.json")).json()
        for path in ("/ocr", "/v1/ocr", "/layout-parsing"):
            examples = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
            for name, example in examples.items():
                answer = await api.client.post(path, json=example["value"])
                assert answer.status_code == (404 if (path, name) == ("/v1/ocr", "file") else 200), (path, name)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ocr", {"image": SAMPLE_PNG_BASE64}),
        ("/ocr", {"image": SAMPLE_PNG_BASE64, "task": "parse"}),
        ("/ocr", {"image": SAMPLE_PNG_BASE64, "format": "json"}),
        ("/ocr", {"file": SAMPLE_PNG_BASE64}),
        ("/layout-parsing", {"file": SAMPLE_PNG_BASE64}),
        ("/v1/ocr", {"document": {"image_url": f"data:;base64,{b64(png())}"}, "include_blocks": True}),
    ],
)
async def test_answers_are_as_described(path: str, body: dict[str, object]) -> None:
    async with running_api() as api:
        document = (await api.client.get("/openapi.json")).json()
        answer = await api.client.post(path, json=body)
    described = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**described, "components": document["components"]}, answer.json())


async def test_every_operation_has_an_id_and_every_type_that_is_named_is_answered() -> None:
    wrong = []
    async with running_api() as api:
        paths = (await api.client.get("/openapi.json")).json()["paths"]
        operations = [operation["operationId"] for path in paths.values() for operation in path.values()]
        assert len(operations) == len(set(operations))
        assert all(re.fullmatch("[a-z]+(_[a-z]+)*", name) and len(name) < 24 for name in operations), operations
        for path in ("/ocr", "/infer", "/v1/ocr", "/layout-parsing"):
            body = {"/v1/ocr": {"document": {"image_url": f"data:;base64,{SAMPLE_PNG_BASE64}"}}}.get(
                path, {"file": SAMPLE_PNG_BASE64}
            )
            for kind in paths[path]["post"]["responses"]["200"]["content"]:
                answer = await api.client.post(path, json=body, headers={"accept": kind})
                if (answer.status_code, answer.headers["content-type"].partition(";")[0]) != (200, kind):
                    wrong.append((path, kind, answer.status_code, answer.text[:200]))
    assert not wrong


@pytest.mark.parametrize(("path", "first"), [("/ocr", 1), ("/v1/ocr", 0)])
async def test_the_pattern_of_pages_allows_what_the_service_takes(path: str, first: int) -> None:
    async with running_api() as api:
        document = (await api.client.get("/openapi.json")).json()
    form = document["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    name = form.get("anyOf", [form])[0]["$ref"].rpartition("/")[2]
    pattern = re.compile(document["components"]["schemas"][name]["properties"]["pages"]["pattern"])
    for text in ("0,2-4", "1-3,7", "5-", " 2 - 3 , 1 ", "0007", "123456789", "1,,2", "x", "-3", "1-2-3", "1;2", "0"):
        try:
            parse_pages(text, first)
            taken = True
        except InputRejected:
            taken = False
        assert (pattern.search(text) is not None) == taken, text


async def test_head_is_answered_as_get_without_a_body() -> None:
    async with running_api() as api:
        for path in ("/livez", "/readyz", "/health", "/"):
            answer = await api.client.head(path)
            assert answer.status_code == (await api.client.get(path)).status_code, path
            assert "HEAD" not in str((await api.client.get("/openapi.json")).json()["paths"].get(path, ""))
        wrong = await api.client.post("/livez")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
