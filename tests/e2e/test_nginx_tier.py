"""Two gateways behind a real nginx with the configuration of deploy/nginx."""

from __future__ import annotations

import ssl
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from support.api_client import png, tiff
from support.gateway_tier import HOLD, GatewayTier, requests_of, running_tier, upload_and_read
from support.nginx import require_nginx
from support.waiting import until

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayTier]:
    require_nginx()
    with running_tier(tmp_path_factory.mktemp("tier")) as running:
        yield running


def client_of(tier: GatewayTier) -> httpx.Client:
    context = ssl.create_default_context(cafile=tier.certificate)
    return httpx.Client(base_url=tier.url, verify=context, trust_env=False, timeout=120)


def test_http2_and_tls_1_3_are_spoken_and_nothing_older(tier: GatewayTier) -> None:
    curl = ["curl", "-s", "-o", "/dev/null", "--cacert", str(tier.certificate), "-w", "%{http_version} %{http_code}"]
    assert subprocess.check_output([*curl, "--http2", f"{tier.url}/livez"], text=True) == "2 200"
    old = subprocess.run([*curl, "--tls-max", "1.2", f"{tier.url}/livez"], capture_output=True, check=False)
    assert old.returncode != 0


def test_pages_pass_one_by_one(tier: GatewayTier) -> None:
    hold = tier.folder / HOLD
    hold.touch()
    try:
        with (
            client_of(tier) as client,
            client.stream("POST", "/ocr?format=ndjson", files={"file": tiff(5)}) as answer,
        ):
            assert answer.status_code == 200
            lines = answer.iter_lines()
            first = [next(lines), next(lines)]  # while the third page is held back
            hold.unlink()
            assert len(first + list(lines)) == 6
    finally:
        hold.unlink(missing_ok=True)


def test_a_file_uploaded_by_mistrals_client_is_read_by_any_gateway(tier: GatewayTier) -> None:
    with client_of(tier) as client:
        upload_and_read(tier.url, client, times=20)
    assert min(requests_of(tier.gateways, "/v1/ocr")) > 0, "the requests went to one gateway only"


def test_a_forged_address_of_a_client_is_ignored(tier: GatewayTier) -> None:
    with client_of(tier) as client:
        forged = {"X-Forwarded-For": "198.51.100.1", "X-Forwarded-Proto": "http"}
        assert client.post("/ocr", files={"file": png()}, headers=forged).status_code == 200

    def logs() -> str:
        return "".join(gateway.log.read_text() for gateway in tier.gateways)

    until(lambda: '"client": "127.0.0.1"' in logs(), logs)  # a request is logged after its response has ended
    assert "198.51.100.1" not in logs()


def test_while_each_gateway_restarts_no_request_is_lost(tier: GatewayTier) -> None:
    over = Event()
    codes: Counter[str] = Counter()

    def read() -> Counter[str]:
        mine: Counter[str] = Counter()
        with client_of(tier) as client:
            while not over.is_set():
                answer = client.post("/ocr", files={"file": png()})
                mine[f"{answer.status_code} {'' if answer.is_success else answer.text}"] += 1
        return mine

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(read) for _ in range(4)]
        try:
            tier.restart_each()
        finally:
            over.set()
        for done in running:
            codes += done.result(120)
    assert set(codes) == {"200 "}, codes
