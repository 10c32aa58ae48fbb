"""Two gateways with a fake engine, alone or behind the nginx of deploy/nginx, and what can be done to them."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from mistralai.client import Mistral

from support.api_client import png
from support.nginx import running_nginx
from support.server import STOP_S, clean_environment
from support.waiting import until

HOLD = "hold"
"""While this file exists in the tier's folder, pages from the third on are held back."""
NGINX = Path(__file__).parents[2] / "deploy" / "nginx"


def free_port() -> int:
    """A port below those that systems give to outgoing connections, none of which can take it before a server does."""
    while True:
        port = 20_000 + secrets.randbelow(10_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass
class TierGateway:
    """One gateway, which can be stopped and started again at its port."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.port}.log"

    def start(self) -> None:
        """Returns once it serves."""
        variables = clean_environment(
            INKGATE_SERVER__PORT=str(self.port), INKGATE_METRICS__ENABLED="false", INKGATE_LOG__FORMAT="json"
        )
        variables["PYTHONPATH"] = os.pathsep.join(sys.path)
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "support.tier_gateway", str(self.folder / HOLD)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=variables)
        until(self._serves, lambda: self.log.read_text()[-2000:])

    def _serves(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return httpx.get(f"{self.url}/readyz", trust_env=False, timeout=30).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        """Sends SIGTERM and waits until it has drained."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(STOP_S)


@dataclass(frozen=True, slots=True)
class GatewayTier:
    """`url`: of nginx, with a certificate that `certificate` verifies."""

    url: str
    certificate: Path
    folder: Path
    gateways: tuple[TierGateway, TierGateway]

    def restart_each(self) -> None:
        """Drains and restarts one after the other."""
        for gateway in self.gateways:
            gateway.stop()
            gateway.start()


def upload_and_read(url: str, http: Any, times: int) -> None:  # noqa: ANN401 - their protocol renames httpx's types
    """Uploads files, and reads each by its signed URL and by its ID, as Mistral's documentation shows. Each call raises
    an error if it fails.
    """
    client = Mistral(api_key="any", server_url=url, client=http)
    for number in range(times):
        content = png(width=60 + number)
        uploaded = client.files.upload(file={"file_name": f"{number}.png", "content": content}, purpose="ocr")
        signed = client.files.get_signed_url(file_id=uploaded.id)
        by_url = client.ocr.process(
            model="mistral-ocr-latest", document={"type": "document_url", "document_url": signed.url}
        )
        by_id = client.ocr.process(model="mistral-ocr-latest", document={"type": "file", "file_id": uploaded.id})
        assert by_url.pages[0].markdown == by_id.pages[0].markdown
        assert client.files.retrieve(file_id=uploaded.id).size_bytes == len(content)
        client.files.delete(file_id=uploaded.id)


def requests_of(gateways: tuple[TierGateway, TierGateway], path: str) -> list[int]:
    """How many requests to the path each gateway has logged."""
    return [gateway.log.read_text().count(f'"path": "{path}"') for gateway in gateways]


@contextmanager
def running_gateways(folder: Path) -> Iterator[tuple[TierGateway, TierGateway]]:
    """Both gateways, which share a database of jobs in the folder."""
    gateways = (TierGateway(folder), TierGateway(folder))
    with ExitStack() as stack:
        for gateway in gateways:
            stack.callback(gateway.stop)
            gateway.start()
        yield gateways


@contextmanager
def running_tier(folder: Path) -> Iterator[GatewayTier]:
    """Both gateways and nginx, as deploy/nginx has it but for ports and paths."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    upstream = (NGINX / "upstream.conf").read_text(encoding="utf-8")
    server = (NGINX / "inkgate.conf").read_text(encoding="utf-8")
    server = server.replace("/etc/nginx/inkgate-upstream.conf", str(folder / "upstream.conf"))
    server = server.replace("/etc/nginx/tls", str(folder / "tls"))
    with running_gateways(folder) as gateways:
        for port, gateway in zip((7860, 7861), gateways, strict=True):
            upstream = upstream.replace(f":{port} ", f":{gateway.port} ")
        (folder / "upstream.conf").write_text(upstream)
        with running_nginx(server, folder) as url:
            yield GatewayTier(url.replace("http://", "https://"), certificate, folder, gateways)
