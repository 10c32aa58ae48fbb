"""The parent's side of the process that reads shards: it feeds it, takes its events, and starts it again if it dies."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import orjson

from inkgate.batch.journal import note_death
from inkgate.batch.shards import BatchEvent
from inkgate.cli.batch_child import END, BatchOrder

_DEATHS_IN_A_ROW = 5
"""A process that dies so often without having read a document would never read one."""


class BatchStopped(Exception):
    """Reading can't go on, and a new process would fail in the same way; the text says why."""


class ReadingProcess:
    """Reads shards in a process of its own, which is started for the first shard and kept for further ones.

    Blocking; used by one thread. `child`: the module that it runs; `died` is called for each process that died, with
    how it ended.
    """

    def __init__(self, order: BatchOrder, child: str, died: Callable[[str], None]) -> None:
        self._order = order
        self._died = died
        self._command = [sys.executable, "-m", child]
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, shards: Sequence[int]) -> Iterator[BatchEvent]:
        """The events of some shards, whose indexes ascend, until each has ended.

        Raises:
            BatchStopped: reading can't go on.
        """
        left, deaths = dict.fromkeys(shards), 0
        while left:
            for event in self._events(list(left)):
                if event.document:
                    deaths = 0
                else:
                    left.pop(event.shard)
                yield event
                if not left:
                    return
            deaths += 1
            self._died(self._end())
            for shard in left:
                note_death(self._order.journal(shard))
            if deaths >= _DEATHS_IN_A_ROW:
                raise BatchStopped(f"The process that reads died {deaths} times without reading a document.")

    def _events(self, shards: Sequence[int]) -> Iterator[BatchEvent]:
        """Yields the events of the child, until it dies."""
        child = self._child or self._start()
        self._feed(child, b"".join(b"%d\n" % shard for shard in shards))
        assert child.stdout is not None  # noqa: S101 - a pipe, as asked for
        for line in child.stdout:
            if not line.endswith(b"\n"):  # it was cut off with the process
                return
            found = orjson.loads(line)
            if "stopped" in found:
                raise BatchStopped(found["stopped"])
            yield BatchEvent(**found)

    def _start(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        self._feed(self._child, pickle.dumps(self._order))
        return self._child

    def _feed(self, child: subprocess.Popen[bytes], data: bytes) -> None:
        """Writes to the child; one that is dead is noticed by what it does not write."""
        assert child.stdin is not None  # noqa: S101
        try:
            child.stdin.write(data)
            child.stdin.flush()
        except BrokenPipeError:
            return

    def _end(self) -> str:
        """Waits for the child. Returns how it ended."""
        assert self._child is not None  # noqa: S101
        child, self._child = self._child, None
        status = child.wait()
        for pipe in (child.stdin, child.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # of what was left to write
                continue
        return f"signal {-status}" if status < 0 else f"status {status}"

    def close(self) -> None:
        """Lets the child release what it has, and waits for it."""
        if self._child is not None:
            self._feed(self._child, END)
            self._end()

    def kill(self) -> None:
        """Ends the child at once."""
        if self._child is not None:
            self._child.kill()
            self._end()
