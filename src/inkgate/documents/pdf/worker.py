"""PDF worker process: opens, examines and renders pages, and may be killed at any time.

process.py starts it with three arguments: the descriptor of its socket, the MB of address space that it may use beyond
its start, and its parent process. Ends with its parent.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
import socket
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from inkgate.children import live_with
from inkgate.documents.pdf import wire
from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.pdfium import MemorySuspected, PdfFault, PdfiumDocument
from inkgate.documents.pdf.shared import map_bitmap, map_bytes
from inkgate.documents.pdf.wire import Call, Op, Reply
from inkgate.types import Size

MAX_GROWTH_MB = 64.0
"""A document is reopened if the process has grown by this much since it was opened."""
_PAGE_MB = mmap.PAGESIZE / 2**20
_RESERVED_BLOCK, _RESERVED_BLOCKS = 64 * 2**10, 256
"""Size and number of blocks to reserve in the heap; blocks from 128 KB on may be mapped separately."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt in malloc.h: the free memory at the heap's end from which malloc returns it to the system, and
the size from which blocks are mapped separately.
"""
_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]


class Handler(Protocol):
    """Handles calls. The caller owns and closes `fds`."""

    def handle(self, call: Call, fds: Sequence[int]) -> dict[str, Any]:
        """The reply's value.

        Raises:
            PdfFault: the document or the page is faulty.
            MemoryError: there is not enough.
        """
        ...


class PdfHandler:
    """Handles calls with pdfium. Keeps documents open until a `close` call."""

    def __init__(self) -> None:
        self._sources: dict[int, tuple[mmap.mmap, str]] = {}
        self._documents: dict[int, PdfiumDocument] = {}
        self._least_mb = 0.0

    def handle(self, call: Call, fds: Sequence[int]) -> dict[str, Any]:
        """See `Handler`. Retries once what may have failed for lack of memory."""
        try:
            return self._handle(call, fds)
        except MemorySuspected:
            _reserve_heap()
            return self._handle(call, fds)

    def _handle(self, call: Call, fds: Sequence[int]) -> dict[str, Any]:
        if call.op is Op.CLOSE:
            self._close(call.document)
            return {}
        if call.document_bytes:
            self._sources[call.document] = (map_bytes(fds[0], call.document_bytes), call.password)
        document = self._document(call.document)
        if call.op is Op.OPEN:
            return {"page_count": document.page_count}
        if call.op is Op.PAGE:
            return examine(document, call).flat()
        with document.page(call.index) as page:
            page.render(map_bitmap(fds[-1], Size(call.width, call.height)))
        return {}

    def _document(self, number: int) -> PdfiumDocument:
        """The document, opened if necessary, and reopened if this process has grown: pdfium keeps what it parsed."""
        if number in self._documents and _private_mb() > self._least_mb + MAX_GROWTH_MB:
            self._forget(number)
        if number not in self._documents:
            data, password = self._sources[number]
            self._documents[number] = PdfiumDocument(np.frombuffer(data, np.uint8), password)
            self._least_mb = _private_mb()
        return self._documents[number]

    def _close(self, number: int) -> None:
        self._forget(number)
        self._sources.pop(number, None)

    def _forget(self, number: int) -> None:
        document = self._documents.pop(number, None)
        if document is not None:
            document.close()
            del document
            gc.collect()
            _libc.malloc_trim(0)  # frees its memory at once, not at the next garbage collection


def main(handler: Handler | None = None) -> None:
    """Serves until the socket is closed. `handler`: replaced in tests."""
    descriptor, memory_mb, parent = map(int, sys.argv[-3:])
    channel = socket.socket(fileno=descriptor)
    restrict(memory_mb, parent)
    serve(channel, handler or PdfHandler())
    os._exit(0)  # nothing needs cleanup, and finalizers of a broken document must not run


def restrict(memory_mb: int, parent: int) -> None:
    """Limits this process's memory, and ends it with its parent."""
    live_with(parent)
    limit = _memory_pages()[0] * mmap.PAGESIZE + memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def serve(channel: socket.socket, handler: Handler) -> None:
    """Handles calls until the socket is closed."""
    try:
        channel.sendall(wire.encode(Reply({}, private_mb=_private_mb())))
        while (received := wire.receive_call(channel)) is not None:
            call, fds = received
            try:
                reply = answer(handler, call, fds)
            finally:
                for fd in fds:
                    os.close(fd)
            if call.op is not Op.CLOSE:
                channel.sendall(wire.encode(reply))
    except (BrokenPipeError, ConnectionResetError):
        return


def answer(handler: Handler, call: Call, fds: Sequence[int]) -> Reply:
    """The reply to `call`; turns every exception into an error reply."""
    what = "The document" if call.op is Op.OPEN else f"Page {call.index + 1}"
    try:
        return Reply(handler.handle(call, fds), private_mb=_private_mb())
    except PdfFault as fault:
        return Reply({}, fault.code, fault.detail, _private_mb())
    except MemoryError:
        return Reply({}, "page_memory", f"{what} needs more memory than a PDF worker may use.", _private_mb())
    except Exception:  # noqa: BLE001 - the border of one call: a page that breaks our code costs that page alone
        sys.excepthook(*sys.exc_info())
        return Reply({}, "page_broken", f"{what} could not be read.", _private_mb())


def _memory_pages() -> tuple[int, int, int]:
    """This process's address space, resident memory, and shared part of it, in memory pages."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - once a call, and pathlib is slow to import
        size, resident, shared = statm.read().split()[:3]
    return int(size), int(resident), int(shared)


def _reserve_heap() -> None:
    """Makes malloc reserve 16 MB and keep them, because a retry may need more than the first try left. Resets the mmap
    threshold: malloc raises it after freeing large blocks, and would then put large blocks into the heap.
    """
    _libc.mallopt(_M_MMAP_THRESHOLD, 2 * _RESERVED_BLOCK)
    _libc.mallopt(_M_TRIM_THRESHOLD, 2 * _RESERVED_BLOCKS * _RESERVED_BLOCK)
    blocks = [_libc.malloc(_RESERVED_BLOCK) for _ in range(_RESERVED_BLOCKS)]
    for block in blocks:
        _libc.free(block)


def _private_mb() -> float:
    """Resident memory without the shared part: documents and bitmaps don't count."""
    _, resident, shared = _memory_pages()
    return (resident - shared) * _PAGE_MB
