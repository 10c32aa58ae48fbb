"""Worker process that writes files: parses strangers' PDFs and documents, and may be killed at any time."""

from __future__ import annotations

import gc
import mmap
import sys
from collections.abc import Sequence

from inkgate.documents.files import FileFormat, format_named
from inkgate.documents.files.wire import WriteCall, WriteOp, WriteReply, decode_result, encode_reply
from inkgate.documents.files.write import OFFICE, converted, fields_table
from inkgate.errors import InputRejected
from inkgate.workers.wire import run_worker


def main() -> None:
    """Entry point of a worker process."""
    run_worker(lambda _: WriteHandler())


class WriteHandler:
    """Handles calls (`Handler`). Keeps nothing between them."""

    def handle(self, call: WriteCall, memories: Sequence[mmap.mmap]) -> bytes:
        """The encoded reply; every exception but MemoryError becomes an error reply."""
        try:
            return encode_reply(WriteReply(_written(call, memories)))
        except InputRejected as error:
            return encode_reply(WriteReply(error=error.code, detail=error.detail))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - the border of one call: whatever a stranger's file makes libraries raise
            sys.excepthook(*sys.exc_info())
            return encode_reply(_failure(call))
        finally:
            gc.collect()
            gc.freeze()  # the modules of the libraries, or collecting would take 60 ms

    def forget(self, number: int) -> None:
        pass

    def rest(self) -> None:
        pass


def _written(call: WriteCall, memories: Sequence[mmap.mmap]) -> int:
    """Writes the file to the last of `memories`. Returns its length. Raises InputRejected."""
    if call.op in (WriteOp.ADD_TEXT, WriteOp.NEW_PDF):
        from inkgate.documents.files import pdf  # loads pikepdf, which the other formats don't need

        return pdf.write(call, memories)
    source, output = memories
    shape = format_named(call.format)
    if call.op is WriteOp.CONVERT:
        data = converted(source[:], shape, marks=call.marks)
    elif call.op is WriteOp.FIELDS:
        data = fields_table(source[:], shape)
    else:
        data = OFFICE[FileFormat(shape)](decode_result(source[:]))
    if len(data) > len(output):
        most = f"{len(output) / 2**20:,.0f}"
        raise InputRejected("page_memory", f"The file would have more than {most} MB.")
    output[: len(data)] = data
    return len(data)


def _failure(call: WriteCall) -> WriteReply:
    """The reply to a call that failed for a reason that nobody foresaw."""
    if call.op is WriteOp.ADD_TEXT or call.op is WriteOp.NEW_PDF:
        return WriteReply(error="pdf_corrupt", detail="The PDF is too damaged to be written again.")
    if call.op is WriteOp.CONVERT or call.op is WriteOp.FIELDS:
        return WriteReply(error="options_invalid", detail=f"The document has values that {call.format} can't show.")
    return WriteReply(error="engine_failed", detail="The file could not be written.")
