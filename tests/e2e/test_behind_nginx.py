"""The service behind a real nginx, configured as docs/guides/behind-nginx.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from support.browser import give, running_page, visit
from support.nginx import require_nginx, running_nginx
from support.server import Server
from support.waiting import until

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "examples" / "report.png"
OWN_HOST, BELOW_A_PATH = re.findall(
    r"```nginx\n(.*?)```", (ROOT / "docs" / "guides" / "behind-nginx.md").read_text(encoding="utf-8"), re.DOTALL
)
PATH = "/inkgate"

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def behind(browser: Browser) -> Iterator[Server]:
    """A server that knows its path; nginx calls it without the path in the URL."""
    require_nginx()
    with running_page(INKGATE_SERVER__ROOT_PATH=PATH) as started:
        yield started


def pointed_at(config: str, server: Server) -> str:
    return config.replace("http://127.0.0.1:7860", server.url)


def read_on_the_page(browser: Browser, server: Server) -> None:
    with visit(browser, server) as page:
        give(page, SAMPLE)
        expect(page.locator("#files .file.done")).to_have_count(1)


def test_below_a_path_page_docs_and_signed_urls_work(behind: Server, browser: Browser, tmp_path: Path) -> None:
    with running_nginx(pointed_at(BELOW_A_PATH, behind), tmp_path) as url:
        public = replace(behind, url=url + PATH)
        read_on_the_page(browser, public)
        with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as client:
            assert client.get(public.url).status_code == 200
            page = browser.new_page()
            page.goto(f"{public.url}/docs")
            expect(page.locator(".opblock-tag").first).to_be_visible()
            page.close()
            file = client.post(f"{public.url}/v1/files", files={"file": ("a.png", SAMPLE.read_bytes())}).json()
            signed = client.get(f"{public.url}/v1/files/{file['id']}/url").json()["url"]
            assert signed.startswith(f"{public.url}/v1/files/")
            assert client.get(signed).content == SAMPLE.read_bytes()
            body = {"model": "ppocr", "document": {"type": "document_url", "document_url": signed}}
            assert "Gaza" in client.post(f"{public.url}/v1/ocr", json=body).text


def test_on_a_host_of_its_own_the_page_reads(page_server: Server, browser: Browser, tmp_path: Path) -> None:
    with running_nginx(pointed_at(OWN_HOST, page_server), tmp_path) as url:
        read_on_the_page(browser, replace(page_server, url=url))
        spoofed = {"X-Forwarded-For": "198.51.100.1"}
        assert httpx.get(f"{url}/v1/models", headers=spoofed, trust_env=False).status_code == 200

    def logged() -> bool:
        asked = [line for line in page_server.log_text().splitlines() if '"path": "/v1/models"' in line]
        return any('"client": "198.51.100.1"' in line for line in asked)

    # nginx and the visitor are on this machine, which is trusted; so the address before them counts.
    # A request is logged after its response has ended.
    until(logged, page_server.log_text)
