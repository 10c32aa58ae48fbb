"""LightOnOCR-2 (lightonai/LightOnOCR-2-1B): reads whole pages into Markdown, and takes no prompt.

Sampling, image size and flags are those of its model card.
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.markdown import markdown
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

READ = TaskPrompt("", markdown)
FLAGS = ("--limit-mm-per-prompt", '{"image":1}', "--mm-processor-cache-gb", "0", "--no-enable-prefix-caching")

LIGHTONOCR_2 = Preset(
    name="lightonocr-2",
    aliases=("lightonocr",),
    served_names=("lightonai/LightOnOCR-2-1B", "LightOnOCR-2-1B", "lightonai/LightOnOCR-1B-1025"),
    tasks={TaskKind.TEXT: READ, TaskKind.PARSE: READ},
    # `h * w` tokens: unlike other models with this encoder it has none for the ends of rows.
    limits=ImageLimits(patch=14, merge=2, min_pixels=28 * 28, max_pixels=1540 * 1540, longest_side=1540),
    sampling=Sampling(temperature=0.2, top_p=0.9, max_tokens=4096),
    launch=Launch("lightonai/LightOnOCR-2-1B", FLAGS, max_model_len=16384),
    licence="Apache-2.0",
)

PRESETS = (LIGHTONOCR_2,)
