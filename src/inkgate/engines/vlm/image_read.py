"""Reads one image, or a page as one image, with a model server, with retries if the model repeats itself or its server
is lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from inkgate.caller import Caller
from inkgate.engines.attempts import AttemptTimer, StageTimes
from inkgate.engines.vlm.answer_schema import BLANK_TAIL, SchemaSupport, completed
from inkgate.engines.vlm.confidence import Confidence, scored_words
from inkgate.engines.vlm.images import EncodedImage, encode, is_blank
from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate.engines.vlm.preset import Preset, PromptPlan
from inkgate.engines.vlm.reply import ModelReply, ask
from inkgate.errors import (
    AnswerLost,
    AnswerTruncated,
    EngineFailed,
    InkgateError,
    InputRejected,
    OutputUnusable,
    RequestRefused,
)
from inkgate.layout.text.markdown import RUNNING, page_markdown, running_text
from inkgate.layout.text.running import is_page_number
from inkgate.model_servers.client import ChatClient, stream_body
from inkgate.model_servers.protocol import token_limit
from inkgate.model_servers.upstream import ModelCall, ServedModelName
from inkgate.page import Page, RgbArray
from inkgate.serving.threads import FairThreads
from inkgate.settings import VllmSettings
from inkgate_client.types import (
    Attempt,
    Block,
    BlockType,
    LeftOut,
    LeftOutReason,
    Line,
    PageResult,
    Size,
    Task,
    TaskKind,
    TextWord,
)

log = structlog.get_logger(__name__)
_ENCODE_MS = 50
"""Estimate of what a thread takes to encode a page, until its time is known."""
_PATTERN_TOKENS = 64
_PROMPT_CHARACTERS = 2
"""Characters per token of a prompt: a low estimate even for Chinese; prompts are short."""
_TEMPLATE_TOKENS = 16
"""Tokens that a model's chat template adds."""
_LEAST_ANSWER = 16
"""Tokens of the shortest answer that is worth a request."""
_KIND = 24
"""Characters of a prompt that distinguish it from the model's others."""


@dataclass(frozen=True, slots=True)
class ImageRead:
    """The reading of an image, its error, and its attempts.

    `lines` are in pixels of the requested size; `words` are words of `answer.text`.
    """

    answer: ParsedAnswer
    lines: tuple[Line, ...] = ()
    words: tuple[TextWord, ...] = ()
    error: InkgateError | None = None
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The read of a page that images belong to.

    Attributes:
        caller: on whose behalf it is read.
        content: the page's content key.
        timings: wall time spent on it by stage.
    """

    caller: Caller
    content: bytes = b""
    timings: StageTimes = field(default_factory=StageTimes)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image to be read.

    Attributes:
        rgb: its pixels, (H, W, 3); may be fewer than `size` says.
        size: in page pixels; limits and coordinates refer to it.
        part: which part of a page it is, for the attempts (`block 3`); empty for the whole page.
    """

    rgb: RgbArray
    size: Size
    part: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """One request to try, and how it differs from the first."""

    plan: PromptPlan
    change: str


@dataclass(slots=True)
class ContextLimit:
    """Maximum tokens of a prompt with its answer, as a server reports; None: unknown. Of several servers, the last one
    that was asked because a request did not fit.
    """

    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ImageReader:
    """Reads images with one model on one server, or on several behind one address."""

    preset: Preset
    model: str
    settings: VllmSettings
    client: ChatClient
    threads: FairThreads
    schemas: SchemaSupport = field(default_factory=SchemaSupport)
    context: ContextLimit = field(default_factory=ContextLimit)

    async def read(self, picture: Picture, plan: PromptPlan, request: PageRequest) -> ImageRead:
        """The first complete answer; if no attempt gives one, the longest, with `error`.

        Adds to `request.timings`: encode, first_token, generate, parse.

        Raises:
            InputRejected: the server refuses the image, its shape is not supported by the model, or the server's
                context is too short for it.
            EngineFailed: the first step failed. Later failures end the retries.
        """
        attempts: list[Attempt] = []
        best: ImageRead | None = None
        image: EncodedImage | None = None
        for step in self._steps(plan):
            with request.timings.of("encode"):
                image = await self._image(picture, step.plan, image, request.caller)
            try:
                found = await self._step(picture, step, image, request, attempts)
            except InkgateError:
                if best is None:
                    raise
                break
            if found.error is None:
                return _with(found, attempts)
            if best is None or len(found.answer.text) > len(best.answer.text):
                best = found
            if not isinstance(found.error, OutputUnusable):
                break
            log.warning("runaway", part=picture.part, model=self.model, change=step.change, code=found.error.code)
        assert best is not None, "there is a first step, and it raised or gave an answer"  # noqa: S101 - for mypy
        return _with(best, attempts)

    def request(self, plan: PromptPlan, image_url: str) -> dict[str, object]:
        """The chat completion for `plan`."""
        settings = self.settings
        request: dict[str, object] = {
            "model": self.model,
            "messages": self.preset.messages(plan.prompt, image_url),
            **plan.as_request(),
        }
        if settings.max_tokens:
            limit = "max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"
            request[limit] = settings.max_tokens
        if plan.answer is not None and settings.structured_fields and self.schemas.expected:
            request["response_format"] = plan.answer.response_format
        if settings.logprobs:
            request["logprobs"] = True
        if settings.repetition_count > 1:
            request["repetition_detection"] = {
                "max_pattern_size": _PATTERN_TOKENS,
                "min_pattern_size": 1,
                "min_count": settings.repetition_count,
            }
        return request

    def _steps(self, plan: PromptPlan) -> list[_Step]:
        steps = [_Step(plan, "")]
        for retry in self.preset.retries:
            changes = [] if retry.temperature is None else [f"temperature {retry.temperature:g}"]
            changes += [] if retry.scale == 1.0 else [f"size {retry.scale:g}"]
            steps.append(_Step(retry.applied(plan), ", ".join(changes)))
        return steps

    async def _image(
        self, picture: Picture, plan: PromptPlan, last: EncodedImage | None, caller: Caller
    ) -> EncodedImage:
        """The picture encoded for `plan`; `last` if that is the same."""
        target = plan.limits.resized(picture.size)
        if last is not None and last.target == target:
            return last
        # Enlarging small images is part of the model's protocol; its server does not do it.
        under = plan.limits.double_under
        enlarge = 2.0 if under is not None and max(picture.size.width, picture.size.height) < under else 1.0
        if plan.limits.sent and picture.size.width * picture.size.height < plan.limits.min_pixels:
            enlarge = math.inf  # up to the target: the server may not accept the limits
        quality, stretch = self.settings.jpeg_quality, plan.limits.stretch is not None
        return await self.threads.run(
            caller, _ENCODE_MS, encode, picture.rgb, target, quality, enlarge=enlarge, stretch=stretch
        )

    async def _step(
        self, picture: Picture, step: _Step, image: EncodedImage, request: PageRequest, attempts: list[Attempt]
    ) -> ImageRead:
        """One attempt, repeated once if the server was lost. Adds to `attempts`."""
        for again in (False, True):
            change = ", ".join(part for part in (picture.part, step.change, "again" if again else "") if part)
            attempt = AttemptTimer(change)
            try:
                found = await self._ask(picture, step.plan, image, request)
            except InkgateError as error:
                attempts.append(attempt.ended(error))
                if again or not isinstance(error, AnswerLost):
                    raise
                log.warning("asked_again", part=picture.part, model=self.model, code=error.code)
                continue
            attempts.append(attempt.ended(found.error))
            return found
        raise AssertionError("the second round returns or raises")

    async def _ask(
        self, picture: Picture, plan: PromptPlan, image: EncodedImage, request: PageRequest, *, again: bool = True
    ) -> ImageRead:
        """`again`: asks once more if the server's context is another than was known."""
        body = self.request(plan, image.url)
        tokens = plan.limits.tokens(picture.size)
        try:
            cut = self._fit(body, tokens, tokens + self._text_tokens(plan))
        except InputRejected:
            if not again or not await self._is_context_changed():
                raise
            return await self._ask(picture, plan, image, request, again=False)
        call = replace(self._call(plan, tokens, body, image), caller=request.caller, content=request.content)
        call = replace(call, body=await self.threads.run_large(request.caller, len(image.url), stream_body, body))
        try:
            reply = await self._reply(body, call)
        except RequestRefused:
            if not again or not await self._is_context_changed(longer=False):
                raise
            return await self._ask(picture, plan, image, request, again=False)
        if cut and isinstance(reply.error, AnswerTruncated):
            with suppress(InkgateError):
                await self._is_context_changed()  # for the next one
            reply = replace(reply, error=EngineFailed(reply.error.code, cut))
        request.timings.add("first_token", reply.first_token_ms)
        request.timings.add("generate", reply.whole_ms - reply.first_token_ms)
        with request.timings.of("parse"):
            return await self.threads.run(request.caller, 1, _understood, reply, plan, picture.size, image.size)

    async def _reply(self, body: dict[str, object], call: ModelCall) -> ModelReply:
        """The reply. A request that is refused with a schema is sent once more without."""
        try:
            return await ask(self.client, body, call, BLANK_TAIL if "response_format" in body else 0)
        except RequestRefused:
            if body.pop("response_format", None) is None:
                raise
        reply = await ask(self.client, body, replace(call, body=b""))
        log.info("model_server_refuses_schema", model=self.model)
        self.schemas.refused()
        return reply

    def _fit(self, body: dict[str, object], image_tokens: int, prompt_tokens: int) -> str:
        """Lowers the request's limit of the answer to what the server's context leaves for it. Returns why; empty: the
        limit is unchanged.

        Raises:
            InputRejected: "context_length_exceeded": nothing is left.
        """
        wanted, context = token_limit(body), self.context.tokens
        if wanted is None or context is None or prompt_tokens + wanted <= context:
            return ""
        left = context - prompt_tokens
        if left < _LEAST_ANSWER:
            raise InputRejected(
                "context_length_exceeded",
                f"The model server's --max-model-len is {context} tokens; the image takes {image_tokens} of them, the "
                f"whole prompt {prompt_tokens}.",
            )
        body["max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"] = left
        return (
            f"The answer reached its token limit before its end: the model server's --max-model-len of {context} "
            f"leaves {left} tokens for it."
        )

    async def _is_context_changed(self, *, longer: bool = True) -> bool:
        """Notes the context that a server reports now. Returns whether it is less than was known, or also more."""
        name = next((name for name in await self.client.models() if name == self.model), "")
        found = name.max_model_len if isinstance(name, ServedModelName) else None
        known = self.context.tokens
        if found is None or found == known or (known is not None and found > known and not longer):
            return False
        log.warning("model_server_context_changed", model=self.model, max_model_len=found, before=known)
        self.context.tokens = found
        return True

    def _text_tokens(self, plan: PromptPlan) -> int:
        """An estimate of the prompt's tokens without the image."""
        return (len(plan.prompt) + len(self.preset.system or "")) // _PROMPT_CHARACTERS + _TEMPLATE_TOKENS

    def _call(self, plan: PromptPlan, tokens: int, body: Mapping[str, object], image: EncodedImage) -> ModelCall:
        """The call's metadata: the exact number of image `tokens`, and the maximum length of the answer."""
        return ModelCall(
            b"",
            prompt_tokens=tokens + self._text_tokens(plan),
            answer_tokens=token_limit(body) or 0,
            kind=f"{self.preset.name} {plan.prompt[:_KIND]} {tokens.bit_length()}",
            key=image.key,
        )


def _understood(reply: ModelReply, plan: PromptPlan, size: Size, sent: Size) -> ImageRead:
    """The reply, parsed, with the confidence of its parts. `sent`: size of the image as sent, which the server resizes
    as its limits say. Blocking.
    """
    error: InkgateError | None = reply.error
    if error is not None and plan.answer is not None and (whole := completed(reply.text)) is not None:
        reply, error = replace(reply, text=whole, error=None), None
    seen = plan.limits.resized(sent) if plan.in_seen_pixels else size
    try:
        answer = plan.parser(reply.text, seen)
    except EngineFailed as failure:
        return ImageRead(ParsedAnswer(reply.text), error=error or failure)
    answer = answer if seen == size else answer.scaled(seen, size)
    if plan.answer is not None and answer.fields is not None:
        answer = replace(answer, fields=plan.answer.checked(answer.fields))
    confidence = Confidence(reply.text, reply.tokens)
    lines = tuple(found.as_line(_known(confidence.of(found.start, found.end))) for found in answer.lines)
    words = scored_words(answer.text, confidence) if not lines and reply.tokens else ()
    return ImageRead(answer, lines, words, error)


def _known(confidence: float | None) -> float:
    """Lines need a confidence: 1 if no log-probabilities were requested."""
    return 1.0 if confidence is None else confidence


def _with(read: ImageRead, attempts: list[Attempt]) -> ImageRead:
    return ImageRead(read.answer, read.lines, read.words, read.error, tuple(attempts))


@dataclass(frozen=True, slots=True)
class WholePageReader:
    """Reads pages as one image."""

    images: ImageReader

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """The page's content. `timings_ms` has: render, encode, first_token, generate, parse.

        An answer that reaches its token limit, or that repeats itself in every retry of the preset, is returned with
        `error` set.

        Raises:
            InputRejected: the model does not support the task, the page can't be rendered, or the server refuses it.
            EngineFailed: the server fails.
        """
        plan = self.images.preset.plan(task.kind, task.fields, task.language)
        plan = plan.reduced(task.image_scale, task.max_output_tokens)
        request = PageRequest(caller, page.content_key)
        with request.timings.of("render"):
            target = plan.limits.resized(page.size)
            pixels = await page.pixels(max(target.width, target.height))
            blank = await self.images.threads.run(caller, 1, is_blank, pixels.rgb)
        if blank:
            read = ImageRead(ParsedAnswer(""))
        else:
            read = await self.images.read(Picture(pixels.rgb, page.size), plan, request)
        return page_result(self.images.preset.name, page, task, read, request.timings)


def page_result(engine: str, page: Page, task: Task, read: ImageRead, timings: StageTimes) -> PageResult:
    """The page's result if `read` is the whole page."""
    answer = read.answer
    with_markdown = task.kind is not TaskKind.TEXT and task.kind is not TaskKind.SPOT
    parse = task.kind is TaskKind.PARSE
    charted = task.kind is TaskKind.CHART and answer.diagram is not None
    blocks = _blocks_of(answer) if parse or charted else ()
    left_out = page_numbers(blocks)
    markdown = answer.text if answer.markdown is None else answer.markdown
    return PageResult(
        index=page.index,
        width=page.size.width,
        height=page.size.height,
        dpi=page.dpi,
        lines=read.lines,
        blocks=blocks if parse or charted else None,
        text=answer.text,
        markdown=(page_markdown(blocks, left_out) if blocks else markdown) if with_markdown else None,
        header=running_text(blocks, BlockType.HEADER),
        footer=running_text(blocks, BlockType.FOOTER),
        left_out=left_out,
        fields=answer.fields,
        engine=engine,
        timings_ms=timings.spent_ms,
        error=None if read.error is None else read.error.as_page_error(),
        words=read.words,
        attempts=read.attempts,
    )


def _blocks_of(answer: ParsedAnswer) -> tuple[Block, ...]:
    """The blocks, in the answer's order."""
    return tuple(
        Block(each.type, each.box, (), each.text, each.markdown, level=each.level, diagram=each.diagram)
        for each in answer.blocks
    )


def page_numbers(blocks: Sequence[Block]) -> tuple[LeftOut, ...]:
    """Running lines that are page numbers: the Markdown is without them."""
    return tuple(
        LeftOut(block.text, LeftOutReason.PAGE_NUMBER, ())
        for block in blocks
        if block.type in RUNNING and is_page_number(block.text)
    )
