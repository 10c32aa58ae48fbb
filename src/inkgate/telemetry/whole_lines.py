"""Log lines to a stream that may reject them, such as a file on a full disk."""

from __future__ import annotations

import io
import logging
import os
from typing import TextIO

import structlog

log = structlog.get_logger(__name__)


class WholeLines(logging.Handler):
    """Writes whole lines or nothing, and never raises. It keeps the rest of one partly written line.

    When writing works again, a line reports how many were lost. Python's own buffers would leave a truncated line, and
    the next line would continue it.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._fd = _descriptor(stream)
        self._rest = b""
        self._refused = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            written = self._written(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - as logging's own handlers: a line that can't be formatted must not raise
            self.handleError(record)
            return
        if not written:
            self._refused += 1
        elif self._refused:
            refused, self._refused = self._refused, 0
            log.warning("log_was_not_writable", lines=refused)

    def _written(self, line: str) -> bool:
        """Whether the line was written, at least in part; the rest is written before the next line."""
        try:
            self._stream.flush()
            if self._fd is None:
                self._stream.write(line)
                self._stream.flush()
                return True
        except OSError:
            return False
        self._rest = _unwritten(self._fd, self._rest)
        if self._rest:
            return False
        data = line.encode("utf-8", "backslashreplace")
        left = _unwritten(self._fd, data)
        if len(left) == len(data):
            return False
        self._rest = left
        return True


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None


def _unwritten(fd: int, data: bytes) -> bytes:
    """Writes `data` as far as possible; returns the rest."""
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass
    return data
