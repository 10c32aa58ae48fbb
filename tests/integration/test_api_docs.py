"""The page at /docs works on a machine that reaches nothing but this service."""

from __future__ import annotations

import hashlib
import re

import pytest

from support.api_client import running_api

pytestmark = pytest.mark.anyio

KEY_HASH = hashlib.sha256(b"secret").hexdigest()


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
async def test_every_file_of_the_page_comes_from_here_and_needs_no_key(page: str) -> None:
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        html = (await api.client.get(page)).text
        files = re.findall(r'(?:src|href)="([^"]+)"', html)
        assert any(file.endswith(".js") for file in files)
        assert not re.search(r"https?://", html)
        for file in files:
            assert (await api.client.get(file)).status_code == 200
        assert (await api.client.get("/docs/files/../../ocr")).status_code in {401, 404, 405}


async def test_what_the_page_describes_is_sent_without_a_key_but_documents_are_not_read() -> None:
    async with running_api(auth={"key_hashes": (KEY_HASH,)}) as api:
        assert "/ocr" in (await api.client.get("/openapi.json")).json()["paths"]
        assert (await api.client.post("/ocr", json={"image": ""})).status_code == 401
