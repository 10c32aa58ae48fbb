"""Readiness, watchdog and sockets of a service manager, as sd_notify(3) and sd_listen_fds(3) define them.

systemd passes these in the environment. Without it, nothing here does anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import structlog

log = structlog.get_logger(__name__)

_FIRST_FD = 3
_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_STOP_MARGIN_S = 30
"""Time after the drain in which worker processes and a managed vLLM stop."""


class UnusableSocket(ValueError):
    """The service manager passed a socket that the service can't serve HTTP on."""


@dataclass(frozen=True, slots=True)
class ServiceManager:
    """What started this process.

    Attributes:
        notify_socket: path of its datagram socket, `@...` in the abstract namespace; empty: it wants no messages.
        watchdog_s: it restarts the service after this many seconds without a sign of life; 0: it does not.
        listener: the socket that it listens on and keeps open over restarts; None: the service opens its own.
    """

    notify_socket: str = ""
    watchdog_s: float = 0.0
    listener: socket.socket | None = None

    def notify(self, *lines: str) -> None:
        """Sends `KEY=value` lines. A message that can't be sent is logged: the service works without."""
        if not self.notify_socket:
            return
        address = "\0" + self.notify_socket[1:] if self.notify_socket.startswith("@") else self.notify_socket
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)  # noqa: FBT003 - positional only
                sender.sendto("\n".join(lines).encode(), address)
        except OSError as error:
            log.warning("notify_failed", error=error.strerror)

    def ready(self, status: str) -> None:
        """Says that the service works. `status` is shown by `systemctl status`."""
        self.notify("READY=1", f"STATUS={status}")

    def stopping(self, max_wait_s: float) -> None:
        """Says that the service stops within `max_wait_s` and a margin, whatever TimeoutStopSec is."""
        extend_us = int((max_wait_s + _STOP_MARGIN_S) * 1e6)
        self.notify("STOPPING=1", f"EXTEND_TIMEOUT_USEC={extend_us}", "STATUS=Finishing requests in flight")

    async def run_watchdog(self) -> None:
        """Gives signs of life while the event loop runs, twice in each period. Returns at once if none are wanted."""
        while self.watchdog_s and self.notify_socket:
            self.notify("WATCHDOG=1")
            await anyio.sleep(self.watchdog_s / 2)


NO_MANAGER = ServiceManager()


def service_manager(variables: MutableMapping[str, str] = os.environ) -> ServiceManager:
    """What the environment says of the service manager. Removes its variables, so that child processes, such as vLLM,
    don't answer in the service's name.

    Raises:
        UnusableSocket: it passed several sockets, or one that is no listening TCP socket.
    """
    given = {name: variables.pop(name, "") for name in _VARIABLES}
    own = str(os.getpid())
    watched = given["WATCHDOG_PID"] in {"", own} and given["WATCHDOG_USEC"].isdecimal()
    watchdog_s = int(given["WATCHDOG_USEC"]) / 1e6 if watched else 0.0
    listener = None
    if given["LISTEN_PID"] == own and given["LISTEN_FDS"].isdecimal():
        listener = _listener(int(given["LISTEN_FDS"]))
    return ServiceManager(given["NOTIFY_SOCKET"], watchdog_s, listener)


def _listener(count: int, first: int = _FIRST_FD) -> socket.socket | None:
    if count == 0:
        return None
    if count > 1:
        raise UnusableSocket(f"{count} sockets were passed. Give the socket unit one ListenStream.")
    try:
        os.set_inheritable(first, False)  # noqa: FBT003 - positional only
        listener = socket.socket(fileno=first)
    except OSError as error:
        raise UnusableSocket("what was passed is no socket. Give the socket unit one ListenStream.") from error
    listening = False
    with suppress(OSError):
        listening = bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    if listener.family not in {socket.AF_INET, socket.AF_INET6} or not listening:
        raise UnusableSocket("the socket is no listening TCP socket. Give the socket unit ListenStream=[ADDRESS:]PORT.")
    listener.setblocking(False)  # noqa: FBT003 - positional only
    return listener
