"""The one text of an error that a protocol's clients print says what to do."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pikepdf
import pytest

from inkgate.errors import CODES
from support.api_client import running_api
from support.pdf_writer import paragraph, text_pdf

pytestmark = pytest.mark.anyio

AUTH: dict[str, object] = {"key_hashes": (hashlib.sha256(b"secret").hexdigest(),)}
AZURE = "/documentintelligence/documentModels/prebuilt-read:analyze?api-version=2024-11-30"


def encrypted(folder: Path) -> bytes:
    plain, locked = folder / "plain.pdf", folder / "locked.pdf"
    plain.write_bytes(text_pdf(paragraph()))
    with pikepdf.open(plain) as pdf:
        pdf.save(locked, encryption=pikepdf.Encryption(owner="owner", user="user"))
    return locked.read_bytes()


def upload(data: bytes) -> dict[str, Any]:
    return {"files": {"files": ("a.pdf", data)}}


def base64_file(data: bytes) -> dict[str, Any]:
    return {"json": {"file": base64.b64encode(data).decode()}}


def data_url(data: bytes) -> dict[str, Any]:
    url = f"data:application/pdf;base64,{base64.b64encode(data).decode()}"
    return {"json": {"model": "mistral-ocr-latest", "document": {"type": "document_url", "document_url": url}}}


def chat(_: bytes) -> dict[str, Any]:
    return {"json": {"model": "gpt-4o", "messages": [{"role": "user", "content": "Read it."}]}}


FORMS: Mapping[str, tuple[Callable[[bytes], dict[str, Any]], Callable[[httpx.Response], str]]] = {
    "/v1/convert/file": (upload, lambda answer: answer.json()["detail"]),
    "/file_parse": (upload, lambda answer: answer.json()["detail"]),
    "/layout-parsing": (base64_file, lambda answer: answer.json()["errorMsg"]),
    "/v1/ocr": (data_url, lambda answer: answer.text),
    "/v1/chat/completions": (chat, lambda answer: answer.json()["error"]["message"]),
    AZURE: (lambda data: {"content": data}, lambda answer: answer.json()["error"]["message"]),
}


async def test_what_clients_print_says_what_to_do(tmp_path: Path) -> None:
    key = {"Authorization": "Bearer secret"}
    faults = {
        "no key": (b"%PDF-", {}, "unauthenticated"),
        "wrong key": (b"%PDF-", {"Authorization": "Bearer wrong"}, "unauthenticated"),
        "text": (b"no image at all", key, "type_unsupported"),
        "empty": (b"", key, "document_empty"),
        "large": (b"%PDF-" + bytes(200_000), key, "body_too_large"),
        "encrypted": (encrypted(tmp_path), key, "pdf_encrypted"),
    }
    silent = []
    async with running_api(auth=AUTH, limits={"max_body_mb": 0.1}) as api:
        for path, (sent, printed) in FORMS.items():
            for name, (data, headers, code) in faults.items():
                if path == AZURE and code != "unauthenticated":
                    continue  # it reads later, as a job
                if path == "/v1/chat/completions" and code != "unauthenticated":
                    code = "chat_unavailable"  # noqa: PLW2901 - before the body is read
                if path == "/layout-parsing" and not data:
                    code = "file_missing"  # noqa: PLW2901 - as base64 it is an empty text
                answer = await api.client.post(path, headers=headers, **sent(data))
                if CODES[code].remedy not in printed(answer):
                    silent.append((path, name, answer.text[:300]))
    assert silent == []


async def test_a_caller_over_its_rate_learns_the_limit_and_when_it_ends() -> None:
    async with running_api(auth=AUTH, rate_limit={"per_key": "1/minute"}) as api:
        for _ in range(2):
            answer = await api.client.post("/v1/ocr", headers={"Authorization": "Bearer secret"}, **data_url(b""))
    detail, wait = answer.json()["detail"], answer.headers["Retry-After"]
    assert answer.status_code == 429
    assert detail == f"Requests of this API key are limited to 1 per 1 minute; the next is accepted in {wait} s."
