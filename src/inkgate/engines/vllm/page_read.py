"""One page read by a model server as one image."""

from __future__ import annotations

from dataclasses import dataclass

from inkgate.caller import Caller
from inkgate.engines.attempts import StageTimes
from inkgate.engines.vllm.encode import is_blank
from inkgate.engines.vllm.image_read import ImageRead, ImageReader, PageRequest, Picture
from inkgate.engines.vllm.parsers.answer import ParsedAnswer
from inkgate.types import Page, PageResult, Task, TaskKind


@dataclass(frozen=True, slots=True)
class PageReader:
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
            blank = await self.images.threads.run(is_blank, pixels.rgb)
        if blank:
            read = ImageRead(ParsedAnswer(""))
        else:
            read = await self.images.read(Picture(pixels.rgb, page.size), plan, request)
        return page_result(self.images.preset.name, page, task, read, request.timings)


def page_result(engine: str, page: Page, task: Task, read: ImageRead, timings: StageTimes) -> PageResult:
    """The page's result if `read` is the whole page."""
    answer = read.answer
    asked = task.kind is not TaskKind.TEXT and task.kind is not TaskKind.SPOT
    return PageResult(
        index=page.index,
        width=page.size.width,
        height=page.size.height,
        dpi=page.dpi,
        lines=read.lines,
        blocks=() if task.kind is TaskKind.PARSE else None,
        text=answer.text,
        markdown=(answer.text if answer.markdown is None else answer.markdown) if asked else None,
        fields=answer.fields,
        engine=engine,
        timings_ms=timings.spent_ms,
        error=None if read.error is None else read.error.as_page_error(),
        words=read.words,
        attempts=read.attempts,
    )
