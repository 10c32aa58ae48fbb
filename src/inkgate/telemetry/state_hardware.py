"""Parts of a State on programs and machines: build, processes, memory and GPUs.

None: unknown or absent. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Build:
    """Versions, engine and machine.

    Attributes:
        engine: its name in results, such as `ppocr` or `paddleocr-vl-1.6`.
        model: with its version, such as `PP-OCRv6 small`, or the name under which vLLM serves it.
        inference_engine: such as `openvino bf16`, `vllm` or `transformers`.
        cores: that this process may use.
        pipeline: the layers that a page passes, outermost first, with the engine as the last.
        accelerators: by name (`uvloop`, `openvino`, `cuda`, `tensorrt`), whether each is in use.
        fell_back: why models meant for a GPU run on the CPU; empty if they don't.
    """

    version: str
    engine: str
    model: str
    inference_engine: str
    python: str
    platform: str
    cores: int
    memory_bytes: int
    accelerators: Mapping[str, bool] = field(default_factory=dict)
    fell_back: str = ""
    pipeline: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the service.

    Attributes:
        kind: `gateway`, `pdf`, `engine` (a worker of the embedded one) or `vllm` (managed).
        pid: 0 while the process is being restarted.
        cpu_s: CPU time; the first of a kind includes that of ended processes, so that sums never fall.
        started: number of starts; more than 1 if the process died.
    """

    kind: str
    pid: int
    rss_bytes: int
    cpu_s: float
    started: int = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """The whole machine, with all programs on it.

    Attributes:
        memory_available_bytes: available without swapping.
        swapped_in_bytes: read back from swap since the machine started.
        cpu_used_s, cpu_unused_s: time of the cores that the service may use since then, for all programs.
        cpu_stalled_s: time since then in which something waited for a core; None if the kernel doesn't report it.
    """

    memory_available_bytes: int
    swap_total_bytes: int
    swap_used_bytes: int
    swapped_in_bytes: int
    cpu_used_s: float | None = None
    cpu_unused_s: float | None = None
    cpu_stalled_s: float | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `utilisation`: 0 to 1. `throttled`: why the driver reduces its clocks (`thermal`, `power`)."""

    index: int
    name: str = ""
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    throttled: tuple[str, ...] = ()
