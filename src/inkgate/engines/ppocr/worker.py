"""The embedded engine's models in worker processes: the worker's program, and the models as the engine sees them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import cv2

from inkgate.engines.ppocr.detection import TextDetector
from inkgate.engines.ppocr.models import PpocrModels, shape_ranges
from inkgate.engines.ppocr.orientation import LineOrientation, PageOrientation
from inkgate.engines.ppocr.recognition import TextRecognizer
from inkgate.engines.workers.model import ModelWorkers, Predict, WorkerModel, model_worker_type, run_models
from inkgate.engines.workers.shares import shares, usable_cpus
from inkgate.operating_system import use_cpus
from inkgate.runtimes.choose import open_runtime
from inkgate.runtimes.compiled import compiled_folder
from inkgate.runtimes.memory import limit_arenas
from inkgate.runtimes.providers import ProviderRequest
from inkgate.settings import OnnxRuntimeSettings, PpocrSettings, Precision, Quality, RuntimeName
from inkgate.supervision import Supervisor
from inkgate.workers.process import python_command

_NAMES = ("detector", "recognizer", "line_orientation", "page_orientation", "quick_recognizer")
"""The last one with `Quality.BALANCED` only."""


def main() -> None:
    """Entry point of a worker process."""
    run_models(load)


def load(argument: str) -> Mapping[str, Predict]:
    """The models. `argument`: see worker_pool. Must be called before any library counts the CPUs."""
    config = json.loads(argument)
    use_cpus(set(config["cpus"]))
    limit_arenas(len(config["cpus"]))
    cv2.setNumThreads(config["threads"])
    cache = Path(config["cache"]) if config["cache"] else None
    onnx = ProviderRequest(OnnxRuntimeSettings.model_validate(config["onnxruntime"]), shape_ranges(), cache)
    names = RuntimeName(config["runtime"]), Precision(config["precision"])
    runtime = open_runtime(*names, config["threads"], cache, onnx)
    models = PpocrModels.load(runtime, Quality(config["quality"]))
    opened = {name: getattr(models, name) for name in _NAMES}
    return {name: model.predict for name, model in opened.items() if model is not None}


def worker_pool(settings: PpocrSettings, supervisor: Supervisor | None = None) -> ModelWorkers:
    """`settings.workers` workers, each with its share of the cores. Runtimes bind their threads to the first
    cores they may use and don't know of each other. Compiled models are shared: one worker compiles, the others load
    the result.
    """
    cache = compiled_folder(settings.cache)
    arguments = [
        json.dumps(
            {
                "cpus": cpus,
                "threads": settings.threads or len(cpus),
                "quality": settings.quality.value,
                "runtime": settings.runtime.value,
                "precision": settings.precision.value,
                "onnxruntime": settings.onnxruntime.model_dump(mode="json"),
                "cache": str(cache or ""),
            }
        )
        for cpus in shares(usable_cpus(), settings.workers)
    ]
    command = python_command("inkgate.engines.ppocr.worker")
    return ModelWorkers(model_worker_type(command, arguments, settings.worker_timeout_s), supervisor)


def models_of(workers: ModelWorkers, quality: Quality = Quality.BEST) -> PpocrModels:
    """The models in the workers, which it starts. Blocking. `quality`: of the workers' settings. Raises as
    ModelWorkers.start.
    """
    workers.start()
    return PpocrModels(
        WorkerModel(workers, "detector", TextDetector),
        WorkerModel(workers, "recognizer", TextRecognizer),
        WorkerModel(workers, "line_orientation", LineOrientation),
        WorkerModel(workers, "page_orientation", PageOrientation),
        WorkerModel(workers, "quick_recognizer", TextRecognizer) if quality is Quality.BALANCED else None,
    )
