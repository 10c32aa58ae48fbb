"""A real nginx in front of a server."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_MAIN = """
{user} daemon off; pid {folder}/pid; error_log stderr; worker_processes 1;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {server}
}}
"""


def require_nginx() -> str:
    """Its path. Skips the test without nginx, unless INKGATE_REQUIRE_ALL is set."""
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is not None:
        return found
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail("no nginx here: apt-get install nginx")
    pytest.skip("no nginx here: apt-get install nginx")


@contextmanager
def running_nginx(server: str, folder: Path) -> Iterator[str]:
    """Runs nginx with the block `server`, whose port 80 is replaced by a free one. Returns its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "nginx.conf"
    config.write_text(
        _MAIN.format(
            user="user root;" if os.geteuid() == 0 else "",
            folder=folder,
            server=re.sub(r"listen (80|443)\b", f"listen 127.0.0.1:{port}", server),
        )
    )
    process = subprocess.Popen([require_nginx(), "-e", "stderr", "-p", str(folder), "-c", str(config)])
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.05)
        else:
            return
