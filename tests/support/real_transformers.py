"""The service with the engine `transformers`, in vLLM's environment (`make test-servers`), which has that library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.real_vllm import MODEL, NAME, PYTHON, ROOT, SETTINGS
from support.server import Server, running_server

MODULES = ("structlog", "orjson", "onnxruntime", "limits", "fastapi_offline", "pypdfium2", "rapidocr", "pillow_heif")
"""Packages that inkgate needs and vLLM does not install."""
ENVIRONMENT = {
    "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'packages' / 'inkgate-client' / 'src'}",
    "HF_HUB_OFFLINE": "1",
    **SETTINGS,
    "INKGATE_ENGINE__NAME": "transformers",
    "INKGATE_ENGINE__TRANSFORMERS__PRESET": NAME,
    "INKGATE_ENGINE__TRANSFORMERS__MODEL": str(MODEL),
    # Several threads would wait for each other whenever another process uses one of the cores.
    "INKGATE_ENGINE__TRANSFORMERS__THREADS": "1",
}


@contextmanager
def running_service() -> Iterator[Server]:
    """`inkgate serve` with the tiny model."""
    with running_server(environment=ENVIRONMENT, python=str(PYTHON)) as server:
        yield server
