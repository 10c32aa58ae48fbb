"""Qwen3-VL and Qwen2.5-VL: general vision-language models, and those fine-tuned from them, in any size.

The prompts for text and JSON are inkgate's own, in plain English; that for lines with places is of Qwen's cookbook.
Retries are the usual ones.
"""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.answer import json_fields
from inkgate.engines.vlm.parsers.chart import chart
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import plain
from inkgate.engines.vlm.parsers.spotting import spotting_json
from inkgate.engines.vlm.parsers.wrapped import unfenced_markdown
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

TASKS = {
    TaskKind.TEXT: TaskPrompt(
        "Read all the text in this image, line by line, in reading order. Output only the text, unchanged.", plain
    ),
    TaskKind.PARSE: TaskPrompt(
        "Convert this page to Markdown, in reading order. Write tables as HTML and formulas as LaTeX between dollar "
        "signs. Leave nothing out, translate nothing and explain nothing: output only the Markdown.",
        unfenced_markdown,
    ),
    TaskKind.TABLE: TaskPrompt("Convert the table in this image to HTML. Output only the HTML.", unfenced_markdown),
    TaskKind.FORMULA: TaskPrompt("Convert the formula in this image to LaTeX. Output only the LaTeX.", formula),
    TaskKind.CHART: TaskPrompt(
        "Convert the chart in this image. Write a flowchart, or another diagram of boxes and arrows, as Mermaid; of "
        "any other chart, write the data as a Markdown table. Output only the Mermaid or the table.",
        chart,
    ),
    TaskKind.EXTRACT: TaskPrompt(
        "Find these values in the image and output them as JSON. Copy each exactly as it is printed; write null for a "
        "value that is not in the image.\n{fields_json}",
        json_fields,
    ),
}
SPOT = TaskPrompt(
    "Spotting all the text in the image with line-level, and output in JSON format as [{'bbox_2d': [x1, y1, x2, y2], "
    "'text_content': 'text'}, ...].",
    spotting_json,
)

QWEN3_VL = Preset(
    name="qwen3-vl",
    aliases=("qwen-vl",),
    served_names=(
        "Qwen/Qwen3-VL-8B-Instruct",
        "Qwen/Qwen3-VL-4B-Instruct",
        "Qwen/Qwen3-VL-2B-Instruct",
        "Qwen/Qwen3-VL-32B-Instruct",
        "Qwen/Qwen3-VL-30B-A3B-Instruct",
        "Qwen/Qwen3-VL-235B-A22B-Instruct",
    ),
    tasks={**TASKS, TaskKind.SPOT: SPOT},
    limits=ImageLimits(patch=16, merge=2, min_pixels=256 * 256, max_pixels=2048 * 2048),
    sampling=Sampling(temperature=0.0, max_tokens=8192),
    launch=Launch("Qwen/Qwen3-VL-8B-Instruct", ("--limit-mm-per-prompt", '{"image":1,"video":0}'), max_model_len=32768),
    licence="Apache-2.0",
)

QWEN2_5_VL = replace(
    QWEN3_VL,
    name="qwen2.5-vl",
    aliases=(),
    served_names=(
        "Qwen/Qwen2.5-VL-7B-Instruct",
        "Qwen/Qwen2.5-VL-3B-Instruct",
        "Qwen/Qwen2.5-VL-32B-Instruct",
        "Qwen/Qwen2.5-VL-72B-Instruct",
    ),
    tasks=TASKS,  # it gives places in pixels of the image, and of inkgate's tasks none needs them
    limits=ImageLimits(patch=14, merge=2, min_pixels=56 * 56, max_pixels=2048 * 28 * 28),
    launch=replace(QWEN3_VL.launch, model="Qwen/Qwen2.5-VL-7B-Instruct"),
    licence="Apache-2.0 (7B, 32B); 3B: Qwen Research License; 72B: Qwen License",
)

PRESETS = (QWEN3_VL, QWEN2_5_VL)
