"""The process that reads the shards of `inkgate batch`.

On standard input it gets its order, then a line for each shard, and `end` after the last. On standard output it writes
a line of JSON for each event, or `{"stopped": "..."}` if it can't go on. When standard input is closed it ends at once:
its parent is gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, Final

import anyio
import orjson
from anyio.from_thread import run_sync
from anyio.lowlevel import EventLoopToken, current_token
from anyio.streams.memory import MemoryObjectSendStream

from inkgate.batch.plan import BatchFolder, BatchInvalid, BatchPlan
from inkgate.batch.rows import RowFormat
from inkgate.batch.shards import BatchEvent, ShardReader, ShardWork, event_line
from inkgate.cli.readers import open_reader
from inkgate.errors import InkgateError
from inkgate.settings import Settings
from inkgate.storage.objects import Objects
from inkgate.telemetry.logs import configure_logs
from inkgate_client import ServiceError
from inkgate_client.codec import encodable
from inkgate_client.concurrency import single_error
from inkgate_client.reading import DocumentReader
from inkgate_client.retries import RetryPolicy

END: Final = b"end\n"
"""The mark after the last shard."""
_WAITING: Final = RetryPolicy(600.0, outlast_load=True, max_pause_s=30.0)
"""Seconds without any response after which the run ends: documents would fail one after another."""


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """How the child reads shards."""

    settings: Settings
    folder: str
    plan: BatchPlan
    scratch: Path
    at_once: int
    max_bytes: int
    again: bool = False
    servers: tuple[str, ...] = ()
    key: str = field(default="", repr=False)

    def work(self) -> ShardWork:
        """The same, for a ShardReader."""
        folder = BatchFolder(Objects(self.settings.storage), self.folder)
        return ShardWork(folder, RowFormat(self.plan.format), self.scratch, self.at_once, self.max_bytes, self.again)

    def journal(self, shard: int) -> Path:
        """Returns the path of a shard's journal."""
        return self.work().journal(shard)


def reader_of(order: BatchOrder) -> AbstractAsyncContextManager[DocumentReader]:
    """The reader that the order names."""
    return open_reader(order.servers, order.key, order.settings, _WAITING)


async def read_shards(order: BatchOrder, pipe: IO[bytes], events: IO[bytes]) -> None:
    """Reads the shards that come through the pipe, one after another; writes events."""

    def tell(event: BatchEvent) -> None:
        events.write(event_line(event))
        events.flush()

    send, shards = anyio.create_memory_object_stream[int](float("inf"))
    Thread(target=_take, args=(pipe, send, current_token()), daemon=True).start()
    work = order.work()
    async with shards, reader_of(order) as reader:
        await ShardReader(reader, work, tell).read_all(work.folder.shards(order.plan, shards))


def _take(pipe: IO[bytes], shards: MemoryObjectSendStream[int], loop: EventLoopToken) -> None:
    """Hands on what the parent writes, until it is gone."""
    for line in pipe:
        if line == END:
            run_sync(shards.close, token=loop)
        else:
            run_sync(shards.send_nowait, int(line), token=loop)
    os._exit(1)


def main() -> int:
    """Returns the exit status: 0, even if it can't go on, for it said so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the parent decides
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no event
    pipe = open(0, "rb", closefd=False)  # noqa: SIM115 - not sys.stdin, whose lock would be held at the end
    order: BatchOrder = pickle.load(pipe)  # noqa: S301 - of the parent, through a pipe
    configure_logs(order.settings.log)
    try:
        with single_error():
            anyio.run(read_shards, order, pipe, events)
    except InkgateError as error:
        _stop(events, f"{error.title}. {error.detail} {error.remedy} ({error.code})")
    except (BatchInvalid, ServiceError) as error:
        _stop(events, str(error))
    except OSError as error:
        _stop(events, f"{error.filename or 'The results'}: {error.strerror or error}.")
    return 0


def _stop(events: IO[bytes], why: str) -> None:
    events.write(orjson.dumps({"stopped": encodable(why)}) + b"\n")
    events.flush()


if __name__ == "__main__":
    sys.exit(main())
