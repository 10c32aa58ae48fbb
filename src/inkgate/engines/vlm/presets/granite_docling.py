"""Granite-Docling (ibm-granite/granite-docling-258M): reads whole pages into DocTags, blocks with places.

Prompts are those of its model card, sampling that of docling (docling/datamodel/vlm_model_specs.py).
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits, SquareTiles
from inkgate.engines.vlm.parsers.doctags import doctags
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

PAGE = TaskPrompt("Convert this page to docling.", doctags)

GRANITE_DOCLING = Preset(
    name="granite-docling",
    served_names=("ibm-granite/granite-docling-258M", "granite-docling-258M"),
    tasks={
        TaskKind.TEXT: PAGE,
        TaskKind.PARSE: PAGE,
        TaskKind.TABLE: TaskPrompt("Convert this table to OTSL.", doctags),
        TaskKind.FORMULA: TaskPrompt("Convert this formula to LaTeX.", doctags),
        TaskKind.CHART: TaskPrompt("Convert chart to OTSL.", doctags),
    },
    limits=ImageLimits(
        patch=16,
        merge=4,
        min_pixels=64 * 64,
        max_pixels=2048 * 2048,
        longest_side=2048,
        tiling=SquareTiles(side=512, longest=2048, each=64),
    ),
    sampling=Sampling(temperature=0.0, skip_special_tokens=False, max_tokens=4096),
    launch=Launch("ibm-granite/granite-docling-258M", max_model_len=8192),
    licence="Apache-2.0",
)

PRESETS = (GRANITE_DOCLING,)
