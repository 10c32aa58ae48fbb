"""One page read by a model server: its image made, the model asked, asked again where it ran in circles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import structlog

from inkgate.concurrency import Threads
from inkgate.engines.vllm.ask import Reply, ask
from inkgate.engines.vllm.client import ChatClient
from inkgate.engines.vllm.confidence import Confidence, scored_words
from inkgate.engines.vllm.encode import EncodedImage, encode, is_blank
from inkgate.engines.vllm.parsers.answer import Answer
from inkgate.engines.vllm.preset import Plan, Preset
from inkgate.errors import EngineFailed, InkgateError
from inkgate.settings import VllmSettings
from inkgate.types import Attempt, Line, Page, PageError, PageResult, RgbArray, Size, Task, TaskKind, TextWord

log = structlog.get_logger(__name__)

RETRIED = frozenset({"output_repeats", "engine_output_invalid"})
"""What another temperature or size may mend. A token limit is reached again."""
_PATTERN_TOKENS = 64


@dataclass(frozen=True, slots=True)
class _Step:
    """A way to ask, and what is different about it."""

    plan: Plan
    change: str


@dataclass(frozen=True, slots=True)
class _Read:
    """What an attempt read, and what is wrong with that."""

    answer: Answer
    lines: tuple[Line, ...]
    words: tuple[TextWord, ...]
    error: InkgateError | None


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages with one model on one server."""

    preset: Preset
    model: str
    settings: VllmSettings
    client: ChatClient
    threads: Threads

    async def read(self, page: Page, task: Task, plan: Plan) -> PageResult:
        """What is on the page. `timings_ms` has: render, encode, first_token, generate, parse.

        An answer that is cut off by its token limit, or that runs in circles on every step of the preset's ladder, is
        given as it is, with `error` set.

        Raises:
            InputRejected: the page can't be made, or the server refuses it.
            EngineFailed: the server.
        """
        timings: dict[str, float] = {}
        with _timed(timings, "render"):
            target = plan.limits.resized(page.size)
            pixels = await page.pixels(max(target.width, target.height))
            blank = await self.threads.run(is_blank, pixels.rgb)
        if blank:
            await self.client.models()  # nothing to ask, but who reads a page wants to know that pages are read
            return self._result(page, task, _Read(Answer(""), (), (), None), timings, ())
        attempts: list[Attempt] = []
        best = await self._tried(page, plan, pixels.rgb, timings, attempts)
        return self._result(page, task, best, timings, tuple(attempts))

    async def _tried(
        self, page: Page, plan: Plan, rgb: RgbArray, timings: dict[str, float], attempts: list[Attempt]
    ) -> _Read:
        """The first answer that is whole; where no step of the ladder gives one, the longest. Adds to `attempts`.

        Raises:
            InputRejected, EngineFailed: the first attempt failed. Later ones end the ladder.
        """
        best: _Read | None = None
        image: EncodedImage | None = None
        for step in self._steps(plan):
            with _timed(timings, "encode"):
                image = await self._image(rgb, page.size, step.plan, image)
            begun = perf_counter()
            try:
                found = await self._attempt(page, step.plan, image, timings)
            except InkgateError as error:
                if best is None:
                    raise
                attempts.append(_attempt(step, error, begun))
                break
            attempts.append(_attempt(step, found.error, begun))
            if found.error is None:
                return found
            if best is None or len(found.answer.text) > len(best.answer.text):
                best = found
            if found.error.code not in RETRIED:
                break
            log.warning("page_runaway", page=page.index, model=self.model, change=step.change, code=found.error.code)
        assert best is not None, "there is a first step, and it raised or gave an answer"  # noqa: S101 - for mypy
        return best

    def _steps(self, plan: Plan) -> list[_Step]:
        steps = [_Step(plan, "")]
        for rung in self.preset.ladder:
            changes = [] if rung.temperature is None else [f"temperature {rung.temperature:g}"]
            changes += [] if rung.scale == 1.0 else [f"size {rung.scale:g}"]
            steps.append(_Step(rung.applied(plan), ", ".join(changes)))
        return steps

    async def _image(self, rgb: RgbArray, size: Size, plan: Plan, last: EncodedImage | None) -> EncodedImage:
        """The page as `plan` has it; `last` where that is the same."""
        target = plan.limits.resized(size)
        if last is not None and last.target == target:
            return last
        # Doubling small images is part of how such a model is asked; its server doesn't do it.
        under = plan.limits.double_under
        enlarge = 2.0 if under is not None and max(size.width, size.height) < under else 1.0
        return await self.threads.run(encode, rgb, target, self.settings.jpeg_quality, enlarge=enlarge)

    async def _attempt(self, page: Page, plan: Plan, image: EncodedImage, timings: dict[str, float]) -> _Read:
        reply = await ask(self.client, self.request(plan, image.url))
        _add(timings, "first_token", reply.first_token_ms)
        _add(timings, "generate", reply.whole_ms - reply.first_token_ms)
        with _timed(timings, "parse"):
            return await self.threads.run(_understood, reply, plan, page.size)

    def request(self, plan: Plan, image_url: str) -> dict[str, object]:
        """The chat completion that asks for `plan`."""
        settings = self.settings
        request: dict[str, object] = {
            "model": self.model,
            "messages": self.preset.messages(plan.prompt, image_url),
            **plan.as_request(),
        }
        if settings.max_tokens:
            limit = "max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"
            request[limit] = settings.max_tokens
        if settings.logprobs:
            request["logprobs"] = True
        if settings.repetition_count > 1:
            request["repetition_detection"] = {
                "max_pattern_size": _PATTERN_TOKENS,
                "min_pattern_size": 1,
                "min_count": settings.repetition_count,
            }
        return request

    def _result(
        self, page: Page, task: Task, read: _Read, timings: dict[str, float], attempts: tuple[Attempt, ...]
    ) -> PageResult:
        parse = task.kind is TaskKind.PARSE
        answer = read.answer
        asked = task.kind is not TaskKind.TEXT and task.kind is not TaskKind.SPOT
        return PageResult(
            index=page.index,
            width=page.size.width,
            height=page.size.height,
            dpi=page.dpi,
            lines=read.lines,
            blocks=() if parse else None,
            text=answer.text,
            markdown=(answer.text if answer.markdown is None else answer.markdown) if asked else None,
            engine=self.preset.name,
            timings_ms=timings,
            error=None if read.error is None else read.error.as_page_error(),
            words=read.words,
            attempts=attempts,
        )


def _understood(reply: Reply, plan: Plan, size: Size) -> _Read:
    """The reply, parsed, with the confidence of its parts. Blocking."""
    error: InkgateError | None = reply.error
    try:
        answer = plan.parser(reply.text, size)
    except EngineFailed as failure:
        return _Read(Answer(reply.text), (), (), error or failure)
    confidence = Confidence(reply.text, reply.tokens)
    lines = tuple(found.as_line(_known(confidence.of(found.start, found.end))) for found in answer.lines)
    words = scored_words(answer.text, confidence) if not lines and reply.tokens else ()
    return _Read(answer, lines, words, error)


def _known(confidence: float | None) -> float:
    """Lines have to have a confidence: where nobody asked for log-probabilities it is full."""
    return 1.0 if confidence is None else confidence


def _attempt(step: _Step, error: InkgateError | None, begun: float) -> Attempt:
    reason: PageError | None = None if error is None else error.as_page_error()
    return Attempt(step.change, reason, (perf_counter() - begun) * 1000)


def _add(timings: dict[str, float], stage: str, spent_ms: float) -> None:
    timings[stage] = timings.get(stage, 0.0) + spent_ms


@contextmanager
def _timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Adds the time that the block takes."""
    started = perf_counter()
    try:
        yield
    finally:
        _add(timings, stage, (perf_counter() - started) * 1000)
