"""The model that train.py trains: reads one line of DejaVu Sans Mono, 28 pixels high."""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.answer import json_fields
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.preset import Preset, RetryStep, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

RANDOM = Sampling(temperature=2.0, seed=7, max_completion_tokens=512)

PRESETS = (
    Preset(
        name="tiny-paddleocr-vl",
        served_names=("tiny-paddleocr-vl",),
        tasks={
            TaskKind.TEXT: TaskPrompt("OCR:", plain),
            TaskKind.PARSE: TaskPrompt("OCR:", markdown),
            # It was not trained to answer in JSON: at this temperature, whatever the grammar allows.
            TaskKind.EXTRACT: TaskPrompt("[{fields}]", json_fields, sampling=RANDOM),
        },
        # As in its preprocessor_config.json; not sent.
        limits=ImageLimits(patch=14, merge=2, min_pixels=28 * 28, max_pixels=28 * 28 * 256, raise_sides=True),
        sampling=Sampling(temperature=0.0, max_completion_tokens=128),
        launch=Launch(None, ("--enforce-eager",), max_model_len=2048),
        retries=(RetryStep(temperature=0.2),),
    ),
)
