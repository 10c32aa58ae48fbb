"""A gateway that is put through faults: when they are over it has to be as it was before."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

import httpx

from support.load import TENANTS, Asked, open_loop, under_load
from support.server import Server, running_server

AT_ONCE = 24
"""Documents in the service at once. A place that is never given back shows when so many are asked for at once."""
MORE_MB = 60.0
MORE_FILES = 3
TO_REDIS = 16
"""Connections to a Redis: as many as were needed at once are kept, up to so many."""
BORNE = AT_ONCE // 2
"""Documents at once that it bears with ease, however slow the machine is: what is refused then, is for the fault."""
WITHIN_S = 60.0
SETTINGS = MappingProxyType(
    {
        "INKGATE_LIMITS__MAX_IN_FLIGHT": str(AT_ONCE),
        "INKGATE_SERVING__ADMISSION__REMEMBER_S": "0.1",
        "INKGATE_SERVING__ADMISSION__BODY_PATIENCE_S": "1",
        "INKGATE_ENGINE__NAME": "paddleocr-vl",
        "INKGATE_ENGINE__VLLM__READING": "page",
        "INKGATE_ENGINE__VLLM__JPEG_QUALITY": "0",
        "INKGATE_ENGINE__VLLM__RECOVER_S": "2",
    }
)


@dataclass(frozen=True)
class Footprint:
    """What a process holds: open files, sockets among them, and resident memory."""

    files: int
    memory_mb: float

    @classmethod
    def of(cls, server: Server) -> Footprint:
        process = Path(f"/proc/{server.process.pid}")
        status = (process / "status").read_text()
        return cls(len(list((process / "fd").iterdir())), int(status.split("VmRSS:")[1].split()[0]) / 1024)


def until(happened: Callable[[], bool], within_s: float = WITHIN_S, what: Callable[[], object] = lambda: "it") -> None:
    """Returns when it has happened; `what` is told where it doesn't."""
    give_up = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < give_up, f"not in time: {what()}"
        time.sleep(0.2)


_numbers = count(20_000)
"""Of pages that the gateway can't have kept."""


def new_pages(pages: int) -> list[Asked]:
    """Asked for at once, by all tenants in turn."""
    return [Asked("page", next(_numbers), tenant=TENANTS[each % len(TENANTS)]) for each in range(pages)]


def reads(server: Server, pages: int = 1) -> bool:
    """Whether it reads so many pages for all who come now, at once."""
    return under_load(server.url, new_pages(pages)) == {"right": pages}


def logged(server: Server, event: str) -> list[dict[str, object]]:
    """The lines of its log that tell of this."""
    lines = [json.loads(line) for line in server.log_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("event") == event]


@contextmanager
def faulted(vllm_url: str, log_folder: Path | str | None = None, **environment: str) -> Iterator[Server]:
    """A gateway, warm. In the block it meets its fault; then it has to read again by itself, bear as many requests at
    once as before, hold no more than before, and have nothing in flight when it is stopped.
    """
    more_files = MORE_FILES + TO_REDIS * sum(value.startswith("redis:") for value in environment.values())
    variables = {**SETTINGS, **environment}
    folder = None if log_folder is None else Path(log_folder)
    with running_server("--vllm-url", vllm_url, environment=variables, log_folder=folder) as server:
        under_load(server.url, open_loop(40, 1.5, seed=1))
        assert reads(server, AT_ONCE)
        before = Footprint.of(server)
        yield server
        until(lambda: reads(server))
        until(lambda: reads(server, AT_ONCE))
        until(
            lambda: Footprint.of(server).files <= before.files + more_files,
            what=lambda: f"{before}, {Footprint.of(server)}",
        )
        assert Footprint.of(server).memory_mb < before.memory_mb + MORE_MB, (before, Footprint.of(server))
        assert httpx.get(f"{server.url}/readyz", trust_env=False, timeout=30).status_code == 200
        assert server.stop() == 0
        (draining,) = logged(server, "draining")
        assert draining["in_flight"] == 0
