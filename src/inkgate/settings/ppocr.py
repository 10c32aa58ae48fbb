"""Settings of the embedded engine, and of what computes its models."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


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


class BatchingSettings(Branch):
    max_batch: PositiveInt = Field(16, description="Most lines of text that are read in one call of the model.")
    max_pixels: PositiveInt = Field(400_000, description="Most pixels of one call; a larger line goes alone.")
    max_wait_ms: float = Field(0.0, ge=0, description="How long a call that is not full waits for more; 0: not at all.")
    max_waiting: PositiveInt = Field(50_000, description="Lines of text that wait; more get 503.")
    parallel: PositiveInt = Field(1, description="Calls of one model at once.")


class OnnxRuntimeSettings(Branch):
    provider: Provider = Field(
        Provider.AUTO,
        description="Where ONNX Runtime computes (docs/guides/several-gpus.md). `auto`: CUDA where this build has it, "
        "else the CPU. "
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
    concurrent_pages: PositiveInt = Field(
        2, description="Pages in the engine at once; fewer while together they are too slow for their deadlines."
    )
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
