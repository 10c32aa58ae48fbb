"""What a State says of programs and machines: what runs, its processes, memory and GPUs.

None is what isn't known or isn't there. Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Build:
    """What runs, and on what.

    Attributes:
        engine: its own name, as in results, such as `ppocr` or `paddleocr-vl-1.6`.
        model: what reads, with its version, such as `PP-OCRv6 small` or the name under which vLLM serves it.
        inference_engine: what computes it, such as `openvino bf16`, `vllm` or `transformers`.
        cores: that this process may use.
        accelerators: what would make it faster, by name (`uvloop`, `openvino`, `cuda`, `tensorrt`), and whether it is
            in use.
        fell_back: why models that were to be computed on a GPU are not; empty where all is as it was meant.
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


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the service.

    Attributes:
        kind: `gateway`, `pdf`, `engine` (a worker of the embedded one) or `vllm` (managed).
        pid: 0 while there is none in this place: it died, and is about to be started again.
        cpu_s: in the first of its kind, with that of those of the kind that are gone: sums never fall.
        started: times a process in this place was started: more than 1 where it died.
    """

    kind: str
    pid: int
    rss_bytes: int
    cpu_s: float
    started: int = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """What all that runs on the machine shares, whoever it belongs to.

    Attributes:
        memory_available_bytes: that can be had without swapping.
        swapped_in_bytes: read back from swap since the machine was started.
        cpu_used_s, cpu_unused_s: time of the processors that the service may use, since then, whoever used it.
        cpu_stalled_s: time since then in which something waited for a processor; None where the kernel doesn't say.
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
    """One GPU. `utilisation`: 0 to 1. `throttled`: for what its clocks are held down (`thermal`, `power`)."""

    index: int
    name: str = ""
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    throttled: tuple[str, ...] = ()
