"""Mistral's document annotations, over HTTP, by the official client, and in batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from mistralai.client import Mistral
from mistralai.extra import response_format_from_pydantic_model
from pydantic import BaseModel

from support.api_client import Api, b64, png, running_api
from support.jobs_api import jobs_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio
SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}, "iban": {"type": ["string", "null"]}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "receipt", "schema": SCHEMA, "strict": True}}


class Receipt(BaseModel):
    """What a program wants."""

    total: float
    date: str


def body(**options: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    image = f"data:image/png;base64,{b64(png())}"
    return {"model": "mistral-ocr-latest", "document": {"type": "image_url", "image_url": image}, **options}


async def test_a_schema_s_fields_come_as_json_in_a_string() -> None:
    async with running_api(ReceiptEngine()) as api:
        answer = await api.client.post("/v1/ocr", json=body(document_annotation_format=FORMAT))
        assert answer.status_code == 200, answer.text
        assert json.loads(answer.json()["document_annotation"]) == {"total": 30.2, "iban": None}
        assert answer.json()["pages"][0]["index"] == 0
        data = {"model": "mistral-ocr-latest", "document_annotation_format": json.dumps(FORMAT)}
        form = await api.client.post("/v1/ocr", files={"file": ("r.png", png())}, data=data)
        assert form.json()["document_annotation"] == answer.json()["document_annotation"]
        text = body(document_annotation_format={"type": "text"})
        assert (await api.client.post("/v1/ocr", json=text)).json()["document_annotation"] is None
        stream = await api.client.post(
            "/v1/ocr", json=body(document_annotation_format=FORMAT), headers={"accept": "application/x-ndjson"}
        )
        assert stream.status_code == 406
        assert "iban" not in json.dumps(api.logs, default=str)


async def test_mistral_s_own_client_sends_a_pydantic_class() -> None:
    async with running_api(ReceiptEngine()) as api:
        answer = await _client(api).ocr.process_async(
            **body(document_annotation_format=response_format_from_pydantic_model(Receipt))
        )
        assert answer.document_annotation
        assert Receipt.model_validate_json(answer.document_annotation) == Receipt(total=30.2, date="2018-04-03")


def _client(api: Api) -> Mistral:
    http = httpx.AsyncClient(transport=httpx.ASGITransport(api.app))
    return Mistral(api_key="any", server_url="http://inkgate.localhost", async_client=http)  # type: ignore[arg-type]


async def test_lines_of_a_batch_are_annotated(tmp_path: Path) -> None:
    async with jobs_api(tmp_path, ReceiptEngine()) as api:
        lines = [
            {"custom_id": "a", "body": body(document_annotation_format=FORMAT)},
            {"custom_id": "b", "body": body()},
        ]
        answer = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/ocr", "requests": lines})
        assert answer.status_code == 200, answer.text
        path = f"/v1/batch/jobs/{answer.json()['id']}"
        while (batch := (await api.client.get(path)).json())["status"] in {"QUEUED", "RUNNING"}:
            for job in (await api.client.get("/v1/jobs")).json()["jobs"]:
                await api.client.get(f"/v1/jobs/{job['id']}", params={"wait": 5})
        output = await api.client.get(f"/v1/files/{batch['output_file']}/content")
        found = {each["custom_id"]: each["response"]["body"] for each in map(json.loads, output.text.splitlines())}
        assert json.loads(found["a"]["document_annotation"]) == {"total": 30.2, "iban": None}
        assert found["b"]["document_annotation"] is None
        bad = {"custom_id": "c", "body": body(document_annotation_format={"type": "json_schema"})}
        refused = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/ocr", "requests": [*lines, bad]})
        assert (refused.status_code, "Line 3" in refused.text) == (422, True)
        figures = {"custom_id": "c", "body": body(bbox_annotation_format=FORMAT)}
        refused = await api.client.post("/v1/batch/jobs", json={"endpoint": "/v1/ocr", "requests": [figures]})
        assert (refused.status_code, refused.json()["code"]) == (501, "feature_unavailable")
