"""Log lines of this service and of the libraries it runs on, all through structlog, all looking the same.

Context that was bound with `structlog.contextvars` (the request ID) is on every line. Neither the content of
documents nor API keys are ever logged. A log that can't be written, as on a full disk, costs lines and nothing else.
"""

from __future__ import annotations

import logging
import sys
from typing import Protocol, TextIO

import structlog
from structlog.typing import Processor

from inkgate.telemetry.whole_lines import WholeLines

_ROUTED = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi")
"""Loggers that libraries set up with handlers of their own, which would print each line a second time."""
_QUIET = ("httpcore", "httpx", "asyncio", "python_multipart", "urllib3", "uvicorn")
"""Loggers whose information is about their own inside; their warnings count."""

_SILENT = ("PIL",)
"""Loggers whose errors are about a document that somebody sent: whoever sent it is told."""


class LogOptions(Protocol):
    """How log lines look, and which there are: the branch `log` of the settings.

    `format` is `console` for people or `json` for machines; `level` is the least that is logged.
    """

    @property
    def format(self) -> str: ...

    @property
    def level(self) -> str: ...


def configure_logs(options: LogOptions, stream: TextIO | None = None) -> None:
    """Sends every log line to `stream` (standard error) as `options` say. Call once, at start."""
    out = stream or sys.stderr
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = WholeLines(out)
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


def _shared() -> list[Processor]:
    """What every line gets, ours and the libraries'."""
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
        # As plain text: structlog's own dictionaries of a traceback hold local variables, and so documents and keys.
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
    return [structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)]


def _without_color_message(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """What is left of a line of uvicorn's, which brings each message twice, once with colours."""
    event.pop("color_message", None)
    return event
