"""What systemd passes to the service, and what the service tells it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from inkgate.systemd import ServiceManager, service_manager

PASSED = """
import os, sys
os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": sys.argv[2]}
from inkgate.systemd import service_manager
manager = service_manager()
print(manager.listener and manager.listener.getsockname()[1], os.get_inheritable(3), "LISTEN_FDS" in os.environ)
"""


def with_socket(passed: socket.socket, count: str = "1") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PASSED, str(passed.fileno()), count]
    return subprocess.run(
        command, pass_fds=(passed.fileno(),), capture_output=True, text=True, check=False, timeout=120
    )


def test_a_listening_socket_is_taken_and_not_passed_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert with_socket(listener).stdout == f"{port} False False\n"


def test_sockets_that_cannot_be_served_on_are_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as unbound:
        for passed, count in ((listener, "2"), (unbound, "1")):
            assert "ListenStream" in with_socket(passed, count).stderr


def test_a_socket_that_was_promised_and_not_passed_is_refused() -> None:
    promised = PASSED.replace("os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True)", "os.closerange(3, 9)")
    with socket.socket() as other:
        done = subprocess.run(
            [sys.executable, "-c", promised, str(other.fileno()), "1"],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert "UnusableSocket" in done.stderr


def test_without_a_manager_nothing_happens() -> None:
    manager = service_manager({})
    assert manager == ServiceManager()
    manager.ready("x")
    anyio.run(manager.run_watchdog)
    other_process = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "WATCHDOG_PID": "1", "WATCHDOG_USEC": "1000000"}
    assert service_manager(other_process) == ServiceManager()


def test_messages_reach_the_socket_and_the_variables_are_removed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(60)
        variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "3000000", "HOME": "/"}
        variables["WATCHDOG_PID"] = str(os.getpid())
        manager = service_manager(variables)
        assert variables == {"HOME": "/"}
        assert manager.watchdog_s == 3
        manager.ready("Serving")
        manager.stopping(30)
        assert receiver.recv(1000) == b"READY=1\nSTATUS=Serving"
        assert receiver.recv(1000).startswith(b"STOPPING=1\nEXTEND_TIMEOUT_USEC=60000000\n")


def test_an_abstract_socket_is_written_to_and_one_that_is_gone_is_no_error() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0inkgate-test-{os.getpid()}")
        receiver.settimeout(60)
        ServiceManager(f"@inkgate-test-{os.getpid()}").notify("STATUS=a")
        assert receiver.recv(1000) == b"STATUS=a"
    ServiceManager(f"@inkgate-test-{os.getpid()}").notify("STATUS=b")


@pytest.mark.anyio
async def test_the_watchdog_gets_signs_of_life(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.setblocking(False)
        manager = ServiceManager(str(tmp_path / "notify"), watchdog_s=0.02)
        got: list[bytes] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run_watchdog)
            with anyio.fail_after(60):
                while len(got) < 3:
                    await anyio.wait_readable(receiver)
                    got.append(receiver.recv(100))
            tasks.cancel_scope.cancel()
    assert set(got) == {b"WATCHDOG=1"}
