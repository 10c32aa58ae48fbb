"""The whole way of a page through the service, from the cache to the engine and back."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Final

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.documents.open import OpenDocument
from inkgate.engines.attempts import AttemptTimer, fallback
from inkgate.engines.base import Engine
from inkgate.errors import (
    Blame,
    EngineFailed,
    InkgateError,
    OutputUnusable,
    Overloaded,
    RequestRefused,
    TaskUnsupported,
    from_page_error,
)
from inkgate.page import Page
from inkgate.service.complete import Completion, with_unread_ink
from inkgate.service.figures import Figures
from inkgate.service.page_cache import cache_key
from inkgate.service.readiness import EngineProgress
from inkgate.service.remembered_page import RememberedPage
from inkgate.service.text_layer import TextLayers
from inkgate.serving.breaker import Breaker, BreakerState
from inkgate.serving.cache import Cache, CacheSource
from inkgate.serving.degradation import Degradation, DegradationLevel
from inkgate.serving.order import Work
from inkgate.serving.outcomes import WorkOutcome
from inkgate.serving.quarantine import Quarantine
from inkgate.serving.queue import Turn, WorkQueue
from inkgate.settings import DegradationSettings
from inkgate.telemetry.observer import NO_OBSERVER, Observer
from inkgate_client.concurrency import single_error
from inkgate_client.types import Attempt, PageResult, Task, TaskKind

log = structlog.get_logger(__name__)

FIELDS_UNREAD: Final = "fields_unread"
"""A reason in `PageResult.degraded`: the model could not be asked for the fields of this page."""
NO_SERVER: Final = "model_server_out"
"""A reason in `PageResult.degraded`: a call to the model failed, or none was made, and another engine read the page.
Such pages are not cached."""
_OVERLOAD: Final = (
    "because more arrives than can be read. Send it again later; or the operator sets "
    "`serving.degradation.enabled = false`, and pages wait instead."
)
DEGRADED_NOTES: Final[Mapping[str, str]] = {
    DegradationLevel.IMAGE: f"read from a smaller image, in which small print has more errors, {_OVERLOAD}",
    DegradationLevel.OUTPUT: f"the length of the text was limited, so that its end may be missing, {_OVERLOAD}",
    DegradationLevel.EMBEDDED: f"read by ppocr instead of the model, tables with more errors, {_OVERLOAD}",
    NO_SERVER: "read by ppocr, because the model failed or can't be reached; `/readyz` says why. Tables, formulas and "
    "handwriting may have more errors. Send it again once the model reads.",
    FIELDS_UNREAD: "the model could not be asked for the fields; rules looked them up instead.",
}
"""What each reason in `PageResult.degraded` means for the text, after the numbers of the pages."""
_EMBEDDED_KINDS = frozenset({TaskKind.TEXT, TaskKind.PARSE, TaskKind.SPOT})
"""Tasks that the embedded engine can do."""


@dataclass(frozen=True, slots=True)
class EngineQueue:
    """The queue in front of the engine, and what is given up while it is long.

    Attributes:
        progress: of the engine, in pages.
        page_time_s: of a page at the engine if its caller has no deadline, as jobs have none; their wait has no
            limit.
        generates: its engine writes text token by token, so that shorter text saves time.
    """

    work_queue: WorkQueue
    degradation: Degradation
    settings: DegradationSettings
    progress: EngineProgress
    observer: Observer = NO_OBSERVER
    page_time_s: float = math.inf
    generates: bool = True

    @asynccontextmanager
    async def turn(self, page: Page, caller: Caller) -> AsyncIterator[Turn]:
        """The block is at the engine, and charged to the caller.

        Raises:
            Overloaded: "service_full": it would wait too long, or too many wait already.
            InputRejected, EngineFailed: its deadline passed before it got a slot, or `page_time_s` in the block; see
                `timeout_error`.
        """
        self.degradation.check(caller.priority)
        work = Work.of_pixels(page.size.pixels, caller)
        joined = perf_counter()
        async with self.work_queue.turn(work) as slot:
            begun = perf_counter()
            self.observer.stage("wait", begun - joined)
            # Callers with a deadline wait no longer than that, and the last one to leave ends the read.
            time_s = self.page_time_s if caller.deadline == math.inf else math.inf
            with self.progress.reading(), anyio.move_on_after(time_s) as limit:
                yield slot
            if limit.cancelled_caught:
                raise caller.timeout_error(f"The page was not read within {time_s:g} s at the engine.")
            self.observer.stage("engine", perf_counter() - begun)

    def ended(self, slot: Turn, result: PageResult) -> None:
        """Records what the engine did in its turn."""
        if result.error is not None:
            slot.report(WorkOutcome.FAILED)
        if result.error is None or from_page_error(result.error).blame is Blame.PAGE:
            self.progress.page_read()

    def leaves_it_to_embedded(self, caller: Caller) -> bool:
        """Whether the load requires that the embedded engine reads the pages of this caller."""
        return DegradationLevel.EMBEDDED in self.degradation.levels(caller.priority)

    def reduced(self, task: Task, caller: Caller) -> tuple[Task, tuple[str, ...]]:
        """The task as the level of degradation leaves it, and what that gives up."""
        levels, given_up = self.degradation.levels(caller.priority), []
        if DegradationLevel.IMAGE in levels:
            task = replace(task, image_scale=self.settings.image_scale)
            given_up.append(DegradationLevel.IMAGE.value)
        if DegradationLevel.OUTPUT in levels and self.generates:
            task = replace(task, max_output_tokens=self.settings.max_output_tokens)
            given_up.append(DegradationLevel.OUTPUT.value)
        return task, tuple(given_up)


@dataclass(frozen=True, slots=True)
class CurrentQueue:
    """The queue in which new pages wait now, as admission and degradation see it: that of the embedded engine while the
    breaker keeps pages from the model.
    """

    of_model: WorkQueue
    of_embedded: WorkQueue | None = None
    breaker: Breaker | None = None

    @property
    def _now(self) -> WorkQueue:
        if self.of_embedded is None or self.breaker is None or self.breaker.state is BreakerState.CLOSED:
            return self.of_model
        return self.of_embedded

    @property
    def waiting(self) -> int:
        return self._now.waiting

    @property
    def backlog_tokens(self) -> int:
        return self._now.backlog_tokens

    @property
    def queue_s(self) -> float | None:
        return self._now.queue_s

    def check(self, work: Work) -> None:
        self._now.check(work)

    def retry_after_s(self) -> float:
        return self._now.retry_after_s()

    def call_when_changed(self, changed: Callable[[], None]) -> None:
        self.of_model.call_when_changed(changed)
        if self.of_embedded is not None:
            self.of_embedded.call_when_changed(changed)


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages with an engine and everything around it: the cache, text layers, the queue, the breaker, another
    engine. It is an Engine itself, so that wrappers of other packages fit around it.

    Attributes:
        engine: reads what no text layer says.
        completion: what is added to every page.
        text_layers: None: text layers are not used.
        figures: None: figures have no images.
        cache: of page results; None: pages are not cached.
        revision: see `cache_key`.
        quarantine: of pages that crash model servers; None for an engine without model servers.
        queue: in front of the engine; None for an engine that has limits of its own.
        breaker: of the engine; None for an engine without model servers.
        embedded: the engine that reads what the model can't, and batches under load; None: there is no other.
        embedded_queue: in front of that; it has one wherever there is another engine.
        asks_for_fields: the engine can be asked for fields.
        grounding_reader: reads the lines in which the engine's values of fields are looked up; None: this reader does.
    """

    engine: Engine
    completion: Completion
    text_layers: TextLayers | None = None
    figures: Figures | None = None
    cache: Cache[PageResult] | None = None
    revision: str = ""
    quarantine: Quarantine | None = None
    queue: EngineQueue | None = None
    breaker: Breaker | None = None
    embedded: Engine | None = None
    embedded_queue: EngineQueue | None = None
    asks_for_fields: bool = False
    grounding_reader: PageReader | None = None
    observer: Observer = NO_OBSERVER

    @property
    def name(self) -> str:
        """The engine's."""
        return self.engine.name

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of what a page passes here, from the caller to the engine, which is the last."""
        used = {
            "images": self.figures is not None,
            "fields": self.asks_for_fields,
            "cache": self.cache is not None,
            "codes": self.completion.codes,
            "edges": True,
            "confidence": True,
            "terms": self.completion.terms is not None,
            "text layer": self.text_layers is not None,
            "unread": True,
            "quarantine": self.quarantine is not None,
            "scheduler": self.queue is not None,
            "progress": self.queue is not None,
            "degradation": self.queue is not None,
            "fallback": self.embedded is not None,
            "breaker": self.breaker is not None,
        }
        return (*(name for name, is_used in used.items() if is_used), self.name)

    async def start(self) -> None:
        """Starts the engines. Raises EngineFailed("engine_unavailable")."""
        await self.engine.start()
        if self.embedded is not None:
            await self.embedded.start()
        if self.grounding_reader is not None:
            await self.grounding_reader.start()

    async def stop(self) -> None:
        """Stops the engines, all of them even if one fails to."""
        try:
            await self.engine.stop()
        finally:
            try:
                if self.embedded is not None:
                    await self.embedded.stop()
            finally:
                if self.grounding_reader is not None:
                    await self.grounding_reader.stop()

    def page_of(self, document: OpenDocument, index: int, caller: Caller) -> Page:
        """A page for `read`, which opens it on behalf of `caller` if it is not in the cache."""
        return RememberedPage.of(document, index, caller)

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """The content of an open page, or of one from `page_of`; opening that raises as OpenDocument.page.

        Raises:
            InputRejected: the page or the task is at fault, or the page is in quarantine.
            Overloaded: the page would wait too long, too many wait already, or the breaker is open.
            EngineFailed: the engine is at fault.
        """
        page = RememberedPage.around(page)
        plain = replace(task, images=False)
        if self.asks_for_fields and task.fields and task.kind is TaskKind.PARSE:
            result = await self._read_with_fields(page, plain, caller)
        else:
            result = await self._read_once(page, plain, caller)
        if task.images and task.kind is TaskKind.PARSE and self.figures is not None:
            result = await self.figures.add(page, result, caller)
        return result

    async def _read_once(self, page: RememberedPage, task: Task, caller: Caller) -> PageResult:
        """Reads the page, or takes it from the cache or from others that request it at the same time with the same
        priority, so that nobody waits for a less urgent read. The read waits in the queue with the deadline and the
        share of its first caller; if these end it there, the others start again. At the engine it goes on, with the
        page open, while anybody waits for it, each to their own deadline. `timings_ms` has only `cache` then.
        """
        if self.cache is None or not page.content_key or caller.anew:
            return await self._read_now(page, task, caller)
        begun = perf_counter()
        key = cache_key(page.content_key, task, self.name, self.revision)
        read = partial(self._read_now, page, task, caller)
        # The read runs in a task of the cache, so that it outlives the caller who began it.
        result, source = await self.cache.get_or_run(key, read, caller, caller.priority, page.retain)
        if source is CacheSource.RUN:
            return result
        return replace(result, index=page.index, timings_ms={"cache": (perf_counter() - begun) * 1000})

    async def _read_now(self, page: RememberedPage, task: Task, caller: Caller) -> PageResult:
        """Reads the page from its text layer or by the engine, with what is added to every page."""
        begun = perf_counter()
        await page.open()
        self.observer.stage("open", perf_counter() - begun)
        if self.text_layers is None or page.text_layer is None:
            result = await self._read_pixels(page, task, caller)
        else:
            result = await self.text_layers.read(page, task, caller, self._read_pixels)
        if result.source == "ocr":
            result = await with_unread_ink(page, result, task, self.completion.threads, caller)
        return await self.completion.complete(page, result, task, caller)

    async def _read_pixels(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """Reads the page by the engine, or by the embedded one: batches under load, and what the engine does not read
        because it fails on the page or its servers fail. A turn at the engine has ended then. The embedded one is not
        asked where the service is to blame, as by a deadline: that would meet it as well.

        A dead model server delays its pages as follows before the embedded engine reads them. The balancer sends a call
        without any response once more, and ImageReader asks once more for an answer that was cut off. If no server is
        up, the call waits until `recover_s` (30 s; 300 s for a managed server) after the last server was lost, and then
        fails. The setting `engine.vllm.fallback` sets `BalancerSettings.gives_up`, so this moment is the same for all
        calls, and later pages fail at once. A server that hangs is taken out after `stalled_s` (60 s) of silence and a
        failed probe; the wait begins then. The retries of a preset add nothing: they are for unusable answers, and a
        lost server ends them.
        """
        if self.queue is None:
            return await self.engine.read(page, task, caller)
        model = partial(self._read_in_turn, self.engine, self.queue, page, task, caller)
        if self.embedded is None or self.embedded_queue is None or task.kind not in _EMBEDDED_KINDS:
            return await model()
        other = partial(self._read_in_turn, self.embedded, self.embedded_queue, page, task, caller)
        if self.queue.leaves_it_to_embedded(caller):
            result = await other()
            return replace(result, degraded=(*result.degraded, DegradationLevel.EMBEDDED.value))
        timer = AttemptTimer("")
        try:
            result = await model()
        except (EngineFailed, Overloaded, RequestRefused) as error:
            if error.blame not in (Blame.PAGE, Blame.SERVER):
                raise
            first = timer.ended(error)
            log.warning("page_taken_over", page=page.index, by=self.embedded.name, code=error.code)
            second, attempt = await fallback(other, f"engine {self.embedded.name}")
            return _instead(second, error, (first, attempt))
        if result.error is None or not isinstance(from_page_error(result.error), OutputUnusable):
            return result
        log.warning("page_taken_over", page=page.index, by=self.embedded.name, code=result.error.code)
        second, attempt = await fallback(other, f"engine {self.embedded.name}")
        return _better(result, second, attempt)

    async def _read_in_turn(
        self, engine: Engine, queue: EngineQueue, page: Page, task: Task, caller: Caller
    ) -> PageResult:
        """Reads the page by `engine` in its queue, with less asked of it under load; a model is read behind its
        breaker. Suspects of a crash of the model wait for each other before they wait for a turn, so that they take no
        slots meanwhile.
        """
        quarantine, breaker = (self.quarantine, self.breaker) if engine is self.engine else (None, None)
        alone = quarantine.reading(page.content_key) if quarantine and page.content_key else nullcontext()
        async with alone, queue.turn(page, caller) as turn:
            task, given_up = queue.reduced(task, caller)
            timed_out = partial(_timed_out, caller, anyio.current_time())
            async with nullcontext() if breaker is None else breaker.guard(timed_out, page.content_key):
                result = await engine.read(page, task, caller)
            queue.ended(turn, result)
        return replace(result, degraded=(*result.degraded, *given_up)) if given_up else result

    async def _read_with_fields(self, page: RememberedPage, task: Task, caller: Caller) -> PageResult:
        """Returns what the grounding engine reads, with the engine's answer to the fields in `PageResult.fields`.
        Without an answer, the fields are left out.
        """
        answers: list[PageResult | None] = []

        async def ask() -> None:
            answers.append(await self._fields_of(page, replace(task, kind=TaskKind.EXTRACT), caller))

        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                read = self._read_once if self.grounding_reader is None else self.grounding_reader.read
                result = await read(page, replace(task, fields=()), caller)
        (answer,) = answers
        if answer is None:
            return replace(result, degraded=(*result.degraded, FIELDS_UNREAD))
        return replace(result, fields=answer.fields, attempts=(*result.attempts, *answer.attempts))

    async def _fields_of(self, page: RememberedPage, task: Task, caller: Caller) -> PageResult | None:
        """The engine's answer; None if it fails. Rules then find what they can."""
        try:
            answer = await self._read_once(page, task, caller)
        except TaskUnsupported:
            return PageResult(page.index)
        except Overloaded as error:
            if error.blame is not Blame.SERVER:
                raise
            return None
        except EngineFailed as error:
            log.warning("fields_unread", page=page.index, code=error.code)
            return None
        return answer if answer.error is None else None


def _timed_out(caller: Caller, begun: float) -> bool:
    """Whether the engine used most of the service's time limit and did not finish: it hangs or is too slow. A client's
    own timeout says nothing about the engine, nor does a page that started late. `begun`: on the event loop's clock.
    """
    now = anyio.current_time()
    return not caller.deadline_given and now >= caller.deadline and now - begun >= caller.patience_s / 2


def _better(first: PageResult, second: PageResult | None, attempt: Attempt) -> PageResult:
    """The second reading unless it failed, with the attempts of both. `first`: with an error, and perhaps some text."""
    if second is None:
        return replace(first, attempts=(*first.attempts, attempt))
    better = first if second.error is not None else second
    return replace(better, attempts=(*first.attempts, *second.attempts, attempt))


def _instead(second: PageResult | None, error: InkgateError, attempts: tuple[Attempt, Attempt]) -> PageResult:
    """The second reading of a page on which the engine failed with `error`. Raises that if the second failed, too; or
    Overloaded if there was no room for it.
    """
    first, last = attempts
    if second is None or second.error is not None:
        second_error = None if last.error is None else from_page_error(last.error)
        raise second_error if isinstance(second_error, Overloaded) else error
    degraded = second.degraded if isinstance(error, OutputUnusable) else (*second.degraded, NO_SERVER)
    return replace(second, degraded=degraded, attempts=(first, *second.attempts, last))
