"""DeepSeek-OCR-2 (deepseek-ai/DeepSeek-OCR-2, 3B): reads whole pages into blocks with places.

Prompts are those of its README, sampling and flags those of vLLM's recipe. `ngram_size` and the rest are for a logits
processor in vLLM, without which the model repeats itself.
"""

from __future__ import annotations

from inkgate.engines.vlm.images import ImageLimits, RatioTiles
from inkgate.engines.vlm.parsers.blocks import grounded_markdown
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch
from inkgate_client.types import TaskKind

SAMPLING = Sampling(
    temperature=0.0,
    skip_special_tokens=False,
    max_tokens=4096,
    extra={"vllm_xargs": {"ngram_size": 30, "window_size": 90, "whitelist_token_ids": [128821, 128822]}},
)
FLAGS = (
    "--trust-remote-code",
    "--logits-processors",
    "vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor",
    "--no-enable-prefix-caching",
    "--mm-processor-cache-gb",
    "0",
)

DEEPSEEK_OCR_2 = Preset(
    name="deepseek-ocr-2",
    aliases=("deepseek-ocr",),
    served_names=("deepseek-ai/DeepSeek-OCR-2", "DeepSeek-OCR-2"),
    tasks={
        TaskKind.TEXT: TaskPrompt("Free OCR.", plain),
        TaskKind.PARSE: TaskPrompt("<|grounding|>Convert the document to markdown.", grounded_markdown),
    },
    others={"markdown": TaskPrompt("Free OCR.", markdown)},
    # The image in 1024 x 1024, and up to six tiles of 768 x 768: more pixels are not seen.
    limits=ImageLimits(
        patch=16,
        merge=4,
        min_pixels=64 * 64,
        max_pixels=6 * 768 * 768,
        tiling=RatioTiles(side=768, most=6, whole=256, each=144),
    ),
    sampling=SAMPLING,
    launch=Launch("deepseek-ai/DeepSeek-OCR-2", FLAGS, max_model_len=8192),
    licence="Apache-2.0",
)

PRESETS = (DEEPSEEK_OCR_2,)
