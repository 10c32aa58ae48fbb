"""Fields over HTTP: what is found, what is refused, and that values stay out of the logs."""

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from support.api_client import Api, b64, pdf, png, running_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number", "x-kind": "money"}, "cashier": {"type": ["string", "null"]}},
}


async def post(api: Api, path: str, file: bytes | None = None, **fields: Any) -> httpx.Response:  # noqa: ANN401
    data = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    files = {"file": ("receipt.png", png() if file is None else file)}
    return await api.client.post(path, files=files, data=data)


@pytest.mark.smoke
async def test_a_type_s_fields_come_with_their_places() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, "/extract", type="receipt")
    assert answer.status_code == 200
    body = answer.json()
    assert body["document_type"] == "receipt"
    assert body["data"]["total"] == "30.20"
    assert body["data"]["merchant_name"] == "LITTLE HARBOUR TRADING SDN BHD"
    total = body["fields"]["/total"]
    assert (total["status"], total["origin"], total["text"]) == ("found", "rules", "30.20")
    assert total["sources"][0]["label"] == "GRAND TOTAL"
    assert total["sources"][0]["page"] == 0
    assert len(total["sources"][0]["box"]) == 4
    assert {check["code"]: check["passed"] for check in body["checks"]} == {
        "subtotal_plus_tax": True,
        "sum_of_items": True,
        "item_amounts": True,
        "date_in_future": True,
        "required_missing": True,
    }
    assert body["status"] == "needs_review"  # 03/04/2018
    assert body["document"]["page_count"] == 1


async def test_a_schema_s_data_has_its_shape_and_json_may_carry_the_file() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        form = await post(api, "/extract", schema=SCHEMA)
        body = await api.client.post("/extract", json={"image": b64(png()), "schema": SCHEMA})
        file = await api.client.post(
            "/extract", files={"file": ("r.png", png()), "schema": ("s.json", json.dumps(SCHEMA).encode())}
        )
        names = await post(api, "/extract", fields="cashier,weather")
    assert form.json()["data"] == body.json()["data"] == file.json()["data"] == {"total": 30.2, "cashier": "AMY"}
    assert names.json()["data"] == {"cashier": "AMY", "weather": None}


async def test_values_of_others_are_looked_up() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        right = await post(api, "/verify", schema=SCHEMA, data={"total": 30.2, "cashier": "Amy"})
        wrong = await post(api, "/verify", schema=SCHEMA, data={"total": 30.3, "cashier": "Ann"})
    assert right.json()["data"] == {"total": 30.2, "cashier": "Amy"}
    assert wrong.json()["data"] == {"total": None, "cashier": None}
    assert {field["status"] for field in wrong.json()["fields"].values()} == {"ungrounded"}
    assert wrong.json()["status"] == "needs_review"


async def test_values_to_verify_need_not_be_all_of_a_document_s() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, "/verify", type="receipt", data={"total": "30.20"})
    assert answer.json()["fields"]["/merchant_name"]["status"] == "not_found"
    assert answer.json()["checks"] == []
    assert answer.json()["status"] == "complete"


@pytest.mark.parametrize(
    ("path", "fields", "status", "code"),
    [
        ("/verify", {"data": "{}"}, 422, "options_invalid"),
        ("/extract", {"fields": " , "}, 422, "options_invalid"),
        ("/extract", {"type": "receipt", "fields": "total"}, 422, "options_invalid"),
        ("/extract", {"type": "recipe"}, 422, "type_unknown"),
        ("/extract", {"schema": "{"}, 422, "schema_invalid"),
        ("/extract", {"schema": "[" * 30_000}, 422, "schema_invalid"),
        ("/extract", {"schema": {"properties": {"a": {"$ref": "file:///etc/passwd"}}}}, 422, "schema_invalid"),
        ("/extract", {"schema": {"properties": {str(i): {} for i in range(301)}}}, 413, "schema_too_large"),
        ("/extract", {"schema": {"properties": {"a": {"type": "number"}}}, "format": "text"}, 406, "not_acceptable"),
        ("/extract", {"type": "receipt", "format": "ndjson"}, 406, "not_acceptable"),
        ("/extract", {"type": "receipt", "coordinates": "sent"}, 422, "options_invalid"),
        ("/verify", {"type": "receipt", "data": '{"total": NaN}'}, 422, "options_invalid"),
        ("/verify", {"type": "receipt"}, 422, "options_invalid"),
        ("/verify", {"type": "receipt", "data": "7"}, 422, "options_invalid"),
    ],
)
async def test_what_can_not_be_asked_is_refused(path: str, fields: dict[str, Any], status: int, code: str) -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, path, **fields)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert (await post(api, "/extract", type="receipt")).status_code == 200


async def test_only_json_is_answered() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        body = {"image": b64(png()), "type": "receipt"}
        text = await api.client.post("/extract", json=body, headers={"Accept": "text/plain"})
        given = await api.client.post("/extract", json={**body, "format": "json"}, headers={"Accept": "text/plain"})
    assert (text.status_code, text.json()["code"]) == (406, "not_acceptable")
    assert given.json()["data"]["total"] == "30.20"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (30.2, 30.2),
        (30.3, None),
        (1e300, None),
        (10**17, None),
        (True, None),
        ("30.20", 30.2),
    ],
)
async def test_numbers_of_json_are_looked_up_as_values(value: object, found: float | None) -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, "/verify", schema=SCHEMA, data={"total": value, "cashier": None})
    assert answer.json()["data"] == {"total": found, "cashier": None}


async def test_values_to_verify_are_not_taken_from_the_url() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, '/verify?data={"total":30.2}', type="receipt")
    assert answer.json()["code"] == "options_invalid"


async def test_a_barcode_on_the_page_is_no_error() -> None:
    engine = ReceiptEngine()
    async with running_api(engine=engine) as api:
        answer = await post(api, "/verify", schema={"properties": {"n": {"type": "integer"}}}, data={"n": 10**30})
    assert (answer.status_code, answer.json()["data"]) == (200, {"n": None})


async def test_a_missing_or_broken_file_is_refused() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        missing = await api.client.post("/extract", json={"type": "receipt"})
        broken = await post(api, "/extract", b"no image", type="receipt")
    assert missing.json()["code"] == "file_missing"
    assert broken.json()["code"] == "type_unsupported"


async def test_fields_of_all_pages_are_one_answer() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, "/extract", pdf(3), type="receipt")
    assert answer.json()["document"]["page_count"] == 3
    assert {source["page"] for source in answer.json()["fields"]["/total"]["sources"]} == {0, 1, 2}


async def test_values_and_schemas_are_in_no_log() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        await post(api, "/extract", schema=SCHEMA)
        await post(api, "/verify", schema=SCHEMA, data={"total": 30.3, "cashier": "SecretName"})
        await post(api, "/extract", schema={"properties": {"secretfield": 3}})
        refused = await post(api, "/extract", schema={"properties": {"a": {"$ref": "#/$defs/secretfield"}}})
        logged = repr(api.logs)
    assert "secretfield" not in refused.text
    for secret in ("30.2", "AMY", "SecretName", "secretfield", "cashier"):
        assert secret not in logged


async def test_types_are_listed_and_shown() -> None:
    async with running_api() as api:
        listed = (await api.client.get("/document-types")).json()["types"]
        shown = await api.client.get("/document-types/receipt")
        unknown = await api.client.get("/document-types/recipe")
    fields = {each["name"]: each["fields"] for each in listed}
    assert fields.keys() >= {"cn_id_card", "id_card", "invoice", "passport", "receipt"}
    assert "/total" in fields["receipt"]
    assert shown.json()["properties"]["total"]["x-kind"] == "money"
    assert (unknown.status_code, unknown.json()["code"]) == (422, "type_unknown")


async def test_the_openapi_document_has_requests_and_answers_that_hold() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        document = (await api.client.get("/openapi.json")).json()
        paths = document["paths"]

        def validate(content: dict[str, Any], value: object) -> None:
            schema = content["application/json"]["schema"]
            jsonschema_rs.validate({**schema, "components": document["components"]}, value)

        for path in ("/extract", "/verify"):
            described = paths[path]["post"]
            content = described["requestBody"]["content"]
            (example,) = content["application/json"]["examples"].values()
            validate(content, example["value"])
            answer = await api.client.post(path, json=example["value"])
            assert answer.status_code == 200
            validate(described["responses"]["200"]["content"], answer.json())
            assert {"406", "413", "422"} <= described["responses"].keys()
        listed = (await api.client.get("/document-types")).json()
    validate(paths["/document-types"]["get"]["responses"]["200"]["content"], listed)


async def test_without_a_type_the_document_is_classified() -> None:
    async with running_api(engine=ReceiptEngine()) as api:
        answer = await post(api, "/extract")
    body = answer.json()
    assert (answer.status_code, body["document_type"]) == (200, "receipt")
    assert body["data"]["total"] == "30.20"


async def test_a_document_of_no_known_type_has_no_fields_and_needs_review() -> None:
    async with running_api() as api:
        answer = await post(api, "/extract")
    body = answer.json()
    assert (answer.status_code, body["document_type"], body["data"], body["status"]) == (200, None, {}, "needs_review")


async def test_types_of_ones_own_are_read_from_folders(tmp_path: Path) -> None:
    (tmp_path / "parcel.yaml").write_text(
        "name: parcel\ntype: object\nx-recognise: {anchor: 50}\nx-private: true\n"
        "properties: {cashier: {type: [string, 'null']}}\n"
    )
    engine = ReceiptEngine()
    async with running_api(engine=engine, fields={"types": [str(tmp_path)]}) as api:
        answer = await post(api, "/extract")
    assert (answer.json()["document_type"], answer.json()["data"]) == ("parcel", {"cashier": "AMY"})
    assert [caller.anew for caller in engine.callers] == [True]
