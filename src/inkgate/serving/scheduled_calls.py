"""Calls of model servers wait for their turn here: charged with what they will take of the KV cache, and corrected."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from inkgate.engines.vllm.upstream import Answer, Call, Upstream
from inkgate.serving.estimates import OutputEstimates
from inkgate.serving.limiter import Outcome
from inkgate.serving.scheduler import Scheduler, Turn
from inkgate.serving.work import current_caller

_EVENT = b"data: {"
_USAGE = re.compile(rb'"completion_tokens":\s*(\d{1,9})')
_TAIL = 1024
"""Bytes of an answer's end in which its usage stands."""
_BUSY = frozenset({429, 503})


class ScheduledCalls:
    """An Upstream around an Upstream: a call goes out when the scheduler gives it a turn, which it keeps to its end."""

    def __init__(
        self, inner: Upstream, scheduler: Scheduler, estimates: OutputEstimates, on_busy: Callable[[], None]
    ) -> None:
        """`on_busy`: a server said that it is full."""
        self._inner = inner
        self._scheduler = scheduler
        self._estimates = estimates
        self._on_busy = on_busy

    async def models(self) -> tuple[str, ...]:
        """See Upstream."""
        return await self._inner.models()

    async def close(self) -> None:
        """See Upstream."""
        await self._inner.close()

    @asynccontextmanager
    async def send(self, call: Call) -> AsyncIterator[Answer]:
        """See Upstream.

        Raises:
            Overloaded: "service_full": it would wait too long, or too many wait already.
            InputRejected: "deadline_exceeded": its deadline came before its turn.
        """
        mean, most = self._estimates.estimates(call.kind, call.answer_tokens)
        expected = replace(call, answer_tokens=most)
        async with self._scheduler.turn(current_caller().work(max(1, expected.tokens), most - mean)) as turn:
            count = _Count(turn, expected.prompt_tokens)
            try:
                async with self._inner.send(expected) as answer:
                    if answer.status in _BUSY:
                        self._on_busy()
                    if answer.status != 200:
                        turn.report(Outcome.REJECTED if answer.status < 500 else Outcome.FAILED)
                        yield answer
                        return
                    async with aclosing(count.counted(answer.chunks)) as chunks:
                        yield Answer(answer.status, answer.headers, chunks)
            finally:
                self._learn(call.kind, count)

    def _learn(self, kind: str, count: _Count) -> None:
        if count.usage is not None:
            self._estimates.finished(kind, count.usage)
        elif count.tokens:
            self._estimates.unfinished(kind, count.tokens)


class _Count:
    """The tokens of an answer, counted as they pass: events, and at the end what the server says itself.

    Attributes:
        tokens: so far.
        usage: of the whole answer; None until it is known.
    """

    def __init__(self, turn: Turn, prompt_tokens: int) -> None:
        self.tokens = 0
        self.usage: int | None = None
        self._turn = turn
        self._prompt_tokens = prompt_tokens
        self._tail = b""

    async def counted(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The chunks as they are."""
        async for chunk in chunks:
            self.tokens += chunk.count(_EVENT)
            self._turn.used(self._prompt_tokens + self.tokens)
            self._tail = (self._tail + chunk)[-_TAIL:] if len(chunk) < _TAIL else chunk[-_TAIL:]
            yield chunk
        found = _USAGE.findall(self._tail)
        if found:
            self.usage = int(found[-1])
            self._turn.used(self._prompt_tokens + self.usage)
