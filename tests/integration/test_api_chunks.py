"""Chunks over HTTP: in inkgate's own form, and in docling-serve's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.api_client import Api, b64, png, running_api, tiff
from support.jobs_api import code, ended, jobs_api

pytestmark = pytest.mark.anyio


def lines_of(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in body.splitlines()]


async def result_of(api: Api, task: str) -> dict[str, Any]:
    while (await api.client.get(f"/v1/status/poll/{task}", params={"wait": 5})).json()["task_status"] in {
        "pending",
        "started",
    }:
        pass
    found: dict[str, Any] = (await api.client.get(f"/v1/result/{task}")).json()
    return found


async def test_a_document_comes_in_chunks_one_a_line() -> None:
    async with running_api() as api:
        answer = await api.client.post("/ocr", files={"file": ("a.tiff", tiff(2))}, data={"format": "chunks"})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/x-ndjson"
        first, second = lines_of(answer.content)
        assert (first["name"], first["index"], first["headings"]) == ("a.tiff", 0, ["Hello page 0"])
        assert first["text"].startswith("# Hello page 0")
        assert [first["pages"], second["pages"]] == [[1], [2]]
        assert first["boxes"][0]["page"] == 1
        assert first["boxes"][0]["type"] == "title"
        for wrong in (
            {"chunk_tokens": "1"},
            {"chunk_tokens": "99", "chunk_characters": "999"},
            {"chunk_overlap": "-1"},
        ):
            refused = await api.client.post(
                "/ocr", files={"file": ("a.png", png())}, data={"format": "chunks", **wrong}
            )
            assert code(refused) == (422, "options_invalid"), wrong


async def test_the_result_of_a_job_comes_in_the_same_chunks(tmp_path: Path) -> None:
    async with jobs_api(tmp_path) as api:
        data = {"format": "chunks", "chunk_characters": "100", "chunk_headings": "true"}
        whole = await api.client.post("/ocr", files={"file": ("a.tiff", tiff(5))}, data=data)
        job = (await api.client.post("/v1/jobs", files={"file": ("a.tiff", tiff(5))}, data={"task": "parse"})).json()
        await ended(api, job)
        found = await api.client.get(f"/v1/jobs/{job['id']}/result", params=data)
        assert found.status_code == 200, found.text
        assert found.content == whole.content
        assert len(lines_of(found.content)) == 5


async def test_doclings_chunks_are_ours_in_its_form(tmp_path: Path) -> None:
    source = {"kind": "file", "base64_string": b64(tiff(2)), "filename": "a.tiff"}
    async with jobs_api(tmp_path) as api:
        for chunker in ("hybrid", "hierarchical"):
            body = {"sources": [source], "include_converted_doc": True, "chunking_options": {"include_raw_text": True}}
            answer = await api.client.post(f"/v1/chunk/{chunker}/source", json=body)
            assert answer.status_code == 200, answer.text
            found = answer.json()
            first = found["chunks"][0]
            assert (first["filename"], first["headings"], first["page_numbers"]) == ("a.tiff", ["Hello page 0"], [1])
            assert (first["num_tokens"] is None) is (chunker == "hierarchical")
            assert first["raw_text"] == first["text"]
            (document,) = found["documents"]
            texts = {text["self_ref"]: text["text"] for text in document["content"]["json_content"]["texts"]}
            assert texts[first["doc_items"][0]] == "Hello page 0"
            assert document["status"] == "success"
            task = await api.client.post(
                f"/v1/chunk/{chunker}/file/async",
                files={"files": ("a.tiff", tiff(2))},
                data={
                    "include_converted_doc": "true",
                    "chunking_include_raw_text": "true",
                    "convert_page_range": ["1", "2"],
                },
            )
            assert task.status_code == 200, task.text
            assert task.json()["task_type"] == "chunk"
            later = await result_of(api, task.json()["task_id"])
            assert later["chunks"] == found["chunks"]
            assert later["documents"][0]["content"] == document["content"]
        refused = await api.client.post("/v1/chunk/other/source", json={"sources": [source]})
        assert refused.status_code == 422
