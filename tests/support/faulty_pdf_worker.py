"""A PDF worker that fails on request: the tests' fault port, in a real process behind the real protocol.

Its faults are its first arguments, as `op:index:kind`: `render:1:crash`, `page:0:hang`, `render:2:memory`, ... Kinds
that end in `-if-used` happen only in a worker that has answered a request before; `wall` alone fails nothing.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inkgate.documents.pdf import wire, worker
from inkgate.documents.pdf.wire import PdfCall, Reply
from inkgate.workers.process import python_command
from inkgate.workers.wire import WorkerReply, encode_reply, run_worker


class FaultyHandler(worker.PdfHandler):
    """As PdfHandler, with faults."""

    def __init__(self, faults: dict[tuple[str, int], str]) -> None:
        super().__init__()
        self._faults = faults
        self._answered = 0

    def value(self, call: PdfCall, memories: Sequence[mmap.mmap]) -> dict[str, Any]:
        fault = self._faults.get((call.op.value, call.index), "")
        if fault:
            fail(fault, used=self._answered > 0)
        value = super().value(call, memories)
        self._answered += 1
        return value


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang() -> None:
    while True:
        time.sleep(60)


def hoard() -> None:
    hoarded = [bytearray(2**24)]
    while True:
        hoarded.append(bytearray(2**24))


def run_out() -> None:
    raise MemoryError


def babble() -> None:
    os.write(int(sys.argv[-4]), b"\xff" * 64)
    os._exit(0)


def talk_nonsense() -> None:
    os.write(int(sys.argv[-4]), encode_reply(WorkerReply(b"{}")))
    hang()


def speak_later() -> None:
    """Sends a reply that nobody asked for, after that of this call."""
    unasked = encode_reply(WorkerReply(wire.encode_reply(Reply({}))))
    threading.Timer(0.2, os.write, (int(sys.argv[-4]), unasked)).start()


def mistake() -> None:
    raise RuntimeError("our own mistake")


def wall_in_heap() -> None:
    """Keeps the heap from growing from now on: malloc gets ENOMEM and allocates elsewhere."""
    libc = ctypes.CDLL(None)
    libc.sbrk.restype = ctypes.c_void_p
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    end = -(-libc.sbrk(0) // mmap.PAGESIZE) * mmap.PAGESIZE
    fixed_where_free = 0x100000
    libc.mmap(end, mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed_where_free, -1, 0)


FAULTS: dict[str, Callable[[], None]] = {
    "crash": crash,
    "abort": os.abort,
    "hang": hang,
    "memory": hoard,
    "babble": babble,
    "nonsense": talk_nonsense,
    "unasked": speak_later,
    "bug": mistake,
    "wall": wall_in_heap,
    "exit": lambda: os._exit(3),
}
FAULTS_IF_USED = {"crash-if-used": crash, "memory-if-used": run_out}


def fail(fault: str, *, used: bool) -> None:
    if fault in FAULTS:
        FAULTS[fault]()
    elif used:
        FAULTS_IF_USED[fault]()


def command(*faults: str) -> tuple[str, ...]:
    """For `PdfPool(settings, command=...)`."""
    return (*python_command("support.faulty_pdf_worker", Path(__file__).parents[1]), *faults)


def main() -> None:
    faults = {}
    for argument in sys.argv[1:-4]:
        op, index, kind = argument.split(":")
        faults[op, int(index)] = kind
    run_worker(lambda _: FaultyHandler(faults))
