"""A managed server that runs `support.fake_vllm`, and the state of its processes."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from inkgate.engines.vlm.presets import find_preset
from inkgate.model_servers.managed.command import server_command
from inkgate.model_servers.managed.supervisor import ManagedServer
from inkgate.settings import ManagedSettings, VllmSettings
from support import fake_vllm

WAIT_S = 60.0


@dataclass(frozen=True)
class FakeVllm:
    """An environment with a fake vLLM, in `folder`, and all its processes so far."""

    folder: Path

    @property
    def python(self) -> Path:
        """The program to start as vLLM's Python."""
        script = self.folder / "python"
        if not script.exists():
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{fake_vllm.__file__}" "$@"\n')
            script.chmod(0o755)
        return script

    def told(self, **orders: object) -> dict[str, str]:
        """The environment variables with its options."""
        return {"FAKE_VLLM": json.dumps({"folder": str(self.folder), **orders})}

    def starts(self) -> list[dict[str, Any]]:
        """Arguments and environment of each start, in order."""
        files = sorted(self.folder.glob("start-*.json"), key=lambda path: int(path.stem.partition("-")[2]))
        return [json.loads(path.read_text(encoding="utf-8")) for path in files]

    def sequences(self) -> list[int]:
        """--max-num-seqs of each start."""
        arguments = [start["arguments"] for start in self.starts()]
        return [int(each[each.index("--max-num-seqs") + 1]) for each in arguments]

    def pids(self, kind: str = "*") -> set[int]:
        """Process IDs of all `main` or `core` processes so far."""
        return {int(path.name.partition("-")[2]) for path in self.folder.glob(f"{kind}-*") if path.suffix != ".json"}

    def shared(self) -> list[Path]:
        """All shared memory files so far, by their paths."""
        return [Path("/dev/shm") / path.name.partition("-")[2] for path in self.folder.glob("shared-*")]  # noqa: S108 - not ours to choose

    def alive(self) -> set[int]:
        """Its processes that still run."""
        return {pid for pid in self.pids() if alive(pid)}


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return _stat(pid)[0] not in "ZX"
    except OSError:
        return False


def parent(pid: int) -> int:
    """Parent of a running process."""
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """State, parent, and so on, from /proc: see proc(5)."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


async def until(happened: Callable[[], bool], at_most_s: float = WAIT_S) -> None:
    """Returns once it has happened.

    Raises:
        TimeoutError: it did not happen.
    """
    with anyio.fail_after(at_most_s):
        while not happened():  # noqa: ASYNC110 - it happens in another process
            await anyio.sleep(0.01)


def new_server(
    fake: FakeVllm, oom_kills: int | None = 0, orders: dict[str, object] | None = None, **settings: object
) -> ManagedServer:
    """A managed PaddleOCR-VL, which nobody runs yet. `oom_kills`: by the kernel, in each run."""
    given: dict[str, object] = {
        "python": str(fake.python),
        "environment": fake.told(**(orders or {})),
        "stop_s": 5.0,
        "start_s": WAIT_S,
        "restart_pause_s": 0.01,
        **settings,
    }
    vllm = VllmSettings(managed=ManagedSettings.model_validate(given))
    counted = count(0, oom_kills or 0)
    return ManagedServer(
        server_command(find_preset("paddleocr-vl"), vllm),
        vllm.managed,
        oom_kills=lambda: None if oom_kills is None else next(counted),
    )


@asynccontextmanager
async def managed_server(
    fake: FakeVllm, oom_kills: int | None = 0, orders: dict[str, object] | None = None, **settings: object
) -> AsyncIterator[ManagedServer]:
    """As `new_server`, not started; stopped with the block."""
    server = new_server(fake, oom_kills, orders, **settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        try:
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await server.stop()
            tasks.cancel_scope.cancel()
