"""GLM-OCR (zai-org/GLM-OCR, 0.9B): reads one element at a time, found by a layout model, and extracts fields.

Prompts, sampling and image sizes are those of its SDK (glmocr/config.yaml); flags are those of its README.
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.answer import json_fields
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.preset import ELEMENTS, Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch, SpeculativeDraft
from inkgate_client.types import TaskKind

GLM_OCR = Preset(
    name="glm-ocr",
    served_names=("glm-ocr", "zai-org/GLM-OCR"),
    tasks={
        TaskKind.TEXT: TaskPrompt("Text Recognition:", plain),
        TaskKind.PARSE: TaskPrompt("Text Recognition:", markdown),
        TaskKind.TABLE: TaskPrompt("Table Recognition:", markdown),
        TaskKind.FORMULA: TaskPrompt("Formula Recognition:", formula),
        TaskKind.EXTRACT: TaskPrompt("请按下列JSON格式输出图中信息:\n{fields_json}", json_fields),
    },
    elements=ELEMENTS,
    # Its processor counts every image as two frames, so that the limits are half of those in its configuration.
    limits=ImageLimits(patch=14, merge=2, min_pixels=112 * 56, max_pixels=6144 * 28 * 28),
    sampling=Sampling(temperature=0.0, top_p=0.00001, top_k=1, repetition_penalty=1.1, max_tokens=8192),
    launch=Launch("zai-org/GLM-OCR", max_model_len=32768, draft=SpeculativeDraft("mtp", tokens=3)),
    licence="MIT",
)

PRESETS = (GLM_OCR,)
