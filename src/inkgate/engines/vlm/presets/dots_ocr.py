"""dots.mocr and dots.ocr (rednote-hilab, 3B): read whole pages into blocks with places.

Prompts, sampling, image sizes and flags are those of its code (dots_ocr/utils/prompts.py, parser.py) and README. Its
client writes the image's tokens into the text: otherwise vLLM adds a line break that the model was not trained with.
"""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.blocks import layout_json
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

IMAGE = "<|img|><|imgpad|><|endofimg|>"
LAYOUT_ALL = """\
Please output the layout information from the PDF image, including each layout element's bbox, its category, and the \
corresponding text content within the bbox.

1. Bbox format: [x1, y1, x2, y2]

2. Layout Categories: The possible categories are ['Caption', 'Footnote', 'Formula', 'List-item', 'Page-footer', \
'Page-header', 'Picture', 'Section-header', 'Table', 'Text', 'Title'].

3. Text Extraction & Formatting Rules:
    - Picture: For the 'Picture' category, the text field should be omitted.
    - Formula: Format its text as LaTeX.
    - Table: Format its text as HTML.
    - All Others (Text, Title, etc.): Format their text as Markdown.

4. Constraints:
    - The output text must be the original text from the image, with no translation.
    - All layout elements must be sorted according to human reading order.

5. Final Output: The entire output must be a single JSON object.
"""
LAYOUT_ONLY = (
    "Please output the layout information from this PDF image, including each layout's bbox and its category. The bbox "
    "should be in the format [x1, y1, x2, y2]. The layout categories for the PDF document include ['Caption', "
    "'Footnote', 'Formula', 'List-item', 'Page-footer', 'Page-header', 'Picture', 'Section-header', 'Table', 'Text', "
    "'Title']. Do not output the corresponding text. The layout result should be in JSON format."
)
FLAGS = ("--trust-remote-code", "--chat-template-content-format", "string")

DOTS_MOCR = Preset(
    name="dots.mocr",
    aliases=("dots-mocr",),
    served_names=("rednote-hilab/dots.mocr",),
    tasks={
        TaskKind.TEXT: TaskPrompt(f"{IMAGE}Extract the text content from this image.", plain),
        TaskKind.PARSE: TaskPrompt(f"{IMAGE}{LAYOUT_ALL}", layout_json, in_seen_pixels=True),
    },
    others={
        "layout": TaskPrompt(f"{IMAGE}{LAYOUT_ONLY}", layout_json, in_seen_pixels=True),
        "scene": TaskPrompt(f"{IMAGE}Detect and recognize the text in the image.", plain),
        "markdown": TaskPrompt(f"{IMAGE}Extract the text content from this image.", markdown),
    },
    limits=ImageLimits(patch=14, merge=2, min_pixels=3136, max_pixels=11289600),
    sampling=Sampling(temperature=0.1, top_p=1.0, max_completion_tokens=16384),
    launch=Launch("rednote-hilab/dots.mocr", FLAGS, max_model_len=32768),
    licence="dots.mocr License Agreement (MIT with more terms)",
)

DOTS_OCR = replace(
    DOTS_MOCR,
    name="dots.ocr",
    aliases=("dots-ocr",),
    served_names=("rednote-hilab/dots.ocr",),
    others={name: task for name, task in DOTS_MOCR.others.items() if name != "scene"},
    launch=replace(DOTS_MOCR.launch, model="rednote-hilab/dots.ocr"),
    licence="dots.ocr License Agreement (MIT with more terms)",
)

PRESETS = (DOTS_MOCR, DOTS_OCR)
