"""Logs of this service and its libraries, all through structlog in one format.

Every line has the context bound with `structlog.contextvars` (the request ID). Contents of documents and API keys are
never logged. If the log can't be written, as on a full disk, lines are lost and the service goes on.
"""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import Protocol, TextIO

import structlog
from structlog.typing import Processor

log = structlog.get_logger(__name__)

_ROUTED = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
"""Loggers with handlers of their own, which would print each line twice."""
_QUIET = ("httpcore", "httpx", "asyncio", "python_multipart", "urllib3", "uvicorn")
"""Loggers whose warnings matter, but whose information is about their internals."""

_SILENT = ("PIL", "opentelemetry")
"""Loggers whose errors are about a document or a header of a client, or, for spans, reported once in our own words."""


class LogOptions(Protocol):
    """The branch `log` of the settings. `format`: `console` or `json`; `level`: the lowest level to log."""

    @property
    def format(self) -> str: ...

    @property
    def level(self) -> str: ...


def configure_logs(options: LogOptions, stream: TextIO | None = None) -> None:
    """Sends all log lines to `stream` (standard error by default). Call it once, at the start."""
    out = stream or sys.stderr
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = _WholeLines(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_shared(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(options.format, out)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(options.level.upper())
    for name in _ROUTED:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def log_as_library() -> None:
    """Sends our log lines to `logging`, under their modules' names, unless the program has configured structlog, which
    by default prints all lines on standard output.
    """
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(key_order=["event"]),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _shared() -> list[Processor]:
    """Processors for all lines."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
        _without_color_message,
    ]


def _renderers(format: str, out: TextIO) -> list[Processor]:  # noqa: A002 - the setting's name
    if format == "json":
        # As plain text: structlog's dictionaries of a traceback contain local variables, and so documents and keys.
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    return [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)]


def _without_color_message(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Drops the coloured copy of uvicorn's messages."""
    event.pop("color_message", None)
    return event


class _WholeLines(logging.Handler):
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
