"""Flags of vLLM's command line against those of a model's preset."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inkgate.doctor.findings import Evidence
from inkgate.doctor.load import value_of
from inkgate.engines.vllm.presets import find_preset
from inkgate.errors import InputRejected

_MISSING = "not there"
_SET_BY_US = {
    "--max-num-seqs": "engine.vllm.managed.max_num_seqs",
    "--gpu-memory-utilization": "engine.vllm.managed.gpu_memory_utilization",
    "--max-model-len": "engine.vllm.managed.max_model_len",
    "--max-num-batched-tokens": "engine.vllm.managed.max_num_batched_tokens",
}
"""Flags with a setting of ours, which is then what is wanted instead of the preset's; 0: the preset's."""


def parsed(flags: Sequence[str]) -> dict[str, str]:
    """The value of each flag, by name; of those given twice, the last. `--no-x` is `--x` with the value `no`, and a
    flag without a value has `yes`.
    """
    values: dict[str, str] = {}
    for place, word in enumerate(flags):
        if not word.startswith("--"):
            continue
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if equals:
            values[name] = value
        elif place + 1 < len(flags) and not flags[place + 1].startswith("--"):
            values[name] = flags[place + 1]
        elif name.startswith("--no-"):
            values[f"--{name.removeprefix('--no-')}"] = "no"
        else:
            values[name] = "yes"
    return values


def flag_value(flags: Sequence[str], name: str) -> str | None:
    """The value of one flag; None where it isn't there."""
    return parsed(flags).get(name)


def with_flag(flags: Sequence[str], name: str, value: str) -> str:
    """The flags as a list in TOML, with this one instead of any of its name."""
    kept = [
        word
        for place, word in enumerate(flags)
        if word.partition("=")[0] != name and not (place and flags[place - 1] == name)
    ]
    return json.dumps([*kept, name, value])


def strayed(flags: Sequence[str], preset: str, settings: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Those flags of the shipped preset called `preset` that are missing from `flags` or have another value there,
    where no setting asks for that. None where there is no such preset.
    """
    try:
        launch = find_preset(preset).launch
    except InputRejected:
        return ()
    wanted = parsed(replace(launch, newer_flags=()).arguments())  # an older vLLM runs without those
    asked = {flag: value_of(settings, path) for flag, path in _SET_BY_US.items()}
    wanted |= {flag: f"{value:g}" for flag, value in asked.items() if value}
    return tuple(_differences(parsed(flags), wanted))


def _differences(given: Mapping[str, str], wanted: Mapping[str, str]) -> Iterable[Evidence]:
    for name, value in wanted.items():
        if given.get(name) != value:
            yield Evidence(name, given.get(name, _MISSING), against=f"the preset has {value}")
