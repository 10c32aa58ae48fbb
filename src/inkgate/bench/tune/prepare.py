"""What a search looks at, for a service with given settings on this machine: parameters and their current values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inkgate.bench.tune import parameters as known
from inkgate.bench.tune.heaviest import UploadLimits
from inkgate.bench.tune.results import Parameter, Settings
from inkgate.engines.vllm.preset import Launch, Preset
from inkgate.engines.vllm.presets import find_preset
from inkgate.engines.workers.shares import usable_cpus, worker_count
from inkgate.errors import InputRejected
from inkgate.runtimes.int8 import cpu_flags, int8_pays
from inkgate.settings import Settings as Tree
from inkgate.telemetry.gpu import GpuUnavailable, NvmlReader

_MB = 2**20
_TOKENS_FLAG = "--max-num-batched-tokens"


class NothingToTune(ValueError):
    """The engine can't be started with other settings; the message says why."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """`engine`: `vllm` or `ppocr`; `current`: the values in use; `heaviest_clients`: clients that send the heaviest
    images, as many as `limits.max_in_flight` admits.
    """

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    upload_limits: UploadLimits
    heaviest_clients: int


def search_scope(tree: Tree, *, ground_truth: bool, names: Collection[str] = ()) -> SearchScope:
    """The scope of a search for a service with these settings.

    `names`: of the parameters to search; empty: all of them. A name may list the values to try besides the current one:
    `max_num_seqs=8/16/32`.

    Raises:
        NothingToTune: the engine can't be started with other settings.
        ValueError: there is no parameter of such a name, or it can't have such values.
    """
    engine = engine_of(tree)
    preset = None if engine == "ppocr" else _preset(tree)
    found = known.parameters_of(engine, len(usable_cpus()), gpu_memory_gb(), ground_truth=ground_truth)
    found = tuple(_pick(found, name) for name in names) if names else found
    if preset is not None:
        found = tuple(_within(each, preset) for each in found)
    current = known.current(found, tree, _of_ppocr(tree) if preset is None else _of_vllm(preset))
    return SearchScope(
        engine=engine,
        parameters=known.with_current(found, current),
        current=current,
        upload_limits=UploadLimits(
            max_pixels=tree.limits.max_pixels,
            model_pixels=None if preset is None else preset.within(tree.engine.vllm.max_pixels).limits.max_pixels,
            max_bytes=int(tree.limits.max_body_mb * _MB),
        ),
        heaviest_clients=tree.limits.max_in_flight,
    )


def engine_of(tree: Tree) -> str:
    """`vllm` or `ppocr`. Raises NothingToTune."""
    name = tree.engine.name
    if name == "ppocr":
        return name
    if name == "transformers":
        raise NothingToTune("The engine `transformers` reads one page at a time; it has no settings to tune.")
    if tree.engine.vllm.urls:
        raise NothingToTune(
            "inkgate can't restart the vLLM at `engine.vllm.urls` with other settings. Leave the address out, and "
            "inkgate starts one for each trial."
        )
    return "vllm"


def _pick(found: Sequence[Parameter], asked: str) -> Parameter:
    name, given, values = asked.partition("=")
    (parameter,) = known.pick(found, (name.strip(),))
    if not given:
        return parameter
    kind = type(parameter.values[0])
    try:
        wanted = {kind(value.strip()) for value in values.split("/")}
    except ValueError as error:
        raise ValueError(f"`{parameter.path}` has values such as {parameter.values[0]}, not {values!r}") from error
    numbers = sorted(value for value in wanted if isinstance(value, int | float))
    return replace(parameter, values=tuple(numbers or sorted(str(value) for value in wanted)))


def gpu_memory_gb() -> float | None:
    """Of the smallest GPU of this machine; None where there is none."""
    try:
        with NvmlReader() as reader:
            sizes = [reading.memory_total for reading in reader.read() if reading.memory_total]
    except GpuUnavailable:
        return None
    return min(sizes) / 1e9 if sizes else None


def _preset(tree: Tree) -> Preset:
    engine = tree.engine
    folder = Path(engine.vllm.preset_folder) if engine.vllm.preset_folder else None
    name = engine.vllm.preset if engine.name == "vllm" else engine.name
    try:
        return find_preset(name, folder)
    except (InputRejected, ValueError) as error:
        raise NothingToTune(f"`engine.name` and `engine.vllm.preset` name no model: {error}") from error


def _within(parameter: Parameter, preset: Preset) -> Parameter:
    """No more pixels than the model takes: beyond that all values are the same."""
    if parameter.path != known.MAX_PIXELS:
        return parameter
    limits = preset.limits
    values = (value for value in parameter.values if limits.min_pixels <= float(value) < limits.max_pixels)
    return replace(parameter, values=(*values, limits.max_pixels))


def _of_vllm(preset: Preset) -> Settings:
    """The preset's values, for settings that are not set."""
    launch = preset.launch
    meant: Settings = {
        known.MAX_NUM_SEQS: launch.max_num_seqs,
        known.GPU_MEMORY: launch.gpu_memory_utilization,
        known.MAX_PIXELS: preset.limits.max_pixels,
        known.QUANTIZATION: "",
    }
    tokens = _tokens(launch)
    return meant if tokens is None else {**meant, known.BATCHED_TOKENS: tokens}


def _tokens(launch: Launch) -> int | None:
    flags = launch.flags
    return int(flags[flags.index(_TOKENS_FLAG) + 1]) if _TOKENS_FLAG in flags else None


def _of_ppocr(tree: Tree) -> Settings:
    """The values in effect if a setting is 0 or `auto`."""
    cores = len(usable_cpus())
    workers = worker_count(tree.engine.ppocr.workers, cores)
    flags = cpu_flags()
    quick = "int8" if int8_pays(flags) else "bf16" if "avx512_bf16" in flags else "f32"
    return {
        known.THREADS: max(1, cores // max(workers, 1)),
        known.WORKERS: workers or -1,
        known.PRECISION: quick,
    }
