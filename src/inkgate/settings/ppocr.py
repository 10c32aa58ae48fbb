"""Settings of the embedded engine and its runtimes."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


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
    max_wait_ms: float = Field(
        0.0, ge=0, description="How long a batch that is not full waits for lines of other pages, on a GPU."
    )
    max_waiting: PositiveInt = Field(50_000, description="Maximum text lines in the queue. More get 503.")
    parallel: PositiveInt = Field(1, description="Concurrent calls of one model.")


class OnnxRuntimeSettings(Branch):
    provider: Provider = Field(
        Provider.AUTO,
        description="Device of ONNX Runtime (docs/guides/several-gpus.md). `auto`: CUDA if this build has it,"
        " else the CPU. `cuda` and `tensorrt` also replace OpenVINO.",
    )
    device_id: int = Field(0, ge=0, description="GPU, by CUDA's number.")
    gpu_memory_mb: float = Field(0.0, ge=0, description="Maximum GPU memory for CUDA's tensors. 0: no limit.")
    cudnn_search: CudnnSearch = Field(
        CudnnSearch.HEURISTIC,
        description="How cuDNN selects algorithms of convolutions. `exhaustive` tries all for each new shape.",
    )
    tensorrt_fp16: bool = Field(default=False, description="Allow TensorRT to use 16-bit floats.")
    tensorrt_workspace_mb: PositiveFloat = Field(1024.0, description="Maximum memory of TensorRT for one model.")


class PpocrSettings(Branch):
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
        2, description="Maximum pages at the engine at once. Reduced while pages miss their deadlines on a busy CPU."
    )
    workers: int = Field(
        0,
        ge=-1,
        description="Worker processes that run the models. 0: none up to 8 cores, then one for each 8. -1: none.",
    )
    worker_timeout_s: PositiveFloat = Field(
        60.0, description="Time limit of a worker's call. A worker that exceeds it is replaced."
    )
    threads: int = Field(0, ge=0, description="Threads of a model call. 0: one for each core of the process.")
    runtime: RuntimeName = Field(RuntimeName.AUTO, description="Runtime of the models. `auto`: OpenVINO.")
    precision: Precision = Field(
        Precision.AUTO,
        description="Precision of OpenVINO. `int8`: parts of the recognizer in int8, the rest in bf16 or f32."
        " `auto`: `int8` on x86-64 with VNNI or AMX, else `bf16` if the CPU supports it, else "
        "`f32`. ONNX Runtime always uses f32.",
    )
    onnxruntime: OnnxRuntimeSettings = OnnxRuntimeSettings()
    cache: str = Field("auto", description="Folder for compiled models. `auto`: the user's cache folder. Empty: none.")
    min_line_confidence: float = Field(0.5, ge=0, le=1, description="Minimum confidence of a line.")
    second_reading_below: float = Field(
        0.95,
        ge=0,
        le=1,
        description="Lines read with less confidence are read again from a tighter crop; the more confident reading"
        " counts. 0: never.",
    )
    settle_characters: bool = Field(
        default=True,
        description="Decide doubtful characters by their neighbours: l and 1, O and 0, stray accents, missed points,"
        " simplified and traditional Chinese.",
    )
    batching: BatchingSettings = BatchingSettings()
