"""The systemd unit, as systemd's own tools judge it, and the service with the socket and messages of a manager."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from support.server import clean_environment
from support.waiting import until

UNITS = Path(__file__).parents[2] / "deploy" / "systemd"
MAX_EXPOSED = 2.0

pytestmark = pytest.mark.real

ACTIVATE = """
import os, sys
os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.executable, [sys.executable, "-m", "support.fake_server"])
"""


def analyze(*arguments: str) -> str:
    if (program := shutil.which("systemd-analyze")) is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("no systemd-analyze here: apt-get install systemd")
        pytest.skip("no systemd-analyze here: apt-get install systemd")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def test_units_are_valid(tmp_path: Path) -> None:
    unit = (UNITS / "inkgate.service").read_text().replace("/opt/inkgate/bin/inkgate", sys.executable)
    (tmp_path / "inkgate.service").write_text(unit)
    shutil.copy(UNITS / "inkgate.socket", tmp_path)
    assert analyze("verify", "--man=no", *(str(tmp_path / f"inkgate.{kind}") for kind in ("service", "socket"))) == ""


def test_the_service_is_confined(tmp_path: Path) -> None:
    unit = (UNITS / "inkgate.service").read_text()
    gpu = (UNITS / "inkgate.service.d" / "gpu.conf.example").read_text()
    (tmp_path / "inkgate.service").write_text(unit)
    (tmp_path / "gpu.service").write_text(unit + gpu)
    for name in ("inkgate", "gpu"):
        said = analyze("security", "--offline=true", str(tmp_path / f"{name}.service"))
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
        assert exposure is not None, said
        assert float(exposure.group(1)) <= MAX_EXPOSED, said


def test_a_connection_waits_through_a_restart(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0), backlog=64) as listener,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
    ):
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(120)
        port = listener.getsockname()[1]
        variables = clean_environment(
            NOTIFY_SOCKET=str(tmp_path / "notify"),
            INKGATE_METRICS__ENABLED="false",
            PYTHONPATH=os.pathsep.join(sys.path),
        )

        def start() -> subprocess.Popen[bytes]:
            command = [sys.executable, "-c", ACTIVATE, str(listener.fileno())]
            return subprocess.Popen(command, pass_fds=(listener.fileno(),), env=variables)

        def await_message(start_of: bytes) -> None:
            while not manager.recv(1000).startswith(start_of):
                pass

        first = start()
        second: subprocess.Popen[bytes] | None = None
        try:
            await_message(b"READY=1")
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=120) as client:
                assert client.get("/livez").status_code == 200
                first.terminate()
                await_message(b"STOPPING=1")
                until(lambda: first.poll() is not None, "the first process to end")
                with socket.create_connection(("127.0.0.1", port)) as waiting:  # nobody serves now
                    waiting.settimeout(120)
                    waiting.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    second = start()
                    assert waiting.recv(1000).startswith(b"HTTP/1.1 200")
                assert client.get("/livez").status_code == 200
        finally:
            for process in (first, second):
                if process is not None and process.poll() is None:
                    process.terminate()
                    process.wait(60)
