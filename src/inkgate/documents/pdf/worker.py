"""PDF worker process: opens, examines and renders pages, and may be killed at any time (workers/wire.py)."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from inkgate.documents.pdf.examine import examine
from inkgate.documents.pdf.opening import open_document, repaired_for
from inkgate.documents.pdf.pdfium import MemorySuspected, PageBroken, PdfFault, PdfiumDocument
from inkgate.documents.pdf.remarks import document_remarks
from inkgate.documents.pdf.wire import Op, PdfCall, Reply, encode_reply
from inkgate.workers.wire import private_mb, run_worker

MAX_GROWTH_MB = 64.0
"""A document is reopened if the process has grown by this much since it was opened."""
_GC_OBJECTS = 50_000
"""New objects from which garbage is collected: about those of a page. Few are in cycles."""
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


def main() -> None:
    """Entry point of a worker process."""
    gc.freeze()  # else each collection goes through all modules, 5 ms
    gc.set_threshold(_GC_OBJECTS)
    run_worker(lambda _: PdfHandler())


class PdfHandler:
    """Handles calls with pdfium (`Handler`). Keeps documents open until they are forgotten."""

    def __init__(self) -> None:
        self._documents: dict[int, PdfiumDocument] = {}
        self._repairs: set[int] = set()
        self._min_mb = 0.0

    def handle(self, call: PdfCall, memories: Sequence[mmap.mmap]) -> bytes:
        """The encoded reply; every exception but MemoryError becomes an error reply."""
        try:
            return encode_reply(Reply(self.value(call, memories)))
        except PdfFault as fault:
            return encode_reply(Reply({}, fault.code, fault.detail))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - the border of one call: a page that breaks our code costs that page alone
            sys.excepthook(*sys.exc_info())
            return encode_reply(Reply({}, "page_broken", f"{call.what} could not be read."))

    def value(self, call: PdfCall, memories: Sequence[mmap.mmap]) -> dict[str, Any]:
        """The reply's value. Retries once what may have failed for lack of memory, and a page of a damaged document.

        Raises:
            PdfFault: the document or the page is faulty.
            MemoryError: there is not enough.
        """
        try:
            return self._value(call, memories)
        except MemorySuspected:
            _reserve_heap()
            return self._value(call, memories)
        except PageBroken:
            if self._repair(call, memories[0]):
                return self._value(call, memories)
            raise

    def forget(self, number: int) -> None:
        """Closes the document in this shared memory."""
        self._close(number)

    def _close(self, number: int) -> None:
        self._repairs.discard(number)
        document = self._documents.pop(number, None)
        if document is not None:
            document.close()
            del document
            gc.collect()
            _libc.malloc_trim(0)  # frees its memory at once, not at the next garbage collection

    def rest(self) -> None:
        pass

    def _value(self, call: PdfCall, memories: Sequence[mmap.mmap]) -> dict[str, Any]:
        document = self._document(call, memories[0])
        if call.op is Op.OPEN:
            return {"page_count": document.page_count} | document_remarks(document, call.password)
        if call.op is Op.PAGE:
            return examine(document, call).flat()
        bitmap = np.frombuffer(memories[-1], np.uint8).reshape(call.height, call.width, 3)
        with document.page(call.index) as page:
            page.render(bitmap)
        return {}

    def _document(self, call: PdfCall, data: mmap.mmap) -> PdfiumDocument:
        """The document, opened if necessary, and reopened if this process has grown: pdfium keeps what it parsed."""
        number = call.document
        if number in self._documents and private_mb() > self._min_mb + MAX_GROWTH_MB:
            self._close(number)
        if number not in self._documents:
            self._documents[number] = open_document(np.frombuffer(data, np.uint8), call.password)
            self._min_mb = private_mb()
        return self._documents[number]

    def _repair(self, call: PdfCall, data: mmap.mmap) -> bool:
        """Replaces the document by a repaired one that has the call's page; tried once for a document."""
        number = call.document
        if number not in self._documents or number in self._repairs:
            return False
        count = self._documents[number].page_count
        document = repaired_for(call.index, np.frombuffer(data, np.uint8), call.password, count)
        if document is not None:
            self._close(number)
            self._documents[number] = document
        self._repairs.add(number)
        if document is None:
            return False
        self._min_mb = private_mb()
        return True


def _reserve_heap() -> None:
    """Makes malloc reserve 16 MB and keep them, because a retry may need more than the first try left. Resets the mmap
    threshold: malloc raises it after freeing large blocks, and would then put large blocks into the heap.
    """
    _libc.mallopt(_M_MMAP_THRESHOLD, 2 * _RESERVED_BLOCK)
    _libc.mallopt(_M_TRIM_THRESHOLD, 2 * _RESERVED_BLOCKS * _RESERVED_BLOCK)
    blocks = [_libc.malloc(_RESERVED_BLOCK) for _ in range(_RESERVED_BLOCKS)]
    for block in blocks:
        _libc.free(block)
