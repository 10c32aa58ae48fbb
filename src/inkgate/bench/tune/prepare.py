"""What is to be searched for a service with given settings on this machine: its dials, and where they stand now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inkgate.bench.tune import dials as known
from inkgate.bench.tune.heaviest import Heaviness
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
    """The settings name an engine whose settings can't be tried from here; the message says why."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """`engine`: `vllm` or `ppocr`; `current`: where the dials stand; `at_once`: clients that send the heaviest images,
    as many as the house has room for.
    """

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    heaviness: Heaviness
    at_once: int


def prepared(tree: Tree, *, ground_truth: bool, names: Collection[str] = ()) -> Prepared:
    """For a service with these settings. `names`: of the dials that are wanted; empty: all that can be searched. With
    `=` after it a name has the values that are tried, `max_num_seqs=8/16/32`, beside the one in use.

    Raises:
        NothingToTune: the engine is not one that can be started with other settings.
        ValueError: there is no dial of such a name, or it has no such values.
    """
    engine = engine_of(tree)
    preset = None if engine == "ppocr" else _preset(tree)
    found = known.dials(engine, len(usable_cpus()), gpu_memory_gb(), ground_truth=ground_truth)
    found = tuple(_picked(found, name) for name in names) if names else found
    if preset is not None:
        found = tuple(_within(dial, preset) for dial in found)
    current = known.current(found, tree, _of_ppocr(tree) if preset is None else _of_vllm(preset))
    return Prepared(
        engine=engine,
        parameters=known.with_current(found, current),
        current=current,
        heaviness=Heaviness(
            max_pixels=tree.limits.max_pixels,
            model_pixels=None if preset is None else preset.within(tree.engine.vllm.max_pixels).limits.max_pixels,
            max_bytes=int(tree.limits.max_body_mb * _MB),
        ),
        at_once=tree.limits.max_in_flight,
    )


def engine_of(tree: Tree) -> str:
    """`vllm` or `ppocr`. Raises NothingToTune."""
    name = tree.engine.name
    if name == "ppocr":
        return name
    if name == "transformers":
        raise NothingToTune("The engine `transformers` reads one page at a time; there is nothing to be set.")
    if tree.engine.vllm.urls:
        raise NothingToTune(
            "The vLLM at `engine.vllm.urls` is not ours to start with other settings: leave the address out, and one "
            "is started for each trial."
        )
    return "vllm"


def _picked(found: Sequence[Parameter], asked: str) -> Parameter:
    name, given, values = asked.partition("=")
    (dial,) = known.picked(found, (name.strip(),))
    if not given:
        return dial
    kind = type(dial.values[0])
    try:
        wanted = {kind(value.strip()) for value in values.split("/")}
    except ValueError as error:
        raise ValueError(f"`{dial.path}` has values such as {dial.values[0]}, not {values!r}") from error
    numbers = sorted(value for value in wanted if isinstance(value, int | float))
    return replace(dial, values=tuple(numbers or sorted(str(value) for value in wanted)))


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


def _within(dial: Parameter, preset: Preset) -> Parameter:
    """Of images no more pixels than the model takes: beyond that all values are the same."""
    if dial.path != known.MAX_PIXELS:
        return dial
    limits = preset.limits
    values = (value for value in dial.values if limits.min_pixels <= float(value) < limits.max_pixels)
    return replace(dial, values=(*values, limits.max_pixels))


def _of_vllm(preset: Preset) -> Settings:
    """What the preset means where a setting says nothing."""
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
    """What is taken where a setting is 0 or `auto`."""
    cores = len(usable_cpus())
    workers = worker_count(tree.engine.ppocr.workers, cores)
    flags = cpu_flags()
    quick = "int8" if int8_pays(flags) else "bf16" if "avx512_bf16" in flags else "f32"
    return {
        known.THREADS: max(1, cores // max(workers, 1)),
        known.WORKERS: workers or -1,
        known.PRECISION: quick,
    }
