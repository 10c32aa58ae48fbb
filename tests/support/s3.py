"""An S3 server, moto's, which keeps objects in memory and can be frozen, killed and started again on the same port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType

import httpx
import pytest
from pydantic import SecretStr

from inkgate.settings import StorageSettings

_START_S = 60.0
_CREDENTIAL = "Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
_SIGNED = {"Authorization": f"AWS4-HMAC-SHA256 {_CREDENTIAL}"}
"""moto refuses requests without a signature, and checks none."""


class S3Server:
    """A server on its own port at loopback that accepts every key, until `deny_keys`."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count(1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """Of `storage.options`."""
        return {"endpoint": self.url, "access_key_id": "test", "secret_access_key": "not-a-secret"}

    def settings(self, timeout_s: float = 20.0, options: Mapping[str, str] = MappingProxyType({})) -> StorageSettings:
        """For Objects. `options` replace those of this server."""
        secret = {key: SecretStr(value) for key, value in {**self.options, **options}.items()}
        return StorageSettings(options={"s3://": secret}, timeout_s=timeout_s)

    def bucket(self, *, versioned: bool = False) -> str:
        """URL of a new, empty bucket, such as `s3://bucket-1`."""
        name = f"bucket-{next(self._names)}"
        httpx.put(f"{self.url}/{name}", trust_env=False).raise_for_status()
        if versioned:
            body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
            httpx.put(f"{self.url}/{name}?versioning", content=body, trust_env=False).raise_for_status()
        return f"s3://{name}"

    def put(self, url: str, data: bytes) -> httpx.Headers:
        """Puts an object as another program would; returns the headers of the response: ETag, x-amz-version-id."""
        response = httpx.put(f"{self.url}/{url.removeprefix('s3://')}", content=data, headers=_SIGNED, trust_env=False)
        return response.raise_for_status().headers

    @contextmanager
    def deny_keys(self) -> Iterator[None]:
        """Meanwhile no key is accepted."""
        self._moto("reset-auth", "0")
        try:
            yield
        finally:
            self._moto("reset-auth", "inf")

    def _moto(self, action: str, body: str) -> None:
        httpx.post(f"{self.url}/moto-api/{action}", content=body, trust_env=False).raise_for_status()

    def start(self) -> None:
        """Returns once it answers. It is empty."""
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        give_up = time.monotonic() + _START_S
        while True:
            try:
                httpx.get(f"{self.url}/moto-api/", timeout=5, trust_env=False).raise_for_status()
            except httpx.HTTPError:
                assert self._process.poll() is None, f"moto ended:\n{self._log.read_text(errors='replace')}"
                assert time.monotonic() < give_up, "moto does not answer"
                time.sleep(0.05)
            else:
                return

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def restore(self) -> None:
        """Makes it run, whatever was done to it."""
        if self._process is None:
            self.start()
        else:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends it at once, in any state. Its objects are lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_START_S)
            self._process = None


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A running server. Skips the test if moto is missing, unless INKGATE_REQUIRE_ALL is set."""
    if find_spec("moto") is None or find_spec("flask") is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("moto is not installed")
        pytest.skip("moto is not installed")
    server = S3Server(folder / "moto.log")
    server.start()
    try:
        yield server
    finally:
        server.kill()
