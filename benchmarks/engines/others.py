"""OCR packages that can't share an environment with inkgate, each in a child process of its own environment."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from benchmarks.engines.closed import Read
from inkgate_bench.accuracy.manifest import Entry

_SCRIPT = Path(__file__).with_name("other_tool.py")
_MAX_ANSWER = 1 << 24


@dataclass
class OtherTool:
    """A package that reads one image at a time.

    Attributes:
        memory_mb: peak of the process's resident memory so far.
    """

    name: str
    process: Process
    answers: BufferedByteReceiveStream
    memory_mb: float = 0.0

    async def read(self, entry: Entry) -> Read:
        assert self.process.stdin is not None
        await self.process.stdin.send(f"{entry.file}\n".encode())
        answer = json.loads(await self.answers.receive_until(b"\n", _MAX_ANSWER))
        self.memory_mb = answer["memory_mb"]
        return Read(answer["text"])


@asynccontextmanager
async def running(name: str, python: Path) -> AsyncIterator[OtherTool]:
    """The package `name` of other_tool.py, with its models loaded. `python`: of the environment that has it."""
    async with await anyio.open_process([python, _SCRIPT, name], stderr=None) as process:
        assert process.stdout is not None
        answers = BufferedByteReceiveStream(process.stdout)
        await answers.receive_until(b"\n", _MAX_ANSWER)
        yield OtherTool(name, process, answers)
        process.terminate()
