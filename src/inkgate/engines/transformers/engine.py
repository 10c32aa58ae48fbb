"""The baseline for comparisons with vLLM: the same presets on transformers' `generate`, in this process.

The model is behind the same port as a model server, so that the same engine can use either.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import anyio.from_thread
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from inkgate.engines.base import Engine, EngineWrapper
from inkgate.engines.transformers.chat import GeneratedPiece, GenerativeModel, chat_prompt_of, event_of, events_of
from inkgate.engines.vlm.preset import Preset
from inkgate.errors import EngineFailed, InkgateError, InputRejected
from inkgate.model_servers.upstream import ModelAnswer, ModelCall
from inkgate.settings import TransformersSettings, VllmSettings
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)
_HEADERS = {"content-type": "text/event-stream"}
_Event = bytes | InkgateError
PAGES_AT_ONCE = 2
"""One is read while the next is prepared."""
_PATIENCE_S = 86_400.0
"""Timeout for a token. The model can't be unreachable but may be slow on a CPU; documents have their own deadline."""


@dataclass(frozen=True, slots=True)
class _PendingAnswer:
    """A queued request: where its events go, and whether its caller still waits."""

    body: bytes
    events: MemoryObjectSendStream[_Event]
    left: threading.Event


class InProcessUpstream:
    """An Upstream: one model, one answer at a time, in the thread `transformers`; the others are queued.

    Its background task is `run`.
    """

    def __init__(self, name: str, load: Callable[[], GenerativeModel]) -> None:
        """`name`: the model's name for requests. `start` calls `load` in the thread."""
        self._name = name
        self._load = load
        self._model: GenerativeModel | None = None
        self._threads = Threads("transformers", 1)
        self._closed = threading.Event()
        self._jobs: deque[_PendingAnswer] = deque()
        self._arrived = anyio.Event()

    async def start(self) -> None:
        """Loads the model. Raises EngineFailed, as `load` does."""
        self._model = await self._threads.run(self._load)

    async def run(self) -> None:
        """Answers requests until it is cancelled or closed; queued requests then fail.

        May be run again.
        """
        try:
            while not self._closed.is_set():
                if self._jobs:
                    await self._do(self._jobs.popleft())
                else:
                    self._arrived = anyio.Event()
                    await self._arrived.wait()
        finally:
            while self._jobs:
                self._jobs.popleft().events.close()

    async def models(self) -> tuple[str, ...]:
        """Lists the name of the model.

        Raises:
            EngineFailed: "engine_unavailable": the model is not loaded.
        """
        self._loaded()
        return (self._name,)

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """Generates an answer. Leaving the block ends it after the current token.

        Raises:
            EngineFailed: "engine_unavailable" on entering; the model's errors while reading the chunks.
            InputRejected: while reading the chunks: the request is invalid, or the model can't process it.
        """
        self._loaded()
        call.sent()
        left = threading.Event()
        # Room for a whole answer, which is bounded by its tokens: the model never waits for its reader.
        events, heard = anyio.create_memory_object_stream[_Event](math.inf)
        self._jobs.append(_PendingAnswer(call.body, events, left))
        self._arrived.set()
        try:
            yield ModelAnswer(200, _HEADERS, _chunks(heard))
        finally:
            left.set()
            heard.close()
            events.close()

    async def close(self) -> None:
        """Releases the model; an answer in progress ends with its next token."""
        self._closed.set()
        self._model = None
        self._arrived.set()

    def _loaded(self) -> GenerativeModel:
        if self._model is None:
            raise EngineFailed("engine_unavailable", "The model is not loaded.")
        return self._model

    async def _do(self, job: _PendingAnswer) -> None:
        """Answers the job if its caller still waits. The last event is the answer's end, or the error that ended it."""
        if job.left.is_set():
            return
        last: _Event
        with job.events:
            try:
                last = await self._threads.run(self._answer, self._loaded(), job)
            except InkgateError as error:
                last = error
            except Exception:  # the library's: fails one page, not the service
                log.exception("model_failed")
                last = EngineFailed("engine_failed", "The model failed on this page; the log says why.")
            if not job.left.is_set():
                job.events.send_nowait(last)

    def _answer(self, model: GenerativeModel, job: _PendingAnswer) -> bytes:
        """Sends the pieces of an answer. Returns its last events. Blocking."""

        def stopped() -> bool:
            return job.left.is_set() or self._closed.is_set()

        def send(event: bytes) -> None:  # on the event loop, where `left` can't change meanwhile
            if not job.left.is_set():
                job.events.send_nowait(event)

        def heard(piece: GeneratedPiece) -> None:
            anyio.from_thread.run_sync(send, event_of(piece))

        return events_of(model.generate(chat_prompt_of(job.body), heard, stopped))


async def _chunks(heard: MemoryObjectReceiveStream[_Event]) -> AsyncIterator[bytes]:
    async for event in heard:
        if isinstance(event, InkgateError):
            raise event
        yield event


class TransformersEngine(EngineWrapper):
    """An Engine: `inner`, which calls `model` as it would call a model server."""

    def __init__(self, model: InProcessUpstream, inner: Engine) -> None:
        self._model = model
        super().__init__(inner)

    async def start(self) -> None:
        """Loads the model.

        Raises:
            EngineFailed: its packages or its weights are missing, or it can't be run here.
        """
        await self._model.start()
        await self._inner.start()

    async def stop(self) -> None:
        await self._inner.stop()
        await self._model.close()


def call_settings(own: TransformersSettings, vllm: VllmSettings) -> VllmSettings:
    """The settings for calling a model in this process: as for a server, without those that only servers need."""
    return vllm.model_copy(
        update={
            "urls": (),
            "model": "",
            "max_tokens": own.max_tokens,
            "first_token_s": _PATIENCE_S,
            "progress_s": _PATIENCE_S,
            "repetition_count": 0,
        }
    )


def weights_of(preset: Preset, own: TransformersSettings) -> str:
    """The folder or name of the weights. Raises InputRejected ("engine_incomplete") if neither settings nor preset give
    one.
    """
    name = own.model or preset.launch.model
    if name is None:
        detail = f"The weights of {preset.name} are in a folder: set `engine.transformers.model` to its path."
        raise InputRejected("engine_incomplete", detail)
    return name
