"""MinerU2.5 (opendatalab/MinerU2.5-2509-1.2B): finds the blocks of a page itself, then reads each.

Prompts, sampling and image sizes are those of its client (mineru_vl_utils/mineru_client.py).
"""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.blocks import mineru_layout
from inkgate.engines.vlm.parsers.chart import chart
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.parsers.otsl import otsl_table
from inkgate.engines.vlm.preset import ELEMENTS, Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import Size, TaskKind

LIMITS = ImageLimits(patch=14, merge=2, min_pixels=3136, max_pixels=1605632, raise_sides=True)
LAYOUT_LIMITS = replace(LIMITS, stretch=Size(1036, 1036))
"""The layout is found on a square, whatever the page's shape."""

LAYOUT_SAMPLING = Sampling(
    temperature=0.0,
    top_p=0.01,
    top_k=1,
    presence_penalty=0.0,
    frequency_penalty=0.0,
    repetition_penalty=1.0,
    skip_special_tokens=False,
    max_tokens=4096,
    # For the model's own logits processor; without it vLLM ignores it.
    extra={"vllm_xargs": {"no_repeat_ngram_size": 100}},
)
SAMPLING = replace(LAYOUT_SAMPLING, presence_penalty=1.0, frequency_penalty=0.05)

MINERU_2_5 = Preset(
    name="mineru-2.5",
    aliases=("mineru",),
    served_names=("opendatalab/MinerU2.5-2509-1.2B", "MinerU2.5-2509-1.2B", "MinerU2.5"),
    system="You are a helpful assistant.",
    tasks={
        TaskKind.TEXT: TaskPrompt("\nText Recognition:", plain),
        TaskKind.PARSE: TaskPrompt("\nText Recognition:", markdown),
        TaskKind.TABLE: TaskPrompt(
            "\nTable Recognition:", otsl_table, sampling=replace(SAMPLING, frequency_penalty=0.005)
        ),
        TaskKind.FORMULA: TaskPrompt("\nFormula Recognition:", formula),
        TaskKind.CHART: TaskPrompt("\nImage Analysis:", chart),
    },
    others={
        "layout": TaskPrompt("\nLayout Detection:", mineru_layout, sampling=LAYOUT_SAMPLING, limits=LAYOUT_LIMITS),
    },
    layout="layout",
    listed_once=True,
    elements=ELEMENTS,
    limits=LIMITS,
    sampling=SAMPLING,
    launch=Launch("opendatalab/MinerU2.5-2509-1.2B", ("--no-enable-prefix-caching",), max_model_len=16384),
    licence="AGPL-3.0",
)

PRESETS = (MINERU_2_5,)
