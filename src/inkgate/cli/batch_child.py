"""The process that reads the shards of `inkgate batch`. It gets its order on standard input, writes a line of JSON for
each event on standard output, and ends when standard input is closed: its parent is gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import anyio

from inkgate.batch.gateways import GatewaysUnusable, gateway_reader
from inkgate.batch.plan import BatchFolder, BatchInvalid, BatchPlan
from inkgate.batch.rows import RowFormat
from inkgate.batch.shards import BatchEvent, BatchReader, ShardReader, ShardWork, event_line
from inkgate.client import ServiceError
from inkgate.concurrency import single_error
from inkgate.errors import InkgateError
from inkgate.library import AsyncOcr
from inkgate.settings import Settings
from inkgate.storage.objects import Objects
from inkgate.telemetry.logs import configure_logs
from inkgate.types import Document, DocumentResult

FAILED = 3
"""Exit status: it said why, and a new process would fail in the same way."""


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """What the child has to do. `shards`: indexes, ascending."""

    settings: Settings
    folder: str
    plan: BatchPlan
    shards: tuple[int, ...]
    scratch: Path
    at_once: int
    max_bytes: int
    again: bool = False
    gateways: tuple[str, ...] = ()
    key: str = field(default="", repr=False)


class OcrBatchReader:
    """The engine of this process."""

    def __init__(self, ocr: AsyncOcr) -> None:
        self._ocr = ocr

    async def read(self, document: Document) -> DocumentResult:
        return await self._ocr.read(document)


@asynccontextmanager
async def reader_of(order: BatchOrder) -> AsyncIterator[BatchReader]:
    """The reader that the order names."""
    if order.gateways:
        async with gateway_reader(order.gateways, order.key) as reader:
            yield reader
        return
    async with AsyncOcr(order.settings) as ocr:
        yield OcrBatchReader(ocr)


async def read_shards(order: BatchOrder) -> None:
    """Reads the shards of an order; prints events."""
    folder = BatchFolder(Objects(order.settings.storage), order.folder)
    work = ShardWork(folder, RowFormat(order.plan.format), order.scratch, order.at_once, order.max_bytes, order.again)

    def tell(event: BatchEvent) -> None:
        sys.stdout.buffer.write(event_line(event))
        sys.stdout.buffer.flush()

    async with reader_of(order) as reader:
        await ShardReader(reader, work, tell).read_all(folder.shards(order.plan, order.shards))


def _end_with_parent() -> None:
    while os.read(0, 1024):  # not sys.stdin, whose lock would be held when the interpreter ends
        pass
    os._exit(1)


def main() -> int:
    """Returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
    order: BatchOrder = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the parent, through a pipe
    Thread(target=_end_with_parent, daemon=True).start()
    configure_logs(order.settings.log)
    try:
        with single_error():
            anyio.run(read_shards, order)
    except InkgateError as error:
        print(f"{error.title}. {error.detail} {error.remedy} ({error.code})", file=sys.stderr)
        return FAILED
    except (BatchInvalid, GatewaysUnusable, ServiceError) as error:
        print(str(error), file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{error.filename or 'The results'}: {error.strerror or error}.", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
