"""Recorded traffic: when requests came and how large they were. docs/guides/load-testing.md has the format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.pages import LoadPage

READING = frozenset({"/ocr", "/infer", "/v1/ocr", "/layout-parsing", "/v1/chat/completions"})
"""Addresses of the requests that an access log is replayed of."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that came `at` seconds after the first: with the page of this name, else the one nearest in size.

    `tenant`: who sent it, however it is called; empty where that isn't said.
    """

    at: float
    page: str = ""
    sent_bytes: int | None = None
    priority: str = ""
    tenant: str = ""


def read_recorded(file: Path, speed: float = 1.0) -> tuple[Recorded, ...]:
    """What `file` has recorded, sorted by moment, the first at 0. `speed`: 2 is twice as fast as it was.

    Lines of inkgate's own log in JSON are understood, too; those that tell of no request are left out.

    Raises:
        LoadImpossible: it can't be read, a line is not understood, or nothing is in it.
    """
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise LoadImpossible(f"{file} can't be read: {error.strerror}.") from error
    found = [
        recorded
        for number, line in enumerate(lines, 1)
        if line.strip() and (recorded := _recorded(line, f"{file}, line {number}")) is not None
    ]
    if not found:
        raise LoadImpossible(f"{file} has recorded no request.")
    found.sort(key=lambda recorded: recorded.at)
    first = found[0].at
    return tuple(replace(recorded, at=(recorded.at - first) / speed) for recorded in found)


def _recorded(line: bytes, where: str) -> Recorded | None:
    try:
        told = orjson.loads(line)
        if not isinstance(told, dict):
            raise TypeError("it is no JSON object")
        return _of_log(told) if "event" in told else _of_recording(told)
    except (ValueError, TypeError, KeyError) as error:
        raise LoadImpossible(
            f"{where}: not understood ({error}). docs/guides/load-testing.md says what stands there."
        ) from error


def _of_recording(told: dict[str, Any]) -> Recorded:
    size = told.get("bytes")
    return Recorded(
        _moment(told["at"]),
        str(told.get("page", "")),
        None if size is None else int(size),
        str(told.get("priority", "")),
        str(told.get("tenant", "")),
    )


def _of_log(told: dict[str, Any]) -> Recorded | None:
    """A request was in hand `duration_ms` when the line was written: it came as much earlier."""
    if told["event"] != "request" or told.get("path") not in READING:
        return None
    size = told.get("received_bytes")
    came = _moment(told["timestamp"]) - float(told["duration_ms"]) / 1000
    return Recorded(came, sent_bytes=None if size is None else int(size), tenant=str(told.get("caller", "")))


def _moment(value: object) -> float:
    """Seconds: of a number, or since 1970 of a time in ISO 8601, which is UTC where it doesn't say."""
    if isinstance(value, str):
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"a moment is a number of seconds or ISO 8601, not {value!r}")


def page_of(recorded: Recorded, pages: Sequence[LoadPage]) -> int | None:
    """Which of `pages` stands for what was recorded; None where any does.

    Raises:
        LoadImpossible: it names a page that is not there.
    """
    if recorded.page:
        for number, page in enumerate(pages):
            if page.name == recorded.page:
                return number
        raise LoadImpossible(f"The recording names the page {recorded.page!r}, which is not among those to be sent.")
    if recorded.sent_bytes is None:
        return None
    wanted = recorded.sent_bytes
    return min(range(len(pages)), key=lambda number: abs(len(pages[number].content) - wanted))


def pages_of(recorded: Iterable[Recorded], pages: Sequence[LoadPage]) -> list[int | None]:
    """`page_of` for each. Raises LoadImpossible."""
    return [page_of(each, pages) for each in recorded]
