"""Files as Mistral's clients upload and read them."""

import hashlib

import pytest

from support.api_client import png, running_api

pytestmark = pytest.mark.anyio

KEYS = ("alpha", "beta")
AUTH: dict[str, object] = {"key_hashes": [hashlib.sha256(key.encode()).hexdigest() for key in KEYS]}


def of(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.smoke
async def test_a_file_is_uploaded_signed_read_and_deleted() -> None:
    async with running_api() as api:
        upload = await api.client.post("/v1/files", files={"file": ("a.png", png())}, data={"purpose": "ocr"})
        described = upload.json()
        file_id = described["id"]
        assert upload.status_code == 200
        assert (described["object"], described["bytes"], described["filename"]) == ("file", len(png()), "a.png")
        assert described["size_bytes"] == described["bytes"]
        assert (await api.client.get(f"/v1/files/{file_id}")).json() == described
        assert (await api.client.get("/v1/files")).json()["total"] == 1

        signed = (await api.client.get(f"/v1/files/{file_id}/url", params={"expiry": 1})).json()["url"]
        document = {"type": "document_url", "document_url": signed}
        read = await api.client.post("/v1/ocr", json={"document": document})
        assert read.json()["pages"][0]["markdown"].startswith("Head")

        by_id = await api.client.post("/v1/ocr", json={"document": {"type": "file", "file_id": file_id}})
        assert by_id.status_code == 200

        content = await api.client.get(f"/v1/files/{file_id}/content")
        assert content.content == png()
        assert content.headers["content-disposition"] == "attachment"

        assert (await api.client.delete(f"/v1/files/{file_id}")).json()["deleted"] is True
        gone = await api.client.get(f"/v1/files/{file_id}")
        assert (gone.status_code, gone.json()["code"]) == (404, "file_unknown")
        late = await api.client.post("/v1/ocr", json={"document": document})
        assert (late.status_code, late.json()["code"]) == (404, "file_unknown")


async def test_each_key_sees_its_own_files_alone() -> None:
    async with running_api(auth=AUTH) as api:
        upload = await api.client.post("/v1/files", files={"file": png()}, headers=of("alpha"))
        file_id = upload.json()["id"]
        signed = (await api.client.get(f"/v1/files/{file_id}/url", headers=of("alpha"))).json()["url"]
        document = {"document": {"type": "document_url", "document_url": signed}}
        answers = [
            await api.client.get(f"/v1/files/{file_id}", headers=of("beta")),
            await api.client.get(f"/v1/files/{file_id}/content", headers=of("beta")),
            await api.client.delete(f"/v1/files/{file_id}", headers=of("beta")),
            await api.client.post("/v1/ocr", json=document, headers=of("beta")),
        ]
        assert [answer.status_code for answer in answers] == [404, 404, 404, 404]
        assert (await api.client.get("/v1/files", headers=of("beta"))).json()["data"] == []
        assert (await api.client.post("/v1/ocr", json=document, headers=of("alpha"))).status_code == 200


async def test_a_signed_url_downloads_its_file_without_a_key_and_nothing_else() -> None:
    async with running_api(auth=AUTH) as api:
        upload = await api.client.post("/v1/files", files={"file": png()}, headers=of("alpha"))
        file_id = upload.json()["id"]
        signed = (await api.client.get(f"/v1/files/{file_id}/url", headers=of("alpha"))).json()["url"]
        download = await api.client.get(signed)
        assert (download.content, download.headers["cache-control"]) == (png(), "no-store")
        query = signed.partition("?")[2]
        others = [
            await api.client.get(f"/v1/files/{file_id}/content"),
            await api.client.get(f"/v1/files/{file_id}?{query}"),
            await api.client.get(f"/v1/files/{file_id}/url?{query}"),
            await api.client.get(f"/v1/models/v1/files/{file_id}/content?{query}"),
            await api.client.delete(f"/v1/files/{file_id}?{query}"),
            await api.client.get(signed[:-1] + ("0" if signed[-1] != "0" else "1")),
        ]
        assert [answer.status_code for answer in others] == [401] * len(others)
        await api.client.delete(f"/v1/files/{file_id}", headers=of("alpha"))
        assert (await api.client.get(signed)).json()["code"] == "file_unknown"


async def test_a_signature_that_was_changed_makes_it_any_other_url() -> None:
    async with running_api() as api:
        file_id = (await api.client.post("/v1/files", files={"file": png()})).json()["id"]
        signed = (await api.client.get(f"/v1/files/{file_id}/url")).json()["url"]
        forged = signed[:-1] + ("0" if signed[-1] != "0" else "1")
        document = {"type": "document_url", "document_url": forged}
        answer = await api.client.post("/v1/ocr", json={"document": document})
    assert (answer.status_code, answer.json()["code"]) == (403, "url_forbidden")


@pytest.mark.parametrize(
    ("files", "code"), [({"other": png()}, "file_missing"), ({"file": ("a.png", b"")}, "document_empty")]
)
async def test_uploads_without_a_file_are_refused(files: dict[str, bytes], code: str) -> None:
    async with running_api() as api:
        answer = await api.client.post("/v1/files", files=files)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_the_one_model_is_the_engine() -> None:
    async with running_api() as api:
        answer = await api.client.get("/v1/models")
    assert [model["id"] for model in answer.json()["data"]] == ["fake"]


async def test_files_are_listed_by_the_page_by_purpose_and_by_name() -> None:
    async with running_api() as api:
        names = ["a.png", "b.PNG", "c.pdf", "d.png", "e.png"]
        for name in names:
            purpose = {"purpose": "batch" if name == "d.png" else "ocr"}
            (await api.client.post("/v1/files", files={"file": (name, png())}, data=purpose)).raise_for_status()

        async def listed(**query: str | int) -> tuple[str, int, bool]:
            found = (await api.client.get("/v1/files", params=query)).raise_for_status().json()
            return "".join(file["filename"][0] for file in found["data"]), found["total"], found["has_more"]

        assert await listed() == ("edcba", 5, False)
        pages = [await listed(page=page, page_size=2) for page in range(4)]  # Mistral's client stops at an empty one
        assert pages == [("ed", 5, True), ("cb", 5, True), ("a", 5, False), ("", 5, False)]
        assert await listed(purpose="ocr", page_size=3) == ("ecb", 4, True)
        assert await listed(search=".png") == ("edba", 4, False)
        first = (await api.client.get("/v1/files", params={"limit": 2})).json()
        assert (await listed(limit=2, after=first["data"][-1]["id"])) == ("cb", 5, True)
        assert (await api.client.get("/v1/files", params={"after": "0"})).status_code == 404
        wrongs: tuple[dict[str, str | int], ...] = ({"page": -1}, {"page_size": 0}, {"limit": "x"})
        for wrong in wrongs:
            assert (await api.client.get("/v1/files", params=wrong)).status_code == 422
