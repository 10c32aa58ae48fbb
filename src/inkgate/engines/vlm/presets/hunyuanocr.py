"""HunyuanOCR (tencent/HunyuanOCR, 1B): reads whole pages.

Prompts, sampling and flags are those of the model's own client and README; don't mix the two versions' values.
"""

from __future__ import annotations

from dataclasses import replace

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.parsers.answer import json_fields
from inkgate.engines.vlm.parsers.chart import chart
from inkgate.engines.vlm.parsers.latex import formula
from inkgate.engines.vlm.parsers.markdown import markdown, plain
from inkgate.engines.vlm.parsers.spotting import spotting_hunyuan, spotting_json
from inkgate.engines.vlm.preset import Preset, Sampling, TaskPrompt
from inkgate.model_servers.launch import Launch, SpeculativeDraft
from inkgate_client.types import TaskKind

PARSE = TaskPrompt(
    "提取文档图片中正文的所有信息用markdown格式表示，其中页眉、页脚部分忽略，表格用html格式表达，"
    "文档中公式用latex格式表示，按照阅读顺序组织进行解析。",
    markdown,
)
TEXT = TaskPrompt("提取图中的文字。", plain)
TABLE = TaskPrompt("把图中的表格解析为HTML。", markdown)
FORMULA = TaskPrompt("识别图片中的公式，用LaTeX格式表示。", formula)
CHART = TaskPrompt("解析图中的图表，对于流程图使用Mermaid格式表示，其他图表使用Markdown格式表示。", chart)
SPOT_JSON = TaskPrompt(
    "检测并识别图中所有的文字行，请按从上到下、从左到右的阅读顺序进行识别。 输出格式为 JSON 数组，每个元素必须包含："
    '"box": [xmin, ymin, xmax, ymax]（坐标需归一化到 [0, 1000] 范围内）；"text": "识别出的文字内容"。 '
    "注意：请直接输出 JSON 数组，不要包含任何多余的描述性文字。",
    spotting_json,
)
SPOT_PLAIN = TaskPrompt("检测并识别图片中的文字，将文本坐标格式化输出。", spotting_hunyuan)
EXTRACT = TaskPrompt("提取图片中的: [{fields}] 的字段内容，并按照 JSON 格式返回。", json_fields)
LAYOUT_PARSE = TaskPrompt(
    "提取文档图片中所有内容用markdown格式表示，表格用html格式表达，文档中公式用latex格式表示，"
    "请按照阅读顺序组织进行全文解析，并输出版式分析信息。",
    markdown,
)
TO_ENGLISH = "按照阅读顺序，提取图中文字，公式用latex格式表示，表格用markdown格式表示，再将文字内容翻译为英文。"
TO_CHINESE = "按照阅读顺序，提取图中文字，公式用latex格式表示，表格用markdown格式表示，再将文字内容翻译为中文。"
DOCUMENT_TO_CHINESE = (
    "先解析文档，再将文档内容翻译为中文，其中页眉、页脚忽略，公式用latex格式表示，表格用html格式表示。"
)
# from the 1.0 README
TO_ENGLISH_1_0 = (
    "先提取文字，再将文字内容翻译为英文。若是文档，则其中页眉、页脚忽略。公式用latex格式表示，表格用html格式表示。"
)
TO_CHINESE_1_0 = TO_ENGLISH_1_0.replace("英文", "中文")

LIMITS = ImageLimits(patch=16, merge=2, min_pixels=512 * 512, max_pixels=2048 * 2048, row_tokens=1, extra_tokens=2)
"""transformers 5.19, models/hunyuan_vl: `h * (w + 1) + 2` tokens, h and w in merged patches."""
SAMPLING_1_5 = Sampling(
    temperature=0.0, top_p=1.0, top_k=-1, repetition_penalty=1.08, skip_special_tokens=True, max_tokens=4096
)
SAMPLING_1_0 = Sampling(temperature=0.0, top_p=0.95, top_k=1, seed=1234, repetition_penalty=1.0, max_tokens=16384)
FLAGS = ("--no-enable-prefix-caching", "--mm-processor-cache-gb", "0")

DRAFT = SpeculativeDraft("dflash", tokens=15, folder="dflash", gpu_memory_utilization=0.85)
"""The draft model that its README names: 2.14 times as fast under vLLM."""

V1_5 = Preset(
    name="hunyuanocr-1.5",
    aliases=("hunyuanocr",),
    served_names=("tencent/HunyuanOCR", "HunyuanOCR", "HunyuanOCR-1.5"),
    system="",
    tasks={
        TaskKind.TEXT: TEXT,
        TaskKind.PARSE: PARSE,
        TaskKind.TABLE: TABLE,
        TaskKind.FORMULA: FORMULA,
        TaskKind.CHART: CHART,
        TaskKind.SPOT: SPOT_JSON,
        TaskKind.EXTRACT: EXTRACT,
        TaskKind.TRANSLATE: TaskPrompt("", markdown, languages={"en": TO_ENGLISH, "zh": TO_CHINESE}),
    },
    others={
        "spotting_hunyuan": SPOT_PLAIN,
        "layout": TaskPrompt("按照阅读顺序解析图中的版式信息。", plain),
        "layout_parse": LAYOUT_PARSE,
        "doc_trans_en2zh": TaskPrompt(DOCUMENT_TO_CHINESE, markdown),
        "subtitles": TaskPrompt("提取图片中的字幕。", plain),
    },
    limits=LIMITS,
    sampling=SAMPLING_1_5,
    launch=Launch("tencent/HunyuanOCR", FLAGS, max_model_len=131072, draft=DRAFT),
    licence="Tencent Hunyuan Community License",
)

V1_0 = replace(
    V1_5,
    name="hunyuanocr-1.0",
    aliases=(),
    served_names=("HunyuanOCR-1.0", "HunyuanOCR-v1.0"),
    tasks={
        **V1_5.tasks,
        TaskKind.SPOT: SPOT_PLAIN,
        TaskKind.TRANSLATE: TaskPrompt("", markdown, languages={"en": TO_ENGLISH_1_0, "zh": TO_CHINESE_1_0}),
    },
    others={"subtitles": V1_5.others["subtitles"]},
    sampling=SAMPLING_1_0,
    # Its weights are in a folder (v1.0/) of the model's repository: vLLM gets the path of a local copy.
    launch=Launch(None, FLAGS),
)

PRESETS = (V1_5, V1_0)
