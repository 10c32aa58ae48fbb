"""The production engine: a vision-language model on a vLLM server."""

from __future__ import annotations

import anyio
import structlog

from inkgate.concurrency import Threads
from inkgate.engines.vllm.client import ChatClient, Patience, model_unknown
from inkgate.engines.vllm.page_read import PageReader
from inkgate.engines.vllm.preset import Preset
from inkgate.engines.vllm.upstream import Upstream
from inkgate.errors import EngineFailed, InkgateError
from inkgate.settings import VllmSettings
from inkgate.types import Page, PageResult, Task

log = structlog.get_logger(__name__)

_PAUSE_S = 0.5
_WAITED_FOR = frozenset({"upstream_unreachable", "upstream_busy"})
"""What a server that is still starting looks like."""


class Vllm:
    """An Engine. `settings.concurrent_pages` pages are at the server at once; others wait, without pixels."""

    def __init__(self, preset: Preset, settings: VllmSettings, upstream: Upstream) -> None:
        """`upstream` is closed by `stop`."""
        self._preset = preset
        self._settings = settings
        self._upstream = upstream
        self._pages = anyio.CapacityLimiter(settings.concurrent_pages)
        self._threads = Threads("vllm", settings.encoding_threads)
        self._reader: PageReader | None = None

    @property
    def name(self) -> str:
        return self._preset.name

    async def start(self) -> None:
        """Waits for the server, and finds the model on it.

        Raises:
            EngineFailed: the server is not there, is none of the kind, or has no such model.
        """
        settings = self._settings
        try:
            model = self._chosen(await self._served())
        except InkgateError:
            await self.stop()
            raise
        client = ChatClient(self._upstream, Patience(settings.first_token_s, settings.progress_s))
        self._reader = PageReader(self._preset, model, settings, client, self._threads)
        log.info("model_server_found", model=model, preset=self._preset.name)

    async def stop(self) -> None:
        """Closes the connections; what is being read fails."""
        self._reader = None
        await self._upstream.close()

    async def read(self, page: Page, task: Task) -> PageResult:
        """As Engine.read; an answer that isn't whole is given with `error` set, see PageReader.read."""
        plan = self._preset.plan(task.kind)
        if self._reader is None:
            raise EngineFailed("engine_unavailable", "The engine has not been started.")
        async with self._pages:
            return await self._reader.read(page, task, plan)

    async def _served(self) -> tuple[str, ...]:
        """The names of the models on the server, which is waited for while it isn't there."""
        give_up = anyio.current_time() + self._settings.start_s
        waiting = False
        while True:
            try:
                return await self._upstream.models()
            except EngineFailed as error:
                if error.code not in _WAITED_FOR or anyio.current_time() >= give_up:
                    raise
            if not waiting:
                log.warning("waiting_for_model_server", up_to_s=self._settings.start_s)
            waiting = True
            await anyio.sleep(_PAUSE_S)

    def _chosen(self, served: tuple[str, ...]) -> str:
        """The name to ask for: what the settings say, what the preset is known as, or the only one.

        Raises:
            EngineFailed: "model_unknown".
        """
        wanted = (self._settings.model,) if self._settings.model else self._preset.served_names
        for name in wanted:
            if name in served:
                return name
        if not self._settings.model and len(served) == 1:
            log.warning("model_name_unknown", model=served[0], preset=self._preset.name)
            return served[0]
        raise model_unknown(wanted[0], served)
