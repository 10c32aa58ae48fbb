"""The peers: rapidocr in processes of its own, with its defaults, on OpenVINO, and tuned; tesseract as a command.

On OpenVINO rapidocr leaves the precision to it, and it takes bf16 by itself where the CPU has instructions for it.
How rapidocr 3.10 is tuned, beyond OpenVINO: the line classifier is left out, since all pages stand upright; pages are
looked at with a longest side of 1,600 pixels, as inkgate does, instead of a shortest of 736, which for a scan means all
of it up to 2,000; OpenVINO's LATENCY hint with a thread for each core; sixteen lines a call. The softmax over 18,710
classes is the model's: it can't be had smaller without another model. rapidocr reads one page at a time in one process,
so that the last way to more pages a second is a process for each core, with one thread each.
"""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from benchmarks.engines.closed import Read, Reader
from inkgate.bench.accuracy.manifest import Entry
from inkgate.bench.accuracy.peers import PeerMissing, Tesseract
from inkgate.concurrency import Threads
from inkgate.documents.open import Opener
from inkgate.settings import load_settings

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_OPENVINO = {f"{model}.engine_type": "openvino" for model in ("Det", "Cls", "Rec")}


def _tuned(threads: int) -> dict[str, object]:
    return {
        **_OPENVINO,
        "Global.use_cls": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": 1600,
        "Rec.rec_batch_num": 16,
        "EngineConfig.openvino.performance_hint": "LATENCY",
        "EngineConfig.openvino.inference_num_threads": threads,
    }


@dataclass(frozen=True)
class Peer:
    """`params`: of rapidocr; None: this is tesseract. `clients` ask it at once, one for each of its processes."""

    name: str
    params: Mapping[str, object] | None = field(default_factory=dict)
    clients: int = 1


PEERS = (
    Peer("rapidocr"),
    Peer("rapidocr, OpenVINO", _OPENVINO),
    Peer("rapidocr, tuned", _tuned(CORES)),
    Peer(f"rapidocr, tuned, {CORES} processes", _tuned(1), CORES),
    Peer("tesseract", None),
)


@asynccontextmanager
async def started(peer: Peer) -> AsyncIterator[tuple[str, Reader]]:
    """Its version, and what reads a document: models are loaded. Raises PeerMissing."""
    if peer.params is None:
        settings = load_settings(None)
        async with Opener(settings.limits, settings.pdf) as opener:
            tesseract = Tesseract(opener)
            await tesseract.start()

            async def text_of(entry: Entry) -> Read:
                return Read((await tesseract.read(entry)).text)

            yield tesseract.version, text_of
        return
    with _processes(peer) as pool:
        threads = Threads("rapidocr", peer.clients)

        async def read(entry: Entry) -> Read:
            return Read(await threads.run(pool.submit(_read, str(entry.file)).result))

        async with anyio.create_task_group() as tasks:  # each process loads its models when it has work
            for _ in range(peer.clients):
                tasks.start_soon(threads.run, pool.submit(_ready).result)
        yield _version(), read


def _version() -> str:
    try:
        return importlib.metadata.version("rapidocr")
    except importlib.metadata.PackageNotFoundError as error:
        raise PeerMissing("rapidocr is not installed: pip install rapidocr.") from error


def _processes(peer: Peer) -> ProcessPoolExecutor:
    assert peer.params is not None
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(peer.clients, context, initializer=_load, initargs=(dict(peer.params),))


_model: Callable[[str], Any]


def _load(params: dict[str, object]) -> None:
    global _model  # noqa: PLW0603 - the one thing that this process is for
    from rapidocr import EngineType, RapidOCR

    typed = {key: EngineType(value) if key.endswith("engine_type") else value for key, value in params.items()}
    _model = RapidOCR(params={"Global.log_level": "critical", **typed})


def _ready() -> None:
    """Returns when the models are loaded, and not at once: so that each process gets one of these."""
    import time

    time.sleep(1.0)


def _read(path: str) -> str:
    return "\n".join(_model(path).txts or ())
