"""Reads pages with a vision-language model behind an Upstream: on vLLM, or in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.engines.vlm.elements import BlockReaders, ElementReader
from inkgate.engines.vlm.image_read import ContextLimit, ImageReader, WholePageReader
from inkgate.engines.vlm.preset import Preset
from inkgate.engines.vlm.presets import presets_with
from inkgate.errors import EngineFailed, InputRejected
from inkgate.model_servers.client import ChatClient, model_unknown_error
from inkgate.model_servers.managed.supervisor import ManagedServer, start_one, stop_all
from inkgate.model_servers.protocol import ServerTimeouts
from inkgate.model_servers.server import ImageRequest
from inkgate.model_servers.upstream import ServedModelName, Upstream
from inkgate.page import Page
from inkgate.serving.threads import FairThreads
from inkgate.settings import ReadingMode, SchedulingSettings, VllmSettings
from inkgate_client.types import PageResult, Task, TaskKind

log = structlog.get_logger(__name__)

_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class ServerPool:
    """The servers behind an Upstream.

    Attributes:
        found: is called with the model's name on them, and with how an image is requested there.
        managed: the servers that inkgate runs. They start before the engine and stop after it. Each server's `run` must
            be running.
    """

    found: Callable[[str, ImageRequest | None], None] = lambda *_: None
    managed: Sequence[ManagedServer] = ()


class VlmEngine:
    """An Engine. Reads all pages that it is given at once, so callers wait for a turn in a WorkQueue first."""

    def __init__(
        self,
        preset: Preset,
        settings: VllmSettings,
        upstream: Upstream,
        others: BlockReaders | None = None,
        pool: ServerPool | None = None,
        scheduling: SchedulingSettings | None = None,
    ) -> None:
        """`stop` closes `upstream`, but not `others`. Without `others` pages are read as one image. `scheduling`: how
        callers share the threads that encode pages.
        """
        self._preset = preset.within(settings.max_pixels)
        self._others = others
        self._pool = pool or ServerPool()
        self._settings = settings
        self._upstream = upstream
        self._threads = FairThreads(settings.encoding_threads, scheduling)
        self._reader: WholePageReader | ElementReader | None = None

    @property
    def name(self) -> str:
        return self._preset.name

    async def start(self) -> None:
        """Waits for a server and finds the model on it. Of managed servers, the others join when they respond.

        Raises:
            EngineFailed: no managed server starts; or the server is unreachable, is not a model server, or does not
                have the model. Managed servers are then stopped; without any, this may be called again.
        """
        started = False
        try:
            await start_one(self._pool.managed)
            await self._find_model()
            started = True
        finally:
            if not started:
                with anyio.CancelScope(shield=True):  # bounded by `engine.vllm.managed.stop_s`
                    await stop_all(self._pool.managed)

    async def _find_model(self) -> None:
        settings = self._settings
        model = self._chosen(await self._served())
        client = ChatClient(self._upstream, ServerTimeouts(settings.first_token_s, settings.progress_s))
        context_tokens = model.max_model_len if isinstance(model, ServedModelName) else None
        images = ImageReader(self._preset, model, settings, client, self._threads, context=ContextLimit(context_tokens))
        self._reader = self._reader_of(images)
        read = next((kind for kind in (TaskKind.TEXT, TaskKind.PARSE) if kind in self._preset.tasks), None)
        self._pool.found(model, None if read is None else partial(images.request, self._preset.plan(read)))
        log.info("model_server_found", model=model, preset=self._preset.name)
        longest = settings.max_tokens or self._preset.sampling.token_limit or 0
        if context_tokens is not None and context_tokens < self._preset.largest_images.most_tokens + longest:
            log.warning(
                "model_server_context_short",
                model=model,
                max_model_len=context_tokens,
                answer_tokens=longest,
                image_tokens=self._preset.largest_images.most_tokens,
            )

    async def stop(self) -> None:
        """Closes the connections, and stops managed servers; reads in progress fail."""
        self._reader = None
        try:
            await self._upstream.close()
        finally:
            await stop_all(self._pool.managed)

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        """Reads the page with the model. An incomplete answer has `error` set; WholePageReader and ElementReader say
        when.
        """
        if task.kind not in self._preset.tasks:
            known = ", ".join(self._preset.tasks)
            detail = f"{self.name} does not support {task.kind}; it supports: {known}. {presets_with(task.kind)}"
            raise InputRejected("task_unsupported", detail)
        self._preset.plan(task.kind, task.fields, task.language)  # reports wrong options before anything else
        if self._reader is None:
            raise EngineFailed("engine_unavailable", "The engine has not been started.")
        return await self._reader.read(page, task, caller)

    def _reader_of(self, images: ImageReader) -> WholePageReader | ElementReader:
        whole = WholePageReader(images)
        if self._others is None or self._settings.reading is ReadingMode.PAGE:
            return whole
        return ElementReader(images, whole, self._others)

    async def _served(self) -> tuple[str, ...]:
        """The names of the models on the server. Waits for a server that is not up yet."""
        give_up = anyio.current_time() + self._settings.start_s
        waiting = False
        while True:
            try:
                return await self._upstream.models()
            except EngineFailed as error:
                if not error.transient or anyio.current_time() >= give_up:
                    raise
            if not waiting:
                log.warning("waiting_for_model_server", up_to_s=self._settings.start_s)
            waiting = True
            await anyio.sleep(_PAUSE_S)

    def _chosen(self, served: tuple[str, ...]) -> str:
        """The model's name on the server: from the settings, one that the preset knows, or the only one.

        Raises:
            EngineFailed: "model_unknown".
        """
        names = self._preset.names_on_server(self._settings.model)
        for name in names:
            if name in served:
                return served[served.index(name)]
        if not self._settings.model and len(served) == 1:
            log.warning("model_name_unknown", model=served[0], preset=self._preset.name)
            return served[0]
        raise model_unknown_error(names[0], served)
