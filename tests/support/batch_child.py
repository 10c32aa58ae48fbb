"""`inkgate batch`, whose documents are read by a stand-in: each page is the file's text. As a program: the child.

A file that says `poison` ends the process, `broken` fails, `once` ends the process the first time, and `noisy` prints.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel

from inkgate.cli import batch_child, batch_command
from inkgate.errors import EngineFailed
from inkgate_client.files import Source
from inkgate_client.reading import MemoryReader, Progress
from inkgate_client.requests import PARSE, ReadOptions
from inkgate_client.types import Document, DocumentResult, PageResult


class TextReader(MemoryReader):
    """Reads files as text. `seen`: a folder that remembers over processes which files were opened."""

    def __init__(self, seen: Path) -> None:
        super().__init__({})
        self._seen = seen

    async def read(
        self, source: Source, options: ReadOptions = PARSE, progress: Progress | None = None
    ) -> DocumentResult:
        assert isinstance(source, Document)
        document = source
        text = document.data.decode()
        mark = self._seen / document.name.replace("/", "_")
        first = not mark.exists()
        if text.startswith(("poison", "once")):
            mark.touch()
            await anyio.sleep(0.05)  # others are open then, too
            if first or text.startswith("poison"):
                os.kill(os.getpid(), signal.SIGKILL)
        if text.startswith("noisy"):
            os.write(1, b"What a library says.\n")
        if text.startswith("broken"):
            raise EngineFailed("engine_failed", "It is broken.")
        await anyio.lowlevel.checkpoint()
        page = PageResult(0, text=text, confidence=0.9, engine="text")
        return DocumentResult(document.name, "text/plain", len(document.data), 1, "text", (page,))


@asynccontextmanager
async def text_reader(order: batch_child.BatchOrder) -> AsyncIterator[TextReader]:
    seen = order.scratch.parent.parent.parent / "seen"
    seen.mkdir(exist_ok=True)
    yield TextReader(seen)


def run_command() -> None:
    """Runs the whole command with this child."""
    from inkgate.cli.main import main

    batch_command.CHILD = "support.batch_child"
    main()


if __name__ == "__main__":
    batch_child.reader_of = text_reader
    sys.exit(batch_child.main())
