"""Settings of the engines: the embedded one with its runtimes, vLLM, and `transformers`."""

from __future__ import annotations

from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt, ServerUrl


class RuntimeName(StrEnum):
    """Runtime of the embedded engine's models."""

    AUTO = "auto"
    OPENVINO = "openvino"
    ONNXRUNTIME = "onnxruntime"


class Precision(StrEnum):
    """Precision of OpenVINO."""

    AUTO = "auto"
    F32 = "f32"
    BF16 = "bf16"
    INT8 = "int8"


class Quality(StrEnum):
    """Which models of the embedded engine read a page."""

    FAST = "fast"
    BALANCED = "balanced"
    BEST = "best"


class Provider(StrEnum):
    """Device of ONNX Runtime."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    TENSORRT = "tensorrt"


class CudnnSearch(StrEnum):
    """How cuDNN's convolution algorithms are chosen."""

    HEURISTIC = "heuristic"
    EXHAUSTIVE = "exhaustive"
    DEFAULT = "default"


class BatchingSettings(Branch):
    max_batch: PositiveInt = Field(16, description="Maximum text lines in one model call.")
    max_pixels: PositiveInt = Field(
        400_000, description="Maximum pixels of one call. A larger line gets a call of its own."
    )
    max_wait_ms: float = Field(0.0, ge=0, description="On a GPU, how long a batch waits for lines of other pages.")
    max_waiting: PositiveInt = Field(50_000, description="Maximum text lines in the queue. More get 503.")
    parallel: PositiveInt = Field(1, description="Concurrent calls of one model.")


class OnnxRuntimeSettings(Branch):
    provider: Provider = Field(
        Provider.AUTO,
        description="Device (docs/guides/several-gpus.md). `auto`: CUDA if the build has it, else the CPU. "
        "`cuda` and `tensorrt` replace OpenVINO.",
    )
    device_id: int = Field(0, ge=0, description="GPU, by CUDA's number.")
    gpu_memory_mb: float = Field(0.0, ge=0, description="Maximum GPU memory for CUDA's tensors. 0: no limit.")
    cudnn_search: CudnnSearch = Field(
        CudnnSearch.HEURISTIC,
        description="How cuDNN selects convolution algorithms. `exhaustive` tries all for each new shape.",
    )
    tensorrt_fp16: bool = Field(default=False, description="Allow TensorRT to use 16-bit floats.")
    tensorrt_workspace_mb: PositiveFloat = Field(1024.0, description="Maximum memory of TensorRT for one model.")


class PpocrSettings(Branch):
    quality: Quality = Field(
        Quality.BEST,
        description="`fast`: tiny models without Japanese, ș, ț, ơ and ư. `balanced`: the small one reads words "
        "that it doubts. `best`: the small one.",
    )
    longest_side: PositiveInt = Field(1600, description="Pages are shrunk to this longest side for detection.")
    shortest_side: PositiveInt = Field(736, description="Pages are enlarged to this shortest side for detection.")
    reading_longest_side: PositiveInt = Field(
        4000, description="Maximum side of the page from which lines are cut out and recognized."
    )
    threshold: float = Field(0.3, gt=0, lt=1, description="Probability above which a pixel counts as text.")
    box_threshold: float = Field(0.5, ge=0, le=1, description="Minimum mean probability of a box.")
    unclip_ratio: float = Field(
        1.4, ge=0, le=5, description="How much boxes are enlarged around the detected core of the text."
    )
    concurrent_pages: PositiveInt = Field(
        2, description="Maximum pages at the engine at once; fewer while pages miss deadlines on a busy CPU."
    )
    workers: int = Field(
        0,
        ge=-1,
        description="Worker processes for the models. 0: none up to 8 cores, then one for each 8. -1: none.",
    )
    worker_timeout_s: PositiveFloat = Field(
        60.0, description="Time limit of a worker's call; the worker is then replaced."
    )
    threads: int = Field(0, ge=0, description="Threads of a model call. 0: one for each core of the process.")
    runtime: RuntimeName = Field(RuntimeName.AUTO, description="Runtime of the models. `auto`: OpenVINO.")
    precision: Precision = Field(
        Precision.AUTO,
        description="Precision of OpenVINO; ONNX Runtime uses f32. `int8`: only parts of the recognizer. "
        "`auto`: `int8` with VNNI or AMX, else `bf16` if the CPU has it, else `f32`.",
    )
    onnxruntime: OnnxRuntimeSettings = OnnxRuntimeSettings()
    cache: str = Field("auto", description="Folder for compiled models. `auto`: the user's cache folder. Empty: none.")
    min_line_confidence: float = Field(0.5, ge=0, le=1, description="Minimum confidence of a line.")
    second_reading_below: float = Field(
        0.95,
        ge=0,
        le=1,
        description="Confidence below which a line is read again from a tighter crop. 0: never.",
    )
    disambiguate_characters: bool = Field(
        default=True,
        description="Decide doubtful characters by their neighbours: l and 1, O and 0, accents, points, "
        "simplified and traditional Chinese.",
    )
    batching: BatchingSettings = BatchingSettings()


class ReadingMode(StrEnum):
    """How a page is sent to a vision-language model."""

    AUTO = "auto"
    PAGE = "page"
    ELEMENTS = "elements"


class ManagedSettings(Branch):
    python: str = Field(
        "",
        description="Python of vLLM's environment. Empty: `.venv-vllm` in the working directory, else that of"
        " the command `vllm`.",
    )
    model: str = Field("", description="Folder of the weights, or name on the model hub. Empty: as the preset says.")
    port: int = Field(
        0, ge=0, le=65535, description="Port of vLLM on 127.0.0.1; replicas have the next ones. 0: free ones."
    )
    max_num_seqs: int = Field(
        0, ge=0, description="Maximum sequences that vLLM runs at once. 0: as the preset says (16)."
    )
    gpu_memory_utilization: float = Field(
        0.0, ge=0, le=1, description="Share of the GPU's memory for vLLM. 0: as the preset says (0.9)."
    )
    max_num_batched_tokens: int = Field(
        0, ge=0, description="Maximum tokens in one step of vLLM. 0: as the preset says."
    )
    max_model_len: int = Field(
        0, ge=0, description="Maximum tokens of a request and its response. 0: as the preset says."
    )
    api_server_count: PositiveInt = Field(
        1, description="vLLM's API server processes, which prepare images. Above 1: needs the command `vllm`."
    )
    tensor_parallel_size: PositiveInt = Field(1, description="Number of GPUs for one model.")
    replicas: PositiveInt = Field(
        1, description="Number of vLLM servers, each on its own GPUs, in the order of CUDA_VISIBLE_DEVICES."
    )
    quantization: str = Field("", description="Quantization of the weights, such as `fp8`. Empty: none.")
    speculative: bool = Field(default=False, description="Speculative decoding with the model's own draft.")
    draft_model: str = Field(
        "",
        description="Folder of the draft for `speculative`. Empty: as the preset says, in the weights' folder.",
    )
    extra_flags: tuple[str, ...] = Field((), description="More flags for vLLM, one word an item.")
    environment: dict[str, str] = Field({}, description="More environment variables for vLLM.")
    start_s: PositiveFloat = Field(900.0, description="How long vLLM may take to start.")
    stop_s: PositiveFloat = Field(10.0, description="Time for vLLM to stop by itself before it is killed.")
    restart_pause_s: PositiveFloat = Field(1.0, description="Pause before the first restart. It doubles each time.")
    max_restart_pause_s: PositiveFloat = Field(60.0, description="Maximum pause before a restart.")
    recover_s: PositiveFloat = Field(300.0, description="How long a request waits while vLLM restarts.")
    stable_s: PositiveFloat = Field(300.0, description="Uptime after which the pause is reset.")

    @field_validator("extra_flags")
    @classmethod
    def _not_ours(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        ours = {flag.partition("=")[0].replace("_", "-") for flag in flags} & _FLAGS_WITH_A_SETTING.keys()
        if ours:
            raise ValueError("; ".join(f"{flag} is set by {_FLAGS_WITH_A_SETTING[flag]}" for flag in sorted(ours)))
        return flags


_FLAGS_WITH_A_SETTING = {
    "--host": "inkgate to 127.0.0.1",
    "--port": "engine.vllm.managed.port",
    "--model": "engine.vllm.managed.model",
    "--max-num-seqs": "engine.vllm.managed.max_num_seqs",
    "--max-num-batched-tokens": "engine.vllm.managed.max_num_batched_tokens",
    "--api-server-count": "engine.vllm.managed.api_server_count",
    "--served-model-name": "engine.vllm.model",
    "--api-key": "engine.vllm.api_key",
}
"""Flags of vLLM that inkgate sets itself, or that must not appear on a command line."""


class VllmSettings(Branch):
    urls: tuple[ServerUrl, ...] = Field(
        (),
        description="Model servers, such as `http://127.0.0.1:8000/v1`, or `dns+http://vllm:8000/v1` for one "
        "at each address of the host. Empty: inkgate starts vLLM.",
    )
    dns_interval_s: PositiveFloat = Field(5.0, description="How often the hosts of `dns+http` are looked up.")
    max_servers: PositiveInt = Field(64, description="Maximum servers found by `dns+http`; more are ignored.")
    model: str = Field("", description="Model's name on the server. Empty: a name of the preset, else the only model.")
    preset: str = Field("", description="The model's preset, if `engine.name` is `vllm`.")
    preset_folder: str = Field(
        "", description="Folder with your own presets. inkgate runs the files as Python. Empty: none."
    )
    api_key: SecretStr = Field(SecretStr(""), description="API key of the model server. Empty: none.")
    reading: ReadingMode = Field(
        ReadingMode.AUTO,
        description="`page`: read a page as one image; `elements`: block by block; `auto`: as suits the model.",
    )
    layout_longest_side: PositiveInt = Field(2600, description="Maximum side of a page that is read block by block.")
    concurrent_pages: PositiveInt = Field(
        16, description="Maximum pages at the engine at once for each server in service."
    )
    concurrent_requests: int = Field(0, ge=0, description="Concurrent requests at each model server. 0: adaptive.")
    max_tokens: int = Field(0, ge=0, description="Maximum tokens of a response. 0: as the preset says.")
    max_pixels: int = Field(
        0,
        ge=0,
        description="Maximum pixels of an image for the model. 0: as the preset says.",
    )
    start_s: PositiveFloat = Field(60.0, description="How long to wait for the server at start.")
    listen_after_s: PositiveFloat = Field(
        5.0,
        description="How long `inkgate serve` waits for a model server before it listens without one; "
        "`fallback` then reads, else pages get 503 `starting`.",
    )
    connect_s: PositiveFloat = Field(5.0, description="Time limit to connect.")
    first_token_s: PositiveFloat = Field(
        120.0, description="Time limit to the first token, including the server's queue."
    )
    progress_s: PositiveFloat = Field(30.0, description="Maximum pause between tokens.")
    stalled_s: PositiveFloat = Field(
        60.0, description="A server that sends no token for this long is tested and taken out."
    )
    recover_s: PositiveFloat = Field(30.0, description="How long a request waits if no server is up.")
    structured_fields: bool = Field(
        default=True,
        description="Request answers about fields by a JSON schema, unless the server refuses it.",
    )
    logprobs: bool = Field(default=True, description="Request log-probabilities, from which confidence is computed.")
    jpeg_quality: int = Field(95, ge=0, le=100, description="JPEG quality of images for the model. 0: PNG.")
    encoding_threads: PositiveInt = Field(2, description="Threads that resize and encode pages.")
    fallback: bool = Field(
        default=True,
        description="Read a page with `ppocr` if the model repeats itself or no model server reads it.",
    )
    repetition_count: int = Field(
        200, ge=0, description="Repetitions of a pattern after which vLLM itself stops. Under 2: never."
    )
    managed: ManagedSettings = ManagedSettings()

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if self.api_key.get_secret_value() and any("@" in urlsplit(url).netloc for url in self.urls):
            raise ValueError(
                "engine.vllm.api_key and the user and password in engine.vllm.urls both set the Authorization header; "
                "remove one of them"
            )
        return self


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
        description="Run the table model on tables. `false`: rows and columns come from ruled lines and text "
        "positions.",
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
        description="`ppocr` (embedded, CPU), `vllm`, a preset such as `paddleocr-vl`, `transformers`, or "
        "an engine of another package, by name or as `module:name` (docs/guides/extending.md).",
    )
    layers: tuple[str, ...] = Field(
        (), description="Policies of your own around the engine, as `module:name`, outermost first."
    )
    codes: bool = Field(
        default=True,
        description="Find QR codes and bar codes with the task `parse`, and take fields from them.",
    )
    ppocr: PpocrSettings = PpocrSettings()
    layout: LayoutSettings = LayoutSettings()
    vllm: VllmSettings = VllmSettings()
    transformers: TransformersSettings = TransformersSettings()
