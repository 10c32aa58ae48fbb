"""A PDF worker: a process that opens, examines and renders pages, and may be killed at any time.

Started by process.py with three arguments: the descriptor of its socket, how many MB of address space it may take
beyond its start, and the process it belongs to. Ends when that process does.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from inkgate.documents.pdf import wire
from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.pdfium import PdfFault, PdfiumDocument
from inkgate.documents.pdf.shared import map_bitmap, map_bytes
from inkgate.documents.pdf.wire import Call, Op, Reply
from inkgate.types import Size

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_PAGE_MB = mmap.PAGESIZE / 2**20
_libc = ctypes.CDLL(None)


class Handler(Protocol):
    """Answers calls. `fds` stay the caller's, who closes them."""

    def handle(self, call: Call, fds: Sequence[int]) -> dict[str, Any]:
        """The reply's value.

        Raises:
            PdfFault: what is wrong with the document or the page.
            MemoryError: there is not enough.
        """
        ...


class PdfHandler:
    """Answers calls with pdfium. Keeps documents open until told to close them."""

    def __init__(self) -> None:
        self._sources: dict[int, mmap.mmap] = {}
        self._documents: dict[int, PdfiumDocument] = {}

    def handle(self, call: Call, fds: Sequence[int]) -> dict[str, Any]:
        """See `Handler`."""
        if call.op is Op.CLOSE:
            self._close(call.document)
            return {}
        if call.document_bytes:
            self._sources[call.document] = map_bytes(fds[0], call.document_bytes)
        document = self._document(call.document)
        if call.op is Op.OPEN:
            return {"page_count": document.page_count}
        if call.op is Op.PAGE:
            return examine(document, call).flat()
        with document.page(call.index) as page:
            page.render(map_bitmap(fds[-1], Size(call.width, call.height)))
        return {}

    def _document(self, number: int) -> PdfiumDocument:
        if number not in self._documents:
            data = np.frombuffer(self._sources[number], np.uint8)
            self._documents[number] = PdfiumDocument(data)
        return self._documents[number]

    def _close(self, number: int) -> None:
        document = self._documents.pop(number, None)
        if document is not None:
            document.close()
            del document
        self._sources.pop(number, None)
        gc.collect()
        _libc.malloc_trim(0)  # what a large document took is given back at once, not at the next one's convenience


def main(handler: Handler | None = None) -> None:
    """Serve until the socket is closed. `handler` is another in tests."""
    descriptor, memory_mb, parent = map(int, sys.argv[-3:])
    channel = socket.socket(fileno=descriptor)
    restrict(memory_mb, parent)
    serve(channel, handler or PdfHandler())
    os._exit(0)  # nothing here needs tidying, and what a broken document left behind shall not run


def restrict(memory_mb: int, parent: int) -> None:
    """Bound what this process can take, and tie its life to its parent's."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:  # it died before the line above
        os._exit(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = _memory_pages()[0] * mmap.PAGESIZE + memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def serve(channel: socket.socket, handler: Handler) -> None:
    """Answer calls until the other side has gone."""
    try:
        channel.sendall(wire.encode(Reply({}, rss_mb=_rss_mb())))
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
    """The reply to `call`, whatever happens short of a crash."""
    what = "The document" if call.op is Op.OPEN else f"Page {call.index + 1}"
    try:
        return Reply(handler.handle(call, fds), rss_mb=_rss_mb())
    except PdfFault as fault:
        return Reply({}, fault.code, fault.detail, _rss_mb())
    except MemoryError:
        return Reply({}, "page_memory", f"{what} needs more memory than a PDF worker may take.", _rss_mb())
    except Exception:  # noqa: BLE001 - the border of one call: a page that breaks our code costs that page alone
        sys.excepthook(*sys.exc_info())
        return Reply({}, "page_broken", f"{what} could not be read.", _rss_mb())


def _memory_pages() -> tuple[int, int]:
    """Of this process: address space and resident memory, in memory pages."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - once a call, and pathlib is slow to import
        size, resident = statm.read().split()[:2]
    return int(size), int(resident)


def _rss_mb() -> float:
    return _memory_pages()[1] * _PAGE_MB
