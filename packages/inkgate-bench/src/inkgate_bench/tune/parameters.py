"""What a search tries, for a service with given settings on this machine: parameters, their values, the current ones.

Values are spaced by their logarithm and bounded by the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from pydantic import BaseModel

from inkgate.engines.vlm.preset import Preset
from inkgate.engines.vlm.presets import find_preset
from inkgate.engines.workers.shares import usable_cpus, worker_count
from inkgate.errors import InputRejected
from inkgate.runtimes.cpu import cpu_flags, int8_pays
from inkgate.settings import Settings as Tree
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader
from inkgate_bench.tune.heaviest import UploadLimits
from inkgate_bench.tune.results import Parameter, Settings, Value

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
"""Parameters that change what is read, not only how fast. They are searched only with a ground truth."""

_STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_PIXELS = (500_000, 700_000, 1_000_000, 1_400_000, 2_000_000, 2_800_000, 4_000_000)
_SEQUENCES_BY_CORE = 32
_SEQUENCES_BY_GB = 4
"""Four pages for each GB of the GPU: above what any of the models of docs/guides/choosing-a-model.md has room for."""
_CORES_BY_WORKER = 4
_TRIALS_BY_PARAMETER = 15
_TOKENS_FLAG = "--max-num-batched-tokens"
_USUAL_BATCHED_TOKENS = 2048
_MB = 2**20


class NothingToTune(ValueError):
    """The engine can't be started with other settings; the message says why."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """`engine`: `vllm` or `ppocr`; `current`: the values in use."""

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    limits: UploadLimits


def search_scope(tree: Tree, *, ground_truth: bool, names: Collection[str] = ()) -> SearchScope:
    """The scope of a search for a service with these settings.

    `names`: of the parameters to search; empty: all of them. A name may list the values to try besides the current one:
    `max_num_seqs=8/16/32`.

    Raises:
        NothingToTune: the engine can't be started with other settings.
        ValueError: there is no parameter of such a name, or it can't have such values.
    """
    cores = len(usable_cpus())
    preset = preset_of(tree)
    if preset is None:
        found, meant = ppocr_parameters(cores), _ppocr_values(tree, cores)
    else:
        limits = preset.limits
        found = vllm_parameters(cores, gpu_memory_gb(), limits.min_pixels, limits.max_pixels)
        meant = _preset_values(preset)
    found = [each for each in found if len(each.values) > 1 and (ground_truth or each.path not in QUALITY)]
    if names:
        found = list(dict.fromkeys(_named(found, name) for name in names))
    current = {each.path: current_value(each, tree, meant) for each in found}
    upload = UploadLimits(
        max_pixels=tree.limits.max_pixels,
        model_pixels=None if preset is None else preset.within(tree.engine.vllm.max_pixels).limits.max_pixels,
        max_bytes=int(tree.limits.max_body_mb * _MB),
        max_in_flight=tree.limits.max_in_flight,
    )
    parameters = tuple(with_value(each, current[each.path]) for each in found)
    return SearchScope("ppocr" if preset is None else "vllm", parameters, current, upload)


def preset_of(tree: Tree) -> Preset | None:
    """The model on vLLM; None for the embedded engine. Raises NothingToTune."""
    engine = tree.engine
    if engine.name == "ppocr":
        return None
    if engine.name == "transformers":
        raise NothingToTune("The engine `transformers` reads one page at a time; it has no settings to tune.")
    if engine.vllm.urls:
        raise NothingToTune(
            "inkgate can't restart the vLLM at `engine.vllm.urls` with other settings. Leave the address out, and "
            "inkgate starts one for each trial."
        )
    folder = Path(engine.vllm.preset_folder) if engine.vllm.preset_folder else None
    name = engine.vllm.preset if engine.name == "vllm" else engine.name
    try:
        return find_preset(name, folder)
    except (InputRejected, ValueError) as error:
        raise NothingToTune(f"`engine.name` and `engine.vllm.preset` name no model: {error}") from error


def gpu_memory_gb() -> float | None:
    """Returns the memory of the smallest GPU of this machine; None where there is none."""
    try:
        with NvmlReader() as reader:
            sizes = [reading.memory_total for reading in reader.read() if reading.memory_total]
    except GpuUnavailable:
        return None
    return min(sizes) / 1e9 if sizes else None


def for_time(found: Sequence[Parameter], budget_s: float, trial_s: float) -> tuple[Parameter, ...]:
    """Returns as many of the first parameters as trials of `trial_s` (starts included) can decide within `budget_s`.

    About 15 trials find the best value of one parameter within 5 %, and each further one takes as many.
    """
    return tuple(found[: max(1, int(budget_s / trial_s / _TRIALS_BY_PARAMETER))])


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


def vllm_parameters(cores: int, gpu_gb: float | None, least_pixels: int, most_pixels: int) -> list[Parameter]:
    """Returns the parameters, those that matter most first. Beyond the most pixels that the model takes all values are
    the same.
    """
    most = _SEQUENCES_BY_GB * gpu_gb if gpu_gb else _SEQUENCES_BY_CORE * cores
    found = [
        Parameter(MAX_NUM_SEQS, _up_to(most), "pages in a batch: throughput for latency, preemptions and memory"),
        Parameter(
            BATCHED_TOKENS,
            (1024, 2048, 4096, 8192, 16384),
            "tokens a step: new pages are taken in sooner, and those that are being written wait longer",
        ),
    ]
    if gpu_gb:
        share = (0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95)
        found.append(Parameter(GPU_MEMORY, share, "more KV cache, for less room that large images need"))
    servers = tuple(count for count in (1, 2, 3, 4, 8) if 2 * count <= cores)
    found.append(Parameter(API_SERVERS, servers, "processes that prepare images: where one core is not enough for it"))
    pixels = (*(value for value in _PIXELS if least_pixels <= value < most_pixels), most_pixels)
    found.append(Parameter(MAX_PIXELS, pixels, "fewer image tokens, for small letters that are no longer read"))
    if gpu_gb:
        found.append(Parameter(QUANTIZATION, ("", "fp8"), "smaller weights, for less exact ones"))
    return found


def ppocr_parameters(cores: int) -> list[Parameter]:
    """Returns the parameters, those that matter most first."""
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


def _named(found: Sequence[Parameter], asked: str) -> Parameter:
    """The parameter of a name, the whole path or its last part, with the values that may follow it after `=`."""
    name, given, values = (part.strip() for part in asked.partition("="))
    parameter = next((each for each in found if name in {each.path, each.path.rpartition(".")[2]}), None)
    if parameter is None:
        raise ValueError(f"there is no parameter `{name}` here; there are {', '.join(each.path for each in found)}")
    if not given:
        return parameter
    kind = type(parameter.values[0])
    try:
        wanted = {kind(value.strip()) for value in values.split("/")}
    except ValueError as error:
        raise ValueError(f"`{parameter.path}` has values such as {parameter.values[0]}, not {values!r}") from error
    return replace(parameter, values=_sorted(sorted(wanted, key=str)))


def with_value(parameter: Parameter, value: Value) -> Parameter:
    """The parameter with `value` among its values."""
    if value in parameter.values:
        return parameter
    return replace(parameter, values=_sorted([value, *parameter.values]))


def _sorted(values: Collection[Value]) -> tuple[Value, ...]:
    """Numbers by size; words in the order in which they came."""
    numbers = [value for value in values if isinstance(value, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(values) else tuple(values)


def current_value(parameter: Parameter, settings: BaseModel, meant: Settings) -> Value:
    """The value in use. `meant`: by path, what 0, empty and `auto` stand for; else the highest value: every core."""
    value: object = settings
    for name in parameter.path.split("."):
        value = dict(value)[name] if isinstance(value, BaseModel) else None
    if isinstance(value, Enum):
        value = value.value
    if not isinstance(value, int | float | str | bool):
        raise TypeError(f"`{parameter.path}` is no single value")
    if value in (0, "", "auto") and value not in parameter.values:
        return meant.get(parameter.path, parameter.values[-1])
    return value


def _preset_values(preset: Preset) -> Settings:
    launch = preset.launch
    flags = launch.flags
    tokens = int(flags[flags.index(_TOKENS_FLAG) + 1]) if _TOKENS_FLAG in flags else _USUAL_BATCHED_TOKENS
    return {
        MAX_NUM_SEQS: launch.max_num_seqs,
        BATCHED_TOKENS: tokens,
        GPU_MEMORY: launch.gpu_memory_utilization,
        MAX_PIXELS: preset.limits.max_pixels,
        QUANTIZATION: "",
    }


def _ppocr_values(tree: Tree, cores: int) -> Settings:
    workers = worker_count(tree.engine.ppocr.workers, cores)
    flags = cpu_flags()
    precision = "int8" if int8_pays(flags) else "bf16" if "avx512_bf16" in flags else "f32"
    return {THREADS: max(1, cores // max(workers, 1)), WORKERS: workers or -1, PRECISION: precision}
