"""The names of the model servers' models, refreshed now and then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import anyio

from inkgate.engines.vlm.presets import preset_of
from inkgate.errors import EngineFailed, InkgateError, NotStarted
from inkgate.model_servers.upstream import Upstream
from inkgate.settings import EngineSettings

_FRESH_S = 10.0
_FAILED_S = 2.0
"""How long a failure is cached; requests get it at once. `NotStarted`, found without a request, is not cached."""
_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ModelNames:
    """The names by which clients ask for the engine's model.

    Attributes:
        own: all names of the engine and its preset.
        candidates: the model's possible names on its server, the most likely first.
        given: its name on the server, if the settings give one.
        listed: names that `/v1/models` lists besides the server's.
    """

    own: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    given: str = ""
    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, engine: EngineSettings, name: str) -> Self:
        """The names by the settings. `name`: of the running engine."""
        preset, vllm = preset_of(engine), engine.vllm
        of_preset = preset.names if preset else ()
        own = [each for each in (name, engine.name, vllm.preset, *of_preset) if each not in ("", "vllm")]
        # PaddleOCR's client takes the first of the list, olmOCR's asks for its default. MinerU's refuses a list of
        # several unless it is told a name.
        listed = () if preset is None or preset.listed_once else of_preset
        return cls(tuple(dict.fromkeys(own)), preset.served_names if preset else (), vllm.model, listed)

    def on_server(self, served: tuple[str, ...]) -> str:
        """The model's name on a server that has `served`; empty if it is not known."""
        known = (name for name in self.candidates if name in served)
        return self.given or next(known, served[0] if len(served) == 1 else "")


class ServedModels:
    """The models of an Upstream, cached for `fresh_s` seconds. Without an Upstream: none.

    Concurrent callers share one request and its result or failure.
    """

    def __init__(
        self,
        upstream: Upstream | None,
        fresh_s: float = _FRESH_S,
        now: Callable[[], float] = anyio.current_time,
        timeout_s: float = _TIMEOUT_S,
        model: ModelNames = ModelNames(),
    ) -> None:
        """`timeout_s`: time limit of a server's response. `model`: the names of the engine's model."""
        self.model = model
        self._folded = frozenset(name.lower() for name in model.own)
        self._upstream = upstream
        self._fresh_s = fresh_s
        self._now = now
        self._timeout_s = timeout_s
        self._requested_at = float("-inf")
        self._names: tuple[str, ...] = ()
        self._failure: InkgateError | None = None
        self._good_until = float("-inf")
        self._requesting = anyio.Lock()

    async def names(self) -> tuple[str, ...]:
        """The names of the models.

        Raises:
            InputRejected, EngineFailed: no server responded in time.
        """
        if self._upstream is None:
            return ()
        async with self._requesting:
            if self._now() >= self._good_until:
                await self._request(self._upstream)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self._names

    async def _request(self, upstream: Upstream) -> None:
        """Requests the names within the remaining time of a cancelled earlier request."""
        if self._now() - self._requested_at >= self._timeout_s:
            self._requested_at = self._now()
        failure: InkgateError | None = None
        kept_s = self._fresh_s
        try:
            with anyio.move_on_after(self._requested_at + self._timeout_s - self._now()) as scope:
                self._names = await upstream.models()
            if scope.cancelled_caught:
                failure = EngineFailed("upstream_stalled", "The model server did not list its models in time.")
        except InkgateError as error:
            failure = error
        if failure is not None:
            kept_s = 0.0 if isinstance(failure, NotStarted) else _FAILED_S
        self._failure, self._requested_at = failure, float("-inf")
        self._good_until = self._now() + kept_s

    async def known(self) -> tuple[str, ...]:
        """The names; if no server responds now, the last known ones."""
        try:
            return await self.names()
        except InkgateError:
            return self._names

    async def accepted(self) -> tuple[str, ...]:
        """The names that requests may use as `model`."""
        return (*self.model.own, *await self.known())

    async def stands_for(self, name: str) -> str:
        """The model server's name for the model that a client calls `name`; `name` itself if it is none of the
        preset's or the engine's.

        Raises:
            InputRejected, EngineFailed: no server responded in time.
        """
        if name in self._names or name.lower() not in self._folded:
            return name
        served = await self.names()
        return name if name in served else self.model.on_server(served) or name
