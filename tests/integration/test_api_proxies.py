"""The API behind reverse proxies: whom requests are counted for, and the addresses that it gives out."""

import pytest

from support.api_client import Api, png, running_api

pytestmark = pytest.mark.anyio

PEER = "203.0.113.9"
"""Where the requests of `running_api` come from."""
FORWARDED = {
    "X-Forwarded-For": "198.51.100.1",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "ocr.example",
    "Host": "127.0.0.1:7860",
}


def clients(api: Api) -> set[object]:
    return {entry["client"] for entry in api.logs if entry["event"] == "request"}


async def signed_url(api: Api, prefix: str = "", headers: dict[str, str] | None = None) -> str:
    file = await api.client.post(f"{prefix}/v1/files", files={"file": ("a.png", png())}, headers=headers)
    answer = await api.client.get(f"{prefix}/v1/files/{file.json()['id']}/url", headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["url"])


async def test_a_trusted_proxy_says_whose_a_request_is_and_how_the_service_was_called() -> None:
    server: dict[str, object] = {"trusted_proxies": (PEER,), "allowed_hosts": ("ocr.example",)}
    async with running_api(server=server) as api:
        assert (await signed_url(api, headers=FORWARDED)).startswith("https://ocr.example/v1/files/")
        assert clients(api) == {"198.51.100.1"}


@pytest.mark.smoke
async def test_what_others_forward_is_ignored() -> None:
    async with running_api(server={"allowed_hosts": ("ocr.example",)}) as api:
        assert (await signed_url(api, headers=FORWARDED)).startswith("http://127.0.0.1:7860/v1/files/")
        assert clients(api) == {PEER}


async def test_a_forwarded_host_opens_no_way_around_the_names_that_are_allowed() -> None:
    async with running_api(server={"trusted_proxies": (PEER,)}) as api:
        for host, forwarded in (("localhost", "evil.example"), ("evil.example", "localhost")):
            answer = await api.client.get("/v1/models", headers={"Host": host, "X-Forwarded-Host": forwarded})
            assert (answer.status_code, answer.json()["code"]) == (403, "host_forbidden")


@pytest.mark.parametrize("root", ["/inkgate", "/ocr", "/deep/down"])
@pytest.mark.parametrize("kept", [True, False])
async def test_below_a_path_all_is_found_and_all_addresses_have_the_path(*, root: str, kept: bool) -> None:
    prefix = root if kept else ""  # whether the proxy leaves it on
    async with running_api(server={"root_path": f"{root}/"}) as api:
        for path in ("/livez", "/readyz", "/docs", "/redoc", "/openapi.json", "/v1/models", "/"):
            assert (await api.client.get(prefix + path)).status_code == 200, path
        assert (await api.client.post(f"{prefix}/ocr", files={"file": png()})).status_code == 200
        docs = (await api.client.get(f"{prefix}/docs")).text
        assert f"'{root}/openapi.json'" in docs
        script = next(part for part in docs.split('"') if part.endswith("swagger-ui-bundle.js"))
        assert script.startswith(f"{root}/docs/files/")
        assert (await api.client.get(prefix + script.removeprefix(root))).status_code == 200
        assert (await api.client.get(f"{prefix}/openapi.json")).json()["servers"] == [{"url": root}]
        url = await signed_url(api, prefix)
        assert url.startswith(f"http://inkgate.localhost{root}/v1/files/")
        body = {"document": {"type": "document_url", "document_url": url}, "model": "x"}
        read = await api.client.post(f"{prefix}/v1/ocr", json={**body, "model": api.engine.name})
        assert read.status_code == 200, read.text
        assert f"http://inkgate.localhost{root}/ocr" in (await api.client.get(f"{prefix}/")).text
        assert "message" in (await api.client.get(f"{prefix}/v1/models/none")).json()["error"]  # OpenAI's form
