"""Which settings are searched, and over which values: spaced by their logarithm, bounded by the machine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum

from pydantic import BaseModel

from inkgate.bench.tune.results import Parameter, Settings, Value

MAX_NUM_SEQS = "engine.vllm.managed.max_num_seqs"
BATCHED_TOKENS = "engine.vllm.managed.max_num_batched_tokens"
GPU_MEMORY = "engine.vllm.managed.gpu_memory_utilization"
API_SERVERS = "engine.vllm.managed.api_server_count"
MAX_PIXELS = "engine.vllm.max_pixels"
QUANTIZATION = "engine.vllm.managed.quantization"
CONCURRENT_PAGES = "engine.ppocr.concurrent_pages"
PARALLEL = "engine.ppocr.batching.parallel"
THREADS = "engine.ppocr.threads"
MAX_BATCH = "engine.ppocr.batching.max_batch"
WORKERS = "engine.ppocr.workers"
PRECISION = "engine.ppocr.precision"
LONGEST_SIDE = "engine.ppocr.longest_side"

QUALITY = frozenset({MAX_PIXELS, QUANTIZATION, PRECISION, LONGEST_SIDE})
"""These change what is read, not only how fast. They are searched only with a ground truth."""

_DEFAULTS: Settings = {MAX_NUM_SEQS: 16, BATCHED_TOKENS: 2048, GPU_MEMORY: 0.9, MAX_PIXELS: 4_000_000, WORKERS: -1}
"""The value in effect if a setting is 0 and no preset says otherwise. Of the other parameters it is the highest value:
every core, and the shortest numbers that the machine can compute with."""

_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_SEQUENCES_BY_CORE = 32
_SEQUENCES_BY_GB = 4
"""Four pages for each GB of the GPU: above what any of the models of docs/guides/choosing-a-model.md has room for."""
_CORES_BY_WORKER = 4
_TRIALS_BY_PARAMETER = 15


def parameters_of(
    engine: str, cores: int, gpu_memory_gb: float | None = None, *, ground_truth: bool = False
) -> tuple[Parameter, ...]:
    """The parameters of `engine` (`vllm`, managed, or `ppocr`) on such a machine, those that matter most first.

    Raises:
        ValueError: the engine has no parameters.
    """
    if engine == "vllm":
        found = _of_vllm(cores, gpu_memory_gb)
    elif engine == "ppocr":
        found = _of_ppocr(cores)
    else:
        raise ValueError(f"the engine `{engine}` has no settings to tune; `vllm` and `ppocr` have")
    return tuple(each for each in found if len(each.values) > 1 and (ground_truth or each.path not in QUALITY))


def for_time(found: Sequence[Parameter], budget_s: float, trial_s: float) -> tuple[Parameter, ...]:
    """As many of the first parameters as trials of `trial_s` (starts included) can decide within `budget_s`.

    About 15 trials find the best value of one parameter within 5 %, and each further one takes as many.
    """
    return tuple(found[: max(1, int(budget_s / trial_s / _TRIALS_BY_PARAMETER))])


def pick(found: Sequence[Parameter], names: Collection[str]) -> tuple[Parameter, ...]:
    """Those named, by the whole path or its last part.

    Raises:
        ValueError: there is none of such a name.
    """
    chosen = []
    for name in names:
        here = [each for each in found if each.path == name or each.path.rpartition(".")[2] == name]
        if not here:
            known = ", ".join(each.path for each in found)
            raise ValueError(f"there is no parameter `{name}` here; there are {known}")
        chosen += here
    return tuple(dict.fromkeys(chosen))


def with_current(found: Sequence[Parameter], current: Settings) -> tuple[Parameter, ...]:
    """The parameters, each with its current value among the others."""
    return tuple(_with(each, current[each.path]) for each in found)


def current(found: Sequence[Parameter], settings: BaseModel, defaults: Settings) -> Settings:
    """The values in use. `defaults`: by path, for settings that are 0, empty or `auto`, such as a preset's."""
    values: Settings = {}
    for each in found:
        value = _at(settings, each.path)
        if value in (0, "", "auto") and value not in each.values:
            value = defaults.get(each.path, _DEFAULTS.get(each.path, each.values[-1]))
        values[each.path] = value
    return values


def companions(settings: Settings) -> Settings:
    """Settings without which `settings` have no effect: enough pages on their way to the model to fill its batch.

    Twice as many as the batch holds, so that a free place is taken at once, and enough documents for all of them.
    """
    batch = settings.get(MAX_NUM_SEQS)
    if not isinstance(batch, int) or batch <= 8:
        return {}
    found: Settings = {"engine.vllm.concurrent_pages": 2 * batch}
    if batch > 16:
        found["limits.max_in_flight"] = 4 * batch
    return found


def _of_vllm(cores: int, gpu_memory_gb: float | None) -> list[Parameter]:
    most = _SEQUENCES_BY_GB * gpu_memory_gb if gpu_memory_gb else _SEQUENCES_BY_CORE * cores
    found = [
        Parameter(MAX_NUM_SEQS, _up_to(most), "pages in a batch: throughput for latency, preemptions and memory"),
        Parameter(
            BATCHED_TOKENS,
            (1024, 2048, 4096, 8192, 16384),
            "tokens a step: new pages are taken in sooner, and those that are being written wait longer",
        ),
    ]
    if gpu_memory_gb:
        share = (0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
        found.append(Parameter(GPU_MEMORY, share, "more KV cache, for less room that large images need"))
    servers = tuple(count for count in (1, 2, 3, 4, 8) if 2 * count <= cores)
    found.append(Parameter(API_SERVERS, servers, "processes that prepare images: where one core is not enough for it"))
    pixels = (500_000, 700_000, 1_000_000, 1_400_000, 2_000_000, 2_800_000, 4_000_000)
    found.append(Parameter(MAX_PIXELS, pixels, "fewer image tokens, for small letters that are no longer read"))
    if gpu_memory_gb:
        found.append(Parameter(QUANTIZATION, ("", "fp8"), "smaller weights, for less exact ones"))
    return found


def _of_ppocr(cores: int) -> list[Parameter]:
    found = [
        Parameter(
            CONCURRENT_PAGES, _up_to(4 * cores), "pages at once: busy cores and full batches, for latency and memory"
        ),
        Parameter(PARALLEL, _up_to(cores), "calls of one model at once: each has fewer cores"),
        Parameter(THREADS, _up_to(cores), "threads of a call: a call is quicker, for less that goes on beside it"),
        Parameter(MAX_BATCH, (1, 2, 4, 8, 16, 32), "lines read in one call: less overhead, for padding and waiting"),
    ]
    if cores >= 2 * _CORES_BY_WORKER:
        found.append(
            Parameter(WORKERS, (-1, *_up_to(cores / _CORES_BY_WORKER)), "processes: past Python's lock, for memory")
        )
    return [
        *found,
        Parameter(LONGEST_SIDE, (960, 1200, 1600, 2000, 2600), "smaller pages for detection, for small letters lost"),
        Parameter(PRECISION, ("f32", "bf16", "int8"), "shorter numbers, for less exact ones"),
    ]


def _up_to(most: float) -> tuple[int, ...]:
    return tuple(step for step in _STEPS if step <= most)


def _with(parameter: Parameter, value: Value) -> Parameter:
    if value in parameter.values:
        return parameter
    numbers = [other for other in parameter.values if isinstance(other, int | float)]
    if isinstance(value, str) or len(numbers) < len(parameter.values):
        return replace(parameter, values=(value, *parameter.values))
    return replace(parameter, values=tuple(sorted((*numbers, value))))


def _at(settings: BaseModel, path: str) -> Value:
    value: object = settings
    for name in path.split("."):
        value = dict(value)[name] if isinstance(value, BaseModel) else None
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, int | float | str | bool):
        raise TypeError(f"`{path}` is no single value")
    return value
