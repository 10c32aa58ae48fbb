"""A managed server whose vLLM is `support.fake_vllm`, and what becomes of its processes."""

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

from inkgate.engines.vllm.managed.command import server_command
from inkgate.engines.vllm.managed.supervisor import ManagedServer
from inkgate.engines.vllm.presets import find_preset
from inkgate.settings import ManagedSettings, VllmSettings
from support import fake_vllm

WAIT_S = 60.0


@dataclass(frozen=True)
class FakeVllm:
    """An environment with a fake vLLM, in `folder`, and every process of it that was ever started."""

    folder: Path

    @property
    def python(self) -> Path:
        """What is to be started as vLLM's Python."""
        script = self.folder / "python"
        if not script.exists():
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{fake_vllm.__file__}" "$@"\n')
            script.chmod(0o755)
        return script

    def told(self, **orders: object) -> dict[str, str]:
        """The environment that tells it what to do."""
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
        """Of every `main` or `core` process there ever was."""
        return {int(path.name.partition("-")[2]) for path in self.folder.glob(f"{kind}-*") if path.suffix != ".json"}

    def shared(self) -> list[Path]:
        """Each piece of shared memory there ever was, where the system has it."""
        return [Path("/dev/shm") / path.name.partition("-")[2] for path in self.folder.glob("shared-*")]  # noqa: S108 - not ours to choose

    def alive(self) -> set[int]:
        """Those that still run."""
        return {pid for pid in self.pids() if alive(pid)}


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected doesn't."""
    try:
        return _stat(pid)[0] not in "ZX"
    except OSError:
        return False


def parent(pid: int) -> int:
    """Of a process that runs."""
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """State, parent, and so on, as proc(5) has them."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


async def until(happened: Callable[[], bool], at_most_s: float = WAIT_S) -> None:
    """Returns when it has happened.

    Raises:
        TimeoutError: it doesn't.
    """
    with anyio.fail_after(at_most_s):
        while not happened():  # noqa: ASYNC110 - it happens in another process
            await anyio.sleep(0.01)


@asynccontextmanager
async def managed(
    fake: FakeVllm, oom_kills: int | None = 0, orders: dict[str, object] | None = None, **settings: object
) -> AsyncIterator[ManagedServer]:
    """A managed PaddleOCR-VL, not started; all is ended with the block. `oom_kills`: by the kernel, each life."""
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
    server = ManagedServer(
        server_command(find_preset("paddleocr-vl"), vllm),
        vllm.managed,
        oom_kills=lambda: None if oom_kills is None else next(counted),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        try:
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await server.stop()
            tasks.cancel_scope.cancel()
