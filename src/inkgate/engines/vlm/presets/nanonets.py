"""Nanonets-OCR2 (nanonets/Nanonets-OCR2-3B, fine-tuned from Qwen2.5-VL-3B): reads whole pages into Markdown.

The prompt and the length are those of its model card.
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.wrapped import tagged_markdown
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

READ = TaskPrompt(
    "Extract the text from the above document as if you were reading it naturally. Return the tables in html format. "
    "Return the equations in LaTeX representation. If there is an image in the document and image caption is not "
    "present, add a small description of the image inside the <img></img> tag; otherwise, add the image caption inside "
    "<img></img>. Watermarks should be wrapped in brackets. Ex: <watermark>OFFICIAL COPY</watermark>. Page numbers "
    "should be wrapped in brackets. Ex: <page_number>14</page_number> or <page_number>9/22</page_number>. Prefer using "
    "☐ and ☑ for check boxes.",
    tagged_markdown,
)

NANONETS_OCR2 = Preset(
    name="nanonets-ocr2",
    aliases=("nanonets",),
    served_names=("nanonets/Nanonets-OCR2-3B", "Nanonets-OCR2-3B"),
    system="You are a helpful assistant.",
    tasks={TaskKind.TEXT: READ, TaskKind.PARSE: READ},
    limits=ImageLimits(patch=14, merge=2, min_pixels=56 * 56, max_pixels=2048 * 28 * 28),
    sampling=Sampling(temperature=0.0, repetition_penalty=1.0, max_tokens=15000),
    launch=Launch("nanonets/Nanonets-OCR2-3B", max_model_len=32768),
    licence="none named; of its base model: Qwen Research License, not for commercial use",
)

PRESETS = (NANONETS_OCR2,)
