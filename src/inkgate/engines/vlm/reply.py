"""A model's reply to one request, watched as it streams: a repetition ends the request at once.

Vision-language models sometimes get stuck and repeat a word, a line or a row of cells until their token limit. Real
pages repeat too (dotted leaders, ruled lines, empty cells, a sheet of labels), so the threshold depends on what is
repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from inkgate.errors import EngineFailed
from inkgate.model_servers.client import UNKNOWN, ChatClient
from inkgate.model_servers.protocol import GeneratedToken
from inkgate.model_servers.upstream import ModelCall

_CELL = re.compile(r"<(?:td|th|fcel|ecel|lcel|ucel|xcel)\b|\|")
_ROW_END = re.compile(r"</tr>|<nl>|\n")
_CHECK_EVERY = 256
"""Characters from one check to the next: 60 to 100 tokens of Latin text. A check takes a few microseconds."""


@dataclass(frozen=True, slots=True)
class RepetitionLimits:
    """Says how much repetition is accepted as the page's own. A span is in characters.

    Attributes:
        repeats: fewer repetitions are never a loop, whatever their span.
        run_span: of something repeated within one line: leaders, ruled lines.
        line_span: of whole lines with letters or digits. HunyuanOCR's own client uses 4,000; a sheet of 30 labels has
            about 3,000.
        blank_span: of whole lines without letters or digits: a form's ruled lines.
        cells: number of equal cells in one row of a table.
        rows: number of equal rows of a table; a page has room for about 100.
        table_span: of equal rows, however few.
        max_unit: length of the longest unit that is searched for.
    """

    repeats: int = 8
    run_span: int = 2000
    line_span: int = 4000
    blank_span: int = 10_000
    cells: int = 150
    rows: int = 150
    table_span: int = 16_000
    max_unit: int = 2000

    def is_over(self, unit: str, span: int) -> bool:
        """Whether `span` characters that repeat `unit` are too many."""
        count = span // len(unit)
        if count < self.repeats:
            return False
        # A unit may start anywhere in the repeated text: doubled, it shows the tokens that its ends cut.
        seen = unit + unit
        ends_rows = _ROW_END.search(seen) is not None
        if _CELL.search(seen):
            return count >= (self.rows if ends_rows else self.cells) or span >= self.table_span
        if not ends_rows:
            return span >= self.run_span
        return span >= (self.line_span if any(sign.isalnum() for sign in unit) else self.blank_span)

    @property
    def window(self) -> int:
        """Number of characters of the tail that the check needs."""
        return max(self.table_span, self.blank_span, self.rows * 40) + self.max_unit + _CHECK_EVERY


@dataclass(frozen=True, slots=True)
class RepeatedTail:
    """A tail that repeats.

    Attributes:
        unit: the repeated text.
        count: number of repetitions within the window.
        start: position of the first of these in the text.
    """

    unit: str
    count: int
    start: int


class RepetitionDetector:
    """Checks one answer as it streams."""

    def __init__(self, limits: RepetitionLimits | None = None) -> None:
        self._limits = limits or RepetitionLimits()
        self._tail = ""
        self._fresh: list[str] = []
        self._fresh_length = 0
        self._dropped = 0

    def feed(self, text: str) -> RepeatedTail | None:
        """Takes the next piece of the answer; returns the repetition, if there is one.

        Checks only every few hundred characters, so that the cost per token is negligible.
        """
        self._fresh.append(text)
        self._fresh_length += len(text)
        return self.look() if self._fresh_length >= _CHECK_EVERY else None

    def look(self) -> RepeatedTail | None:
        """The repetition at the end of the text so far, if there is one."""
        self._tail += "".join(self._fresh)
        self._fresh.clear()
        self._fresh_length = 0
        surplus = len(self._tail) - self._limits.window
        if surplus > 0:
            self._tail = self._tail[surplus:]
            self._dropped += surplus
        found = repeating_tail(self._tail, self._limits)
        if found is None:
            return None
        unit, span = found
        begin = len(self._tail) - span
        return RepeatedTail(self._tail[begin : begin + unit], span // unit, self._dropped + begin)


def repeating_tail(text: str, limits: RepetitionLimits) -> tuple[int, int] | None:
    """The smallest unit whose repetition at the end of `text` is over `patience`: its length, and the repeated span.

    Finds the last earlier occurrence of the last characters: its distance is the period of the text, back to where the
    two differ. If that span is too small, the search continues with just enough characters to break that period. If the
    tail has a longer period, its own repetition begins there (Fine and Wilf: two periods coexist over at most the sum
    of both), so nothing is missed, and the lengths tried grow at least as Fibonacci's numbers.
    """
    end = len(text)
    length = 1
    while length <= 2 * limits.max_unit and length < end:
        at = text.rfind(text[end - length :], max(0, end - length - limits.max_unit), end - 1)
        if at < 0:
            return None
        unit = end - length - at
        span = unit + _alike(text, unit, length)
        if limits.is_over(text[end - unit :], span):
            return unit, span
        length = span + 1
    return None


def _alike(text: str, distance: int, known: int) -> int:
    """Number of characters at the end that equal those `distance` before them; at least `known` do."""
    end = len(text)
    low, high = known, end - distance
    while low < high:  # compares slices, at the speed of memory
        middle = (low + high + 1) // 2
        if text[end - middle : end - low] == text[end - middle - distance : end - low - distance]:
            low = middle
        else:
            high = middle - 1
    return low


_SUSPECT = RepetitionLimits(run_span=300, line_span=600, blank_span=1500, cells=60, rows=60, table_span=4000)
"""Limits for an answer that reached the token limit, which real pages seldom do."""
_ANY = RepetitionLimits(repeats=3, run_span=0, line_span=0, blank_span=0, cells=0, rows=0, table_span=0)
"""Limits for an answer that the server itself stopped because of repetition."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer to one request.

    Attributes:
        text: as generated; if it repeats itself, up to the end of the repeated unit's first occurrence.
        tokens: with their log-probabilities, if these were requested.
        error: why the text is not a complete answer; None if it is.
        first_token_ms, whole_ms: wall time from sending to the first token, and to the end.
    """

    text: str
    tokens: tuple[GeneratedToken, ...]
    error: EngineFailed | None
    first_token_ms: float
    whole_ms: float


async def ask(
    client: ChatClient, request: Mapping[str, object], about: ModelCall = UNKNOWN, blank_tail: int = 0
) -> ModelReply:
    """The reply to `request`. `about`: the call's metadata. `blank_tail`: an answer that ends in so many blanks is
    stopped as one that repeats itself; 0: it may.

    Raises:
        InputRejected, EngineFailed: as ChatClient.stream; the text received so far is lost.
    """
    guard = RepetitionDetector()
    started = perf_counter()
    first: float | None = None
    pieces: list[str] = []
    tokens: list[GeneratedToken] = []
    reason: str | None = None
    loop: RepeatedTail | None = None
    blanks = 0
    async with client.stream(request, about) as deltas:
        async for delta in deltas:
            if first is None and (delta.text or delta.tokens):
                first = perf_counter()
            pieces.append(delta.text)
            tokens += delta.tokens
            reason = delta.finish_reason or reason
            loop = guard.feed(delta.text)
            inked = len(delta.text.rstrip())
            blanks = len(delta.text) - inked + (0 if inked else blanks)
            if loop is not None or 0 < blank_tail <= blanks:
                break
    ended = perf_counter()
    text = "".join(pieces)
    error: EngineFailed | None
    if loop is not None:
        text, error = text[: loop.start + len(loop.unit)], _repeats(loop.count)
    elif 0 < blank_tail <= blanks:
        text, error = text.rstrip(), _repeats(blanks)
    else:
        text, error = apply_finish_reason(text, reason)
    return ModelReply(text, tuple(tokens), error, ((first or ended) - started) * 1000, (ended - started) * 1000)


def apply_finish_reason(text: str, reason: str | None) -> tuple[str, EngineFailed | None]:
    """The part of `text` to keep and its error, by the finish reason.

    Raises:
        EngineFailed: an unknown finish reason.
    """
    if reason == "stop":
        return text, None
    if reason == "length":
        found = repeating_tail(text, _SUSPECT)
        if found is None:
            return text, EngineFailed("output_truncated", "The answer reached its token limit before its end.")
    elif reason == "repetition":
        found = repeating_tail(text, _ANY)
    elif reason is None:
        raise EngineFailed("upstream_cut_off", "The model server ended its answer without a reason.")
    else:
        raise EngineFailed("upstream_failed", f"The model server ended its answer with {reason!r}.")
    if found is None:
        return text, _repeats(_ANY.repeats)
    unit, span = found
    return text[: len(text) - span + unit], _repeats(span // unit)


def _repeats(count: int) -> EngineFailed:
    return EngineFailed("output_repeats", f"The answer began to repeat itself ({count} times or more).")
