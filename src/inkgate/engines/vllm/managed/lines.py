"""vLLM's log: splits it into lines with levels and parses the progress of loading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST = 4000
"""Maximum bytes of a line; more are dropped. vLLM's longest, its settings at start, has about 3000."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROCESS = r"(?:\([^)]{1,60}\)\s*)?"
_LEVEL = re.compile(_PROCESS + r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_PREFIX = re.compile("^" + _PROCESS + r"(?:[A-Z]+ \S+ \S+ \[[^\]]*\] )?")
_TRACEBACK = re.compile(_PROCESS + r"Traceback \(most recent call last\)")


class LogLines:
    """Splits bytes that arrive in chunks into lines. A carriage return ends a line, too: progress bars use them."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that `chunk` completes, without empty ones."""
        *whole, self._open = re.split(rb"[\r\n]+", self._open + chunk)
        self._open = self._open[:_LONGEST]
        yield from (text for line in whole if (text := _text(line)))

    def rest(self) -> Iterator[str]:
        """The text after the last line end."""
        text, self._open = _text(self._open), b""
        if text:
            yield text


def message_of(line: str) -> str:
    """A line's message, without the process, level, time and source that vLLM puts before it."""
    return _PREFIX.sub("", line, count=1).strip()


class LogLevels:
    """Finds the level of each line; a line without one has that of the line before it."""

    def __init__(self) -> None:
        self._last = "info"

    def of(self, line: str) -> str:
        """`debug`, `info`, `warning` or `error`."""
        found = _LEVEL.match(line)
        if found is not None:
            self._last = {"CRITICAL": "error"}.get(found[1], found[1].lower())
        elif _TRACEBACK.match(line):
            self._last = "error"
        return self._last


@dataclass(frozen=True, slots=True)
class StartProgress:
    """Progress of vLLM's start.

    Attributes:
        stage: `download`, `weights`, `compile`, `graphs`, `kv_cache` or `listening`, mostly in this order.
        percent: of the stage, 0 to 100; None if vLLM does not report it.
        kv_tokens: capacity of the KV cache in tokens, with the stage `kv_cache`.
    """

    stage: str
    percent: int | None = None
    kv_tokens: int | None = None


_STAGES = (
    (re.compile(r"Fetching \d+ files:\s*(\d+)%"), "download"),
    (re.compile(r"Loading \S+ checkpoint shards[^:]*:\s*(\d+)%"), "weights"),
    (re.compile(r"Capturing CUDA graphs?[^:]*:\s*(\d+)%"), "graphs"),
)
_MOMENTS = (
    (re.compile(r"Starting to load model"), StartProgress("weights", 0)),
    (re.compile(r"(?:Loading weights|Model loading) took"), StartProgress("weights", 100)),
    (re.compile(r"Dynamo bytecode transform time|Compiling a graph for|torch\.compile took"), StartProgress("compile")),
    (re.compile(r"Graph capturing finished"), StartProgress("graphs", 100)),
    (re.compile(r"Application startup complete"), StartProgress("listening")),
)
_KV_CACHE = re.compile(r"KV cache size: ([\d,]+) tokens")


def progress_of(line: str) -> StartProgress | None:
    """The progress that a line reports; None for all others. Matches the messages of vLLM 0.32."""
    for pattern, stage in _STAGES:
        found = pattern.search(line)
        if found is not None:
            return StartProgress(stage, min(100, int(found[1])))
    found = _KV_CACHE.search(line)
    if found is not None:
        return StartProgress("kv_cache", None, int(found[1].replace(",", "")))
    return next((progress for pattern, progress in _MOMENTS if pattern.search(line)), None)


def is_progress_bar(line: str) -> bool:
    """Whether a line is one state of a progress bar and nothing else."""
    return any(pattern.search(line) for pattern, _ in _STAGES)


def _text(line: bytes) -> str:
    return _COLOURS.sub("", line[:_LONGEST].decode("utf-8", errors="replace")).rstrip()
