"""PaddleOCR-VL (PaddlePaddle/PaddleOCR-VL, -1.5, -1.6; 0.9B): reads one element at a time, found by a layout model.

The prompt for a paragraph also reads a whole page, but less well. Prompts and sampling are those of PaddleX's client.
"""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.chart import chart
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.parsers.otsl import otsl_table
from inkgate.engines.vlm.parsers.spotting import spotting_paddle
from inkgate.engines.vlm.preset import ELEMENTS, Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

LIMITS = ImageLimits(patch=14, merge=2, min_pixels=112896, max_pixels=1003520, raise_sides=True, sent=True)
"""PaddleX's limits, which are sent: transformers' own are 384² to 1536² pixels. `h * w` tokens, in merged patches."""
SPOTTING_LIMITS = replace(LIMITS, max_pixels=1605632, double_under=1500)

SAMPLING = Sampling(temperature=0.0, max_completion_tokens=4096)

TASKS_1_0 = {
    TaskKind.TEXT: TaskPrompt("OCR:", plain),
    TaskKind.PARSE: TaskPrompt("OCR:", markdown),
    TaskKind.TABLE: TaskPrompt("Table Recognition:", otsl_table),
    TaskKind.FORMULA: TaskPrompt("Formula Recognition:", formula),
    TaskKind.CHART: TaskPrompt("Chart Recognition:", chart),
}
TASKS_1_5 = {
    **TASKS_1_0,
    TaskKind.SPOT: TaskPrompt(
        "Spotting:",
        spotting_paddle,
        # Coordinates are special tokens.
        sampling=replace(SAMPLING, skip_special_tokens=False),
        limits=SPOTTING_LIMITS,
    ),
}
SEAL = TaskPrompt("Seal Recognition:", plain)

CLASSES_1_0 = {"chart": TaskKind.CHART}
CLASSES_1_5 = {**CLASSES_1_0, "seal": "seal"}
"""Class names of PP-DocLayoutV2 and V3 that PaddleX's pipeline ignores by default."""

FLAGS = (
    "--trust-remote-code",
    "--max-num-batched-tokens",
    "16384",
    "--no-enable-prefix-caching",
    "--mm-processor-cache-gb",
    "0",
)
NEWER_FLAGS = ("--trust-request-mm-kwargs",)
"""A flag of newer versions of vLLM: without it vLLM 0.32 refuses requests with `mm_processor_kwargs`. Older versions
accept them and don't know the flag."""

V1_6 = Preset(
    name="paddleocr-vl-1.6",
    aliases=("paddleocr-vl",),
    # PaddleOCR's clients use the first.
    served_names=("PaddleOCR-VL-1.6-0.9B", "PaddlePaddle/PaddleOCR-VL-1.6"),
    tasks=TASKS_1_5,
    others={"seal": SEAL},
    elements=ELEMENTS,
    classes=CLASSES_1_5,
    limits=LIMITS,
    sampling=SAMPLING,
    launch=Launch("PaddlePaddle/PaddleOCR-VL-1.6", FLAGS, max_model_len=16384, newer_flags=NEWER_FLAGS),
    licence="Apache-2.0",
)

V1_5 = replace(
    V1_6,
    name="paddleocr-vl-1.5",
    aliases=(),
    served_names=("PaddleOCR-VL-1.5-0.9B", "PaddlePaddle/PaddleOCR-VL-1.5"),
    launch=replace(V1_6.launch, model="PaddlePaddle/PaddleOCR-VL-1.5"),
)

V1_0 = replace(
    V1_5,
    name="paddleocr-vl-1.0",
    served_names=("PaddleOCR-VL-0.9B", "PaddlePaddle/PaddleOCR-VL", "PaddleOCR-VL-1.0"),
    tasks=TASKS_1_0,
    classes=CLASSES_1_0,
    others={},
    launch=replace(V1_6.launch, model="PaddlePaddle/PaddleOCR-VL"),
)

PRESETS = (V1_6, V1_5, V1_0)
