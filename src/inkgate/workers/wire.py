"""What passes between the service and its worker processes, and the worker's end of it.

A call is a pickle: a worker trusts its service. A reply is bytes, which each type of worker encodes in its own way: a
worker that a hostile document has hijacked may lie about a page, but can't run code in the service. Both are frames
over a socket pair, one reply to each call. Data of any size is in shared memory, whose descriptors go with the first
call that uses it. Workers import this module, so it imports little.
"""

from __future__ import annotations

import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import count
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from inkgate.operating_system import (
    STOP_SIGNALS,
    end_with_parent,
    limit_memory,
    memory_bytes,
    seal,
    shared_file,
    write_no_core_dumps,
)

MAX_FRAME = 64 * 2**20
"""Maximum bytes of a reply; a page of 100,000 characters needs about 20 MB."""
MAX_MEMORIES = 4
"""Maximum shared memories of a call."""
REST_AFTER_S = 2.0
"""Seconds without a call after which a worker may return freed memory."""
_LENGTH = struct.Struct("!I")
_REPLY_HEAD = struct.Struct("!IBd")
REPLY_HEAD_BYTES = _REPLY_HEAD.size
_numbers = count(1)


class SharedMemory:
    """Memory of fixed size that this process shares with workers. Its owner closes it.

    It has no name and disappears with its last user. It is sealed against shrinking, where the system can; otherwise a
    hijacked worker could crash this process (SIGBUS). It is a file object and not a bare descriptor: a closed
    descriptor's number may be reused for another upload, a closed file raises an error.

    Attributes:
        number: unique in this process.
        size: in bytes, at least 1.
        retained: whether workers keep it mapped from its first call until it is closed, instead of for one call.
        readonly: whether its bytes are immutable.
    """

    def __init__(self, name: str, size: int, data: bytes | None = None, *, retained: bool) -> None:
        """`data`: its immutable content, copied; without it, the memory is zero and used only when written. `name`: in
        /proc. Blocking if there are data. Raises OSError.
        """
        self.number = next(_numbers)
        self.size = size
        self.retained = retained
        self.readonly = data is not None
        self._file = shared_file(name)
        try:
            if data is None:
                self._file.truncate(size)
            else:
                view = memoryview(data)
                while view:
                    view = view[self._file.write(view) :]
            seal(self._file, readonly=self.readonly)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._file.closed

    def fileno(self) -> int:
        """The descriptor. Raises ValueError if closed."""
        return self._file.fileno()

    def map(self) -> mmap.mmap:
        """Maps it without copying. The mapping outlives `close`. Raises OSError."""
        return map_memory(self.fileno(), MemoryUse.of(self, attached=True))

    def close(self) -> None:
        """Frees it, once no process has it mapped. Safe to call twice."""
        self._file.close()


class MemoryUse(NamedTuple):
    """A shared memory in a call. `attached`: its descriptor goes with the call."""

    number: int
    size: int
    readonly: bool
    retained: bool
    attached: bool

    @classmethod
    def of(cls, memory: SharedMemory, *, attached: bool) -> Self:
        return cls(memory.number, memory.size, memory.readonly, memory.retained, attached)


def map_memory(descriptor: int, use: MemoryUse) -> mmap.mmap:
    """Maps shared memory without copying. Raises OSError."""
    if use.readonly:
        # Private, because before Linux 6.7 a write-sealed file can't be mapped shared, even for reading.
        return mmap.mmap(descriptor, use.size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    return mmap.mmap(descriptor, use.size)


class Outcome(IntEnum):
    """What became of a call, or of the start of a worker."""

    DONE = 0
    OUT_OF_MEMORY = 1
    NOT_STARTED = 2


class WorkerReply(NamedTuple):
    """A worker's reply. `body`: encoded by the type of worker. `private_mb`: its memory without shared memory."""

    body: bytes
    outcome: Outcome = Outcome.DONE
    private_mb: float = 0.0


def encode_call(call: object, uses: Sequence[MemoryUse]) -> bytes:
    """The frame of a call. It must be small: the socket's buffer holds it."""
    return _frame((call, tuple(uses), None))


def encode_forget(number: int) -> bytes:
    """The frame that has a worker close a kept memory. It has no reply."""
    return _frame((None, (), number))


def _frame(message: object) -> bytes:
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


def encode_reply(reply: WorkerReply) -> bytes:
    """The frame of a reply."""
    return _REPLY_HEAD.pack(len(reply.body), reply.outcome, reply.private_mb) + reply.body


def decode_reply_head(head: bytes) -> tuple[int, Outcome, float]:
    """Bytes of the body that follows, outcome, and private MB. Raises ValueError if they make no sense."""
    length, outcome, private_mb = _REPLY_HEAD.unpack(head)
    if length > MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes")
    return length, Outcome(outcome), private_mb


class StartError(Exception):
    """A worker can't start. `body`: the reason, encoded by its type."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self.body = body


class Handler(Protocol):
    """Handles a worker's calls, one at a time."""

    def handle(self, call: Any, memories: Sequence[mmap.mmap]) -> bytes:  # noqa: ANN401 - of the worker's type
        """The reply's body. `memories`: those of the call. An exception other than MemoryError ends the worker.

        Raises:
            MemoryError: there is not enough.
        """
        ...

    def forget(self, number: int) -> None:
        """Closes what is kept of the shared memory `number`."""
        ...

    def rest(self) -> None:
        """Called after `REST_AFTER_S` without a call."""
        ...


def run_worker(start: Callable[[str], Handler]) -> None:
    """Serves calls until the service has gone. The last arguments of this process: the descriptor of its socket, the MB
    of address space that it may use beyond its start (0: no limit), the service's process ID, and the argument of
    `start`, which raises StartError if it can't.
    """
    descriptor, memory_mb, parent = map(int, sys.argv[-4:-1])
    channel = socket.socket(fileno=descriptor)
    live_with(parent)
    if memory_mb:
        limit_memory(memory_mb * 2**20)
    try:
        _serve(channel, start(sys.argv[-1]))
    except StartError as error:
        channel.sendall(encode_reply(WorkerReply(error.body, Outcome.NOT_STARTED)))
    except (BrokenPipeError, ConnectionResetError):
        pass
    os._exit(0)  # nothing needs cleanup; finalizers of a broken document and native threads must not run


def live_with(parent: int) -> None:
    """Makes this process end with the process `parent`, which started it, and not before.

    Ignores SIGINT, SIGTERM and SIGHUP, which a supervisor may send to all processes of a service: the parent needs its
    children to finish its work, and then ends them.
    """
    end_with_parent(parent)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    write_no_core_dumps()


def private_mb() -> float:
    """Resident memory of this process in MB without the shared part."""
    _, resident, shared = memory_bytes()
    return (resident - shared) / 2**20


def _serve(channel: socket.socket, handler: Handler) -> None:
    channel.sendall(encode_reply(WorkerReply(b"", private_mb=private_mb())))
    mapped: dict[int, mmap.mmap] = {}
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    while True:
        if not waiting.poll(REST_AFTER_S * 1000):
            handler.rest()
        received = receive_call(channel)
        if received is None:
            return
        (call, uses, forgotten), descriptors = received
        if forgotten is not None:
            handler.forget(forgotten)
            mapped.pop(forgotten, None)
            continue
        try:
            body = handler.handle(call, _memories(uses, descriptors, mapped))
            reply = WorkerReply(body, private_mb=private_mb())
        except MemoryError:
            reply = WorkerReply(b"", Outcome.OUT_OF_MEMORY, private_mb())
        channel.sendall(encode_reply(reply))
        del call, received


def _memories(uses: Sequence[MemoryUse], descriptors: list[int], mapped: dict[int, mmap.mmap]) -> list[mmap.mmap]:
    """The memories of a call, mapped. Closes the descriptors. Raises MemoryError."""
    try:
        memories, left = [], iter(descriptors)
        for use in uses:
            memory = map_memory(next(left), use) if use.attached else mapped[use.number]
            if use.retained:
                mapped[use.number] = memory
            memories.append(memory)
    except OSError as error:
        raise MemoryError from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return memories


def receive_call(channel: socket.socket) -> tuple[Any, list[int]] | None:
    """The next message and its descriptors, or None if the service has closed the socket. Blocking; in workers."""
    # Descriptors arrive with the first byte of their frame.
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, MAX_MEMORIES)
    while 0 < len(head) < _LENGTH.size:
        more = channel.recv(_LENGTH.size - len(head))
        if not more:
            return None
        head += more
    if not head:
        return None
    (length,) = _LENGTH.unpack(head)
    body = bytearray()
    while len(body) < length:
        chunk = channel.recv(length - len(body))
        if not chunk:
            return None
        body += chunk
    return pickle.loads(body), descriptors  # noqa: S301 - of the service
