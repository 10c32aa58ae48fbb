"""olmOCR-2 (allenai/olmOCR-2-7B-1025, fine-tuned from Qwen2.5-VL-7B): reads whole pages into Markdown.

The prompt, the image's size and the temperatures are those of its pipeline (olmocr/pipeline.py, prompts.py).
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.wrapped import front_matter_markdown
from inkgate.engines.vlm.preset import Preset, RetryStep, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

READ = TaskPrompt(
    "Attached is one page of a document that you must process. Just return the plain text representation of this "
    "document as if you were reading it naturally. Convert equations to LateX and tables to HTML.\n"
    "If there are any figures or charts, label them with the following markdown syntax ![Alt text describing the "
    "contents of the figure](page_startx_starty_width_height.png)\n"
    "Return your output as markdown, with a front matter section on top specifying values for the primary_language, "
    "is_rotation_valid, rotation_correction, is_table, and is_diagram parameters.",
    front_matter_markdown,
)

OLMOCR_2 = Preset(
    name="olmocr-2",
    aliases=("olmocr",),
    served_names=("allenai/olmOCR-2-7B-1025-FP8", "allenai/olmOCR-2-7B-1025", "olmOCR-2-7B-1025"),
    tasks={TaskKind.TEXT: READ, TaskKind.PARSE: READ},
    image_first=False,
    limits=ImageLimits(patch=14, merge=2, min_pixels=56 * 56, max_pixels=1288 * 1288, longest_side=1288),
    sampling=Sampling(temperature=0.1, max_tokens=8000),
    retries=(RetryStep(temperature=0.2), RetryStep(temperature=0.5), RetryStep(temperature=0.8)),
    launch=Launch("allenai/olmOCR-2-7B-1025-FP8", ("--limit-mm-per-prompt", '{"image":1}'), max_model_len=16384),
    licence="Apache-2.0",
)

PRESETS = (OLMOCR_2,)
