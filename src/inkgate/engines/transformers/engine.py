"""The baseline for comparisons with vLLM: the same presets on transformers' `generate`, in this process."""

from __future__ import annotations

from inkgate.engines.base import Engine, EngineWrapper
from inkgate.engines.transformers.in_process import InProcessUpstream
from inkgate.engines.vllm.preset import Preset
from inkgate.errors import InputRejected
from inkgate.settings import TransformersSettings, VllmSettings

_AT_ONCE = 2
"""Pages at once: one is read while the next is prepared."""
_PATIENCE_S = 86_400.0
"""Timeout for a token. The model can't be unreachable but may be slow on a CPU; documents have their own deadline."""


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
            "concurrent_pages": _AT_ONCE,
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
