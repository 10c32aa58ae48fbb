"""Settings of the engines."""

from __future__ import annotations

from pydantic import Field

from inkgate.settings.base import Branch
from inkgate.settings.ppocr import PpocrSettings
from inkgate.settings.vllm import VllmSettings


class LayoutSettings(Branch):
    model: str = Field(
        "",
        description="PP-DocLayoutV2 or V3 as an ONNX file (docs/guides/choosing-a-model.md). "
        "Empty: the built-in model.",
    )
    min_confidence: float = Field(
        0.3, ge=0, le=1, description="Minimum confidence of a block, for the model of the file."
    )
    tables: bool = Field(
        default=True,
        description="Run the table model where a page shows a table, for Markdown. `false`: rows and columns come from "
        "ruled lines and the text's positions only.",
    )


class TransformersSettings(Branch):
    preset: str = Field(
        "", description="The model's preset, as for vLLM, including those of `engine.vllm.preset_folder`."
    )
    model: str = Field("", description="Folder of the weights, or name on the model hub. Empty: as the preset says.")
    download: bool = Field(default=False, description="Allow the download of missing weights.")
    device: str = Field("", description="Device, such as `cuda:0`. Empty: a GPU if there is one, else `cpu`.")
    dtype: str = Field("auto", description="Type of the weights, such as `bfloat16`. `auto`: as saved.")
    threads: int = Field(0, ge=0, description="CPU threads of the model. 0: one for each core.")
    max_tokens: int = Field(0, ge=0, description="Maximum tokens of a response. 0: as the preset says.")


class EngineSettings(Branch):
    name: str = Field(
        "ppocr",
        description="The engine: `ppocr` (embedded, CPU), `vllm`, a preset such as `paddleocr-vl`, `transformers`, or "
        "`module:name` of your own (docs/guides/extending.md).",
    )
    layers: tuple[str, ...] = Field(
        (), description="Policies of your own around the engine, as `module:name`, outermost first."
    )
    codes: bool = Field(
        default=True,
        description="Find QR codes and bar codes on pages that are read with `parse`, and take fields from them.",
    )
    ppocr: PpocrSettings = PpocrSettings()
    layout: LayoutSettings = LayoutSettings()
    vllm: VllmSettings = VllmSettings()
    transformers: TransformersSettings = TransformersSettings()
