"""The watch over the GPUs of a model server, where they can be watched."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from inkgate.bootstrap.parts import Background
from inkgate.serving.breaker import Breaker
from inkgate.serving.gpu_watch import GpuWatch
from inkgate.settings import Settings, Watching
from inkgate.telemetry.gpu import NvmlReader

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def gpu_watch(settings: Settings, breaker: Breaker) -> Background:
    """Trips `breaker` for the GPUs of this machine; nothing where the model servers are on others, or nvidia-ml-py is
    not installed.
    """
    urls = settings.engine.vllm.urls
    here = all(urlsplit(url).hostname in _HERE for url in urls)
    if settings.serving.gpu.enabled is Watching.NEVER or not here or find_spec("pynvml") is None:
        return ()
    return (GpuWatch(NvmlReader, breaker, settings.serving.gpu, ours=not urls).run,)
