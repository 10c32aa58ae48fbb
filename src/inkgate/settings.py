"""Every setting, as one frozen tree. Read once at start; each component gets only its branch.

Sources, the later ones winning: defaults, a TOML file (`--config`, or `INKGATE_CONFIG`), the environment
(`INKGATE_SERVER__PORT=8080`: two underscores between levels), flags of the command line.
docs/settings.md lists them all and is tested to be complete.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Url = Annotated[str, Field(pattern="^https?://")]


class PdfText(StrEnum):
    """When a PDF page's own text is taken instead of reading its pixels."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class LogFormat(StrEnum):
    """How log lines look."""

    CONSOLE = "console"
    JSON = "json"


class Reading(StrEnum):
    """How a vision-language model gets a page."""

    AUTO = "auto"
    PAGE = "page"
    ELEMENTS = "elements"


class Watching(StrEnum):
    """Whether GPUs are watched."""

    AUTO = "auto"
    NEVER = "never"


class RuntimeName(StrEnum):
    """What computes the embedded engine's models."""

    AUTO = "auto"
    OPENVINO = "openvino"
    ONNXRUNTIME = "onnxruntime"


class Precision(StrEnum):
    """The numbers in which OpenVINO computes."""

    AUTO = "auto"
    F32 = "f32"
    BF16 = "bf16"
    INT8 = "int8"


class Provider(StrEnum):
    """What ONNX Runtime computes on."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    TENSORRT = "tensorrt"


class CudnnSearch(StrEnum):
    """How CUDA's algorithms for convolutions are found."""

    HEURISTIC = "heuristic"
    EXHAUSTIVE = "exhaustive"
    DEFAULT = "default"


class Branch(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ServerSettings(Branch):
    host: str = Field("127.0.0.1", description="Address to listen on. Anything but loopback needs an API key.")
    port: int = Field(7860, ge=0, le=65535, description="Port of the API. 0 lets the system choose.")
    drain_s: PositiveFloat = Field(30.0, description="How long in-flight answers may take after SIGTERM.")
    cors_origins: tuple[str, ...] = Field((), description="Origins allowed by CORS; none by default.")


class AuthSettings(Branch):
    key_hashes: tuple[str, ...] = Field(
        (), description="SHA-256 of each API key, as `inkgate key` prints them. Empty: no key is asked for."
    )
    allow_open: bool = Field(default=False, description="Allow a non-loopback bind without any API key.")


class RateLimitSettings(Branch):
    per_key: str = Field("", description="Requests per API key (or address), such as `60/minute`. Empty: no limit.")
    storage_url: str = Field("memory://", description="Where counts live: `memory://` or `redis://host:6379`.")


class LimitSettings(Branch):
    max_body_mb: PositiveFloat = Field(50.0, description="Largest request body, refused before it is read.")
    body_timeout_s: PositiveFloat = Field(30.0, description="Longest pause while a body arrives.")
    max_pages: PositiveInt = Field(2000, description="Most pages read of one document.")
    max_pixels: PositiveInt = Field(120_000_000, description="Most pixels of an image, judged by its header.")
    time_s: PositiveFloat = Field(600.0, description="Time for a whole document; pages not read by then fail.")
    max_in_flight: PositiveInt = Field(64, description="Documents in the service at once; more get 503.")
    page_window: PositiveInt = Field(4, description="Pages of one document that are open at once.")


class PdfSettings(Branch):
    text: PdfText = Field(PdfText.AUTO, description="Take a page's own text: `auto` when it can be trusted.")
    dpi: PositiveFloat = Field(200.0, description="Resolution at which pages are rendered.")
    max_side: PositiveInt = Field(4000, description="Longest side of a rendered page in pixels; dpi gives way to it.")
    workers: PositiveInt = Field(2, description="Worker processes that open and render PDFs.")
    warm_workers: int = Field(1, ge=0, description="How many of them start with the service; the others when needed.")
    worker_memory_mb: PositiveInt = Field(2048, description="Address space of a worker beyond its start.")
    page_timeout_s: PositiveFloat = Field(20.0, description="Time to open a PDF, or to render one page of it.")


class BatchingSettings(Branch):
    max_batch: PositiveInt = Field(16, description="Most lines of text that are read in one call of the model.")
    max_pixels: PositiveInt = Field(400_000, description="Most pixels of one call; a larger line goes alone.")
    max_wait_ms: float = Field(0.0, ge=0, description="How long a call that is not full waits for more; 0: not at all.")
    max_waiting: PositiveInt = Field(50_000, description="Lines of text that wait; more get 503.")
    parallel: PositiveInt = Field(1, description="Calls of one model at once.")


class OnnxRuntimeSettings(Branch):
    provider: Provider = Field(
        Provider.AUTO,
        description="What ONNX Runtime computes on (gpu.md). `auto`: CUDA where this build has it, else the CPU. "
        "`cuda` and `tensorrt` are taken instead of OpenVINO, too.",
    )
    device_id: int = Field(0, ge=0, description="Which GPU, as CUDA numbers them.")
    gpu_memory_mb: float = Field(0.0, ge=0, description="Most memory of the GPU for CUDA's tensors. 0: no limit.")
    cudnn_search: CudnnSearch = Field(
        CudnnSearch.HEURISTIC,
        description="How CUDA's algorithms for convolutions are found. `exhaustive` tries them all for each new shape.",
    )
    tensorrt_fp16: bool = Field(default=False, description="TensorRT may compute in 16 bits.")
    tensorrt_workspace_mb: PositiveFloat = Field(1024.0, description="Most memory for TensorRT's own use.")


class PpocrSettings(Branch):
    longest_side: PositiveInt = Field(1600, description="Pages are shrunk to this longest side for detection.")
    shortest_side: PositiveInt = Field(736, description="Pages are enlarged to this shortest side for detection.")
    reading_longest_side: PositiveInt = Field(4000, description="Longest side at which lines are cut out and read.")
    threshold: float = Field(0.3, gt=0, lt=1, description="Probability from which a pixel is taken as text.")
    box_threshold: float = Field(0.5, ge=0, le=1, description="Boxes with a lesser mean probability are left out.")
    unclip_ratio: float = Field(1.4, ge=0, le=5, description="How far boxes grow beyond the core of the text.")
    concurrent_pages: PositiveInt = Field(2, description="Pages in the engine at once.")
    workers: int = Field(
        0,
        ge=-1,
        description="Processes that run the models. 0: none up to 8 cores, beyond them one for each 8; -1: none.",
    )
    worker_timeout_s: PositiveFloat = Field(60.0, description="A worker that takes longer for one call is replaced.")
    threads: int = Field(0, ge=0, description="Threads of one model call; 0: one for each core (of a worker's).")
    runtime: RuntimeName = Field(RuntimeName.AUTO, description="What computes the models. `auto`: OpenVINO.")
    precision: Precision = Field(
        Precision.AUTO,
        description="In which OpenVINO computes the models. `int8`: parts of the recogniser, all else in bf16 where "
        "the CPU has it, else in f32. `auto`: `int8` on x86-64 with VNNI or AMX, else `bf16` where the CPU has it, "
        "else `f32`. ONNX Runtime computes in f32 whatever this says.",
    )
    onnxruntime: OnnxRuntimeSettings = OnnxRuntimeSettings()
    cache: str = Field(
        "auto", description="Folder that compiled models are kept in. `auto`: the user's cache folder. Empty: none."
    )
    min_line_confidence: float = Field(0.5, ge=0, le=1, description="Lines read with less are left out.")
    batching: BatchingSettings = BatchingSettings()


class LayoutSettings(Branch):
    model: str = Field("", description="PP-DocLayoutV2 or V3 as an ONNX file (models.md). Empty: the built-in model.")
    min_confidence: float = Field(
        0.3, ge=0, le=1, description="Blocks found with less are left out, by the model of the file."
    )


class ManagedSettings(Branch):
    python: str = Field(
        "", description="Python of vLLM's environment. Empty: `.venv-vllm` here, else of `vllm` on PATH."
    )
    model: str = Field("", description="Folder of the weights, or name on the hub. Empty: as the preset says.")
    port: int = Field(0, ge=0, le=65535, description="Port of vLLM on 127.0.0.1. 0: a free one.")
    max_num_seqs: int = Field(0, ge=0, description="Pages that vLLM works on at once. 0: as the preset says (16).")
    gpu_memory_utilization: float = Field(
        0.0, ge=0, le=1, description="Part of the GPU's memory that vLLM takes. 0: as the preset says (0.9)."
    )
    max_num_batched_tokens: int = Field(
        0, ge=0, description="Most tokens that vLLM works on in one step. 0: as the preset says."
    )
    max_model_len: int = Field(0, ge=0, description="Most tokens of a page and its answer. 0: as the preset says.")
    api_server_count: PositiveInt = Field(
        1, description="Processes of vLLM that take requests and prepare images. More than 1 needs the command `vllm`."
    )
    tensor_parallel_size: PositiveInt = Field(1, description="GPUs that one model is spread over.")
    quantization: str = Field("", description="How weights are quantized, such as `fp8`. Empty: as they come.")
    extra_flags: tuple[str, ...] = Field((), description="Further flags of vLLM's server, one word an item.")
    environment: dict[str, str] = Field({}, description="Further environment variables of vLLM, by name.")
    start_s: PositiveFloat = Field(900.0, description="How long vLLM may take until it answers.")
    stop_s: PositiveFloat = Field(10.0, description="Time for vLLM to stop by itself before it is killed.")
    restart_pause_s: PositiveFloat = Field(1.0, description="Pause before the first restart; doubled for each more.")
    restart_pause_most_s: PositiveFloat = Field(60.0, description="Longest pause before a restart.")
    recover_s: PositiveFloat = Field(300.0, description="How long a request waits for a vLLM that is restarted.")
    stable_s: PositiveFloat = Field(300.0, description="Good service after which pauses begin anew.")

    @field_validator("extra_flags")
    @classmethod
    def _not_ours(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        ours = {flag.partition("=")[0].replace("_", "-") for flag in flags} & _FLAGS_WITH_A_SETTING.keys()
        if ours:
            raise ValueError(
                "; ".join(f"instead of {flag} there is {_FLAGS_WITH_A_SETTING[flag]}" for flag in sorted(ours))
            )
        return flags


_FLAGS_WITH_A_SETTING = {
    "--host": "no other address than 127.0.0.1",
    "--port": "engine.vllm.managed.port",
    "--model": "engine.vllm.managed.model",
    "--max-num-seqs": "engine.vllm.managed.max_num_seqs",
    "--max-num-batched-tokens": "engine.vllm.managed.max_num_batched_tokens",
    "--api-server-count": "engine.vllm.managed.api_server_count",
    "--served-model-name": "engine.vllm.model",
    "--api-key": "engine.vllm.api_key",
}
"""Flags of vLLM that are for us to choose, or must not be seen on a command line."""


class VllmSettings(Branch):
    urls: tuple[Url, ...] = Field(
        (), description="Addresses of the model servers (replicas), such as `http://127.0.0.1:8000/v1`."
    )
    model: str = Field("", description="Name of the model on the server. Empty: the preset's, else the only one.")
    preset: str = Field("", description="The model's preset, where `engine.name` is `vllm`.")
    preset_folder: str = Field("", description="Folder of your own presets, run as Python. Empty: none.")
    api_key: SecretStr = Field(SecretStr(""), description="Key of the model server. Empty: it asks for none.")
    reading: Reading = Field(
        Reading.AUTO, description="`page`: as one image; `elements`: block by block; `auto`: as the model reads best."
    )
    layout_longest_side: PositiveInt = Field(
        2600, description="Longest side at which a page is cut into blocks, where it is read block by block."
    )
    concurrent_pages: PositiveInt = Field(16, description="Pages that are with the engine at once.")
    concurrent_requests: int = Field(
        0, ge=0, description="Requests at each model server at once. 0: as many as it turns out to bear."
    )
    max_tokens: int = Field(0, ge=0, description="Most tokens of an answer; 0: as the preset says.")
    max_pixels: int = Field(
        0,
        ge=0,
        description="Most pixels of an image that the model gets; 0, or more than it takes: as the preset says.",
    )
    start_s: PositiveFloat = Field(60.0, description="How long the server is waited for at start.")
    connect_s: PositiveFloat = Field(5.0, description="Time to connect.")
    first_token_s: PositiveFloat = Field(120.0, description="Time to the first token, the server's queue included.")
    progress_s: PositiveFloat = Field(30.0, description="Longest pause between tokens.")
    stalled_s: PositiveFloat = Field(60.0, description="A server silent to all its requests for so long is taken out.")
    recover_s: PositiveFloat = Field(30.0, description="How long a request waits for a server to be there again.")
    logprobs: bool = Field(default=True, description="Ask for log-probabilities: the confidence of words and pages.")
    jpeg_quality: int = Field(95, ge=0, le=100, description="Of the images that are sent; 0: PNG, without loss.")
    encoding_threads: PositiveInt = Field(2, description="Pages shrunk and encoded at once.")
    fallback: bool = Field(default=True, description="Read pages that the model runs in circles on with `ppocr`.")
    repetition_count: int = Field(
        200, ge=0, description="Repeats of a pattern after which vLLM itself ends an answer; under 2: never."
    )
    managed: ManagedSettings = ManagedSettings()

    @model_validator(mode="after")
    def _one_way_to_log_in(self) -> Self:
        if self.api_key.get_secret_value() and any("@" in urlsplit(url).netloc for url in self.urls):
            raise ValueError(
                "engine.vllm.api_key and a user and password in engine.vllm.urls are both sent as the header "
                "Authorization: give one of them"
            )
        return self


class TransformersSettings(Branch):
    preset: str = Field("", description="The model's preset, as for vLLM (`engine.vllm.preset_folder` counts too).")
    model: str = Field("", description="Folder of the weights, or name on the hub. Empty: as the preset says.")
    download: bool = Field(default=False, description="Allow weights that are not on this machine to be downloaded.")
    device: str = Field(
        "", description="Where the model runs, such as `cuda:0`. Empty: a GPU if there is one, else `cpu`."
    )
    dtype: str = Field("auto", description="Type of the weights, such as `bfloat16`; `auto`: as they were saved.")
    threads: int = Field(0, ge=0, description="Threads of the model on the CPU; 0: one for each core.")
    max_tokens: int = Field(0, ge=0, description="Most tokens of an answer; 0: as the preset says.")


class EngineSettings(Branch):
    name: str = Field(
        "ppocr", description="Who reads: `ppocr` (embedded, CPU), `vllm`, a preset of it, or `transformers`."
    )
    ppocr: PpocrSettings = PpocrSettings()
    layout: LayoutSettings = LayoutSettings()
    vllm: VllmSettings = VllmSettings()
    transformers: TransformersSettings = TransformersSettings()


class CacheSettings(Branch):
    enabled: bool = Field(default=True, description="Keep what was read of a page, and read identical pages once.")
    max_mb: PositiveFloat = Field(64.0, description="Memory that kept results may take; the least used go first.")
    ttl_s: PositiveFloat = Field(300.0, description="How long a result is kept.")
    redis_url: SecretStr = Field(
        SecretStr(""),
        description="Keep results in this Redis instead, such as `redis://host:6379/0`. Empty: in memory.",
    )


class SchedulingSettings(Branch):
    max_waiting: PositiveInt = Field(20_000, description="Pages that wait for the engine; more get 503.")
    max_waiting_tokens: int = Field(0, ge=0, description="What they may cost together; 0: as much as comes.")
    age_s: PositiveFloat = Field(30.0, description="Waiting time after which a page counts as of the next class up.")
    overtake_s: float = Field(
        2.0, ge=0, description="How long smaller pages may go before a large one that does not fit yet."
    )
    weights: dict[str, PositiveFloat] = Field({}, description="Shares of the engine by tenant; 1 where not named.")
    priorities: dict[str, Literal["interactive", "normal", "batch"]] = Field(
        {}, description="The most urgent class of a tenant, such as `key:0123456789ab`. Others may name any class."
    )
    wait_share: float = Field(
        0.3, gt=0, le=1, description="Part of the time a request has that it may be expected to wait; else 503 at once."
    )
    retry_after_s: PositiveFloat = Field(2.0, description="Least Retry-After; what is said while no rate is known.")
    retry_after_most_s: PositiveFloat = Field(120.0, description="Longest Retry-After, before up to 30 % of jitter.")


class AdmissionSettings(Branch):
    max_bytes_mb: PositiveFloat = Field(1024.0, description="Request bodies held at once; more get 503.")
    reserve: float = Field(
        0.125, ge=0, lt=1, description="Part of the house kept from tenants over their share while others are there."
    )
    remember_s: PositiveFloat = Field(30.0, description="How long a tenant that was refused counts as there.")
    body_patience_s: PositiveFloat = Field(
        5.0, description="How long a body may arrive before a full house gives its place to tenants who hold less."
    )


class AdaptiveSettings(Branch):
    initial: PositiveInt = Field(16, description="Requests at each model server at once, at the start.")
    least: PositiveInt = Field(1, description="Fewest pages at once, however hard it is pressed.")
    most: PositiveInt = Field(256, description="Most pages at once, however much room there seems to be.")
    interval_s: PositiveFloat = Field(1.0, description="Least time between two steps; else half a page's time.")
    stale_s: PositiveFloat = Field(5.0, description="Age from which a reading of the model server is not used.")


class LadderSettings(Branch):
    enabled: bool = Field(default=True, description="Under sustained pressure give up care, step by step.")
    target_wait_s: PositiveFloat = Field(10.0, description="Expected wait from which there is too much to do.")
    up_s: PositiveFloat = Field(5.0, description="How long that lasts before the next step is taken.")
    down_s: PositiveFloat = Field(10.0, description="How long the wait is under half of it before a step is undone.")
    image_scale: float = Field(0.75, gt=0, le=1, description="Step `image`: sides of a page, of what they would be.")
    max_output_tokens: PositiveInt = Field(2048, description="Step `output`: most tokens of an answer.")


class GpuSettings(Branch):
    enabled: Watching = Field(
        Watching.AUTO,
        description="`auto`: with `inkgate[gpu]`, GPUs of this machine are read for metrics and `/state`, and calls to "
        "model servers on it are stopped while they are in trouble. `never`: neither.",
    )
    gpus: tuple[int, ...] = Field((), description="Those that count, by the driver's number; empty: all of them.")
    temperature_c: PositiveFloat = Field(90.0, description="Temperature from which the engine is left alone, in °C.")
    throttled_s: PositiveFloat = Field(10.0, description="How long heat may hold the clocks down before it is, too.")
    memory: float = Field(
        0.98, gt=0, le=1, description="Used part of the memory of a managed vLLM's GPU that makes it pause. 1: none."
    )


class ServingSettings(Branch):
    scheduling: SchedulingSettings = SchedulingSettings()
    admission: AdmissionSettings = AdmissionSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    ladder: LadderSettings = LadderSettings()
    gpu: GpuSettings = GpuSettings()


class FetchSettings(Branch):
    enabled: bool = Field(default=False, description="Allow `document_url` and image URLs to be fetched.")
    allow_hosts: tuple[str, ...] = Field((), description="Hosts that may be fetched; empty: every public host.")
    timeout_s: PositiveFloat = Field(20.0, description="Time for one fetch, redirects included.")
    max_redirects: int = Field(3, ge=0, description="Redirects that are followed, each checked again.")


USUAL_METRICS_PORT = 8001


class MetricsSettings(Branch):
    enabled: bool = Field(
        default=True, description="Measure requests, pages and stages, and serve them at /metrics (metrics.md)."
    )
    host: str = Field("127.0.0.1", description="Address that /metrics listens on. No key is asked for there.")
    port: int = Field(
        USUAL_METRICS_PORT,
        ge=0,
        le=65535,
        description="Port of /metrics. 0: any free one. Where 8001 is taken, there is none.",
    )


class TracingSettings(Branch):
    endpoint: str = Field(
        "",
        description="Where traces are sent by OTLP over HTTP, such as `http://127.0.0.1:4318`; needs `inkgate[otel]`. "
        "Empty: nowhere.",
    )
    headers: dict[str, SecretStr] = Field({}, description="Headers that they are sent with, such as a key, by name.")
    sample_ratio: float = Field(
        1.0, ge=0, le=1, description="Part of the traces that begin here that is recorded; others' senders decide."
    )
    service_name: str = Field("inkgate", min_length=1, description="Name of this service in traces.")

    @field_validator("endpoint")
    @classmethod
    def _over_http(cls, endpoint: str) -> str:
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise ValueError("an address that begins with http:// or https:// is needed")
        return endpoint


class UiSettings(Branch):
    enabled: bool = Field(default=True, description="Show the web page at / (ui.md), where `inkgate[ui]` is installed.")


class LogSettings(Branch):
    format: LogFormat = Field(LogFormat.CONSOLE, description="`console` for people, `json` for machines.")
    level: str = Field("info", pattern="^(debug|info|warning|error)$", description="Least level that is logged.")


class Settings(BaseSettings):
    """The whole tree. Unknown names are errors, wherever they come from."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="INKGATE_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    limits: LimitSettings = LimitSettings()
    pdf: PdfSettings = PdfSettings()
    engine: EngineSettings = EngineSettings()
    cache: CacheSettings = CacheSettings()
    serving: ServingSettings = ServingSettings()
    fetch: FetchSettings = FetchSettings()
    metrics: MetricsSettings = MetricsSettings()
    tracing: TracingSettings = TracingSettings()
    ui: UiSettings = UiSettings()
    log: LogSettings = LogSettings()


def load_settings(config: Path | None = None, /, **flags: dict[str, object]) -> Settings:
    """The settings from file, environment and flags. `flags` are nested, for example `server={"port": 1}`.

    Raises:
        pydantic.ValidationError: a value or a name is wrong.
        FileNotFoundError, tomllib.TOMLDecodeError: of the file.
    """
    if config is not None and not config.is_file():
        raise FileNotFoundError(config)

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(  # type: ignore[override]  # pydantic passes the sources by keyword
            cls, settings_cls: type[BaseSettings], **sources: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            given = InitSettingsSource(settings_cls, init_kwargs=dict(flags))
            return (given, sources["env_settings"], TomlConfigSettingsSource(settings_cls, toml_file=config))

    return Loaded()
