"""Requests of other programs, in the shapes that were recorded when they ran against inkgate.

docs/guides/recipes.md says which versions.
"""

from __future__ import annotations

import pytest

from support.api_client import Api, b64, png, running_api, tiff

pytestmark = pytest.mark.anyio

BOUNDARY = "--------------------------d0c5d8579094ba38ac9ccc95"
"""As n8n's: it begins with the dashes that also begin a delimiter."""
N8N_ACCEPT = "application/json,text/html,application/xhtml+xml,application/xml,text/*;q=0.9, image/*;q=0.8, */*;q=0.7"


def n8n_form(file: bytes, name: str, **fields: str) -> bytes:
    """A form in which the file comes first, and its name is plain UTF-8."""
    parts = [
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'.encode()
        + file
    ]
    parts += [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{text}'.encode() for key, text in fields.items()]
    return b"".join(f"--{BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


async def sent_by_n8n(api: Api, path: str, body: bytes, accept: str = N8N_ACCEPT) -> tuple[int, str, str]:
    headers = {"Accept": accept, "Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "User-Agent": "n8n"}
    answer = await api.client.post(path, content=body, headers=headers)
    return answer.status_code, answer.headers["content-type"], answer.text


async def test_n8n_gets_markdown_or_json_as_its_node_says() -> None:
    body = n8n_form(png(), "Grüße 1.png")
    async with running_api() as api:
        status, kind, text = await sent_by_n8n(api, "/ocr?task=parse", body, "text/markdown")
        assert (status, kind) == (200, "text/markdown; charset=utf-8")
        assert text.startswith("# Hello page 0")
        status, kind, text = await sent_by_n8n(api, "/ocr", body)
        assert (status, kind) == (200, "application/json")
        assert '"Grüße 1.png"' in text
        status, kind, text = await sent_by_n8n(api, "/extract", n8n_form(png(), "a.png", type="receipt"))
        assert (status, kind) == (200, "application/json"), text


async def test_difys_node_gets_text() -> None:
    async with running_api() as api:
        answer = await api.client.post(
            "/ocr",
            params={"task": "parse"},
            files={"file": ("scan.tiff", tiff(2), "application/octet-stream")},
            headers={"Accept": "text/markdown"},
        )
    assert answer.headers["content-type"].startswith("text/")  # else Dify stores it as a file, and `body` is empty
    assert answer.text.count("# Hello") == 2


@pytest.mark.parametrize(("kind", "image_limit"), [("document_url", None), ("image_url", 0)])
async def test_open_webui_and_librechat_read_by_the_four_requests_of_mistral(
    kind: str, image_limit: int | None
) -> None:
    head = {"Authorization": "Bearer any"}
    async with running_api() as api:
        uploaded = await api.client.post(
            "/v1/files", files={"file": ("a.tiff", tiff(2), "application/pdf")}, data={"purpose": "ocr"}, headers=head
        )
        file_id = uploaded.json()["id"]
        expiry = {"expiry": 1}
        address = (await api.client.get(f"/v1/files/{file_id}/url", params=expiry, headers=head)).json()["url"]
        asked = {
            "model": "mistral-ocr-latest",
            "include_image_base64": False,
            "document": {"type": kind, kind: address},
            **({} if image_limit is None else {"image_limit": image_limit}),
        }
        pages = (await api.client.post("/v1/ocr", json=asked, headers=head)).json()["pages"]
        removed = await api.client.delete(f"/v1/files/{file_id}", headers=head)
    assert [page["index"] for page in pages] == [0, 1]
    assert all(f"# Hello page {page['index']}" in page["markdown"] for page in pages)
    assert removed.json()["deleted"] is True


async def test_open_webui_gets_a_text_a_page_from_paddleocr_vls_form() -> None:
    body = {
        "file": b64(tiff(2)),
        "fileType": 1,
        "useDocOrientationClassify": False,
        "useDocUnwarping": False,
        "useChartRecognition": False,
    }
    async with running_api() as api:
        answer = await api.client.post("/layout-parsing", json=body, headers={"Authorization": "token any"})
    pages = answer.json()["result"]["layoutParsingResults"]
    assert [page["markdown"]["text"][:14] for page in pages] == ["# Hello page 0", "# Hello page 1"]
