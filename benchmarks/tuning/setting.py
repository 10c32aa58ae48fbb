"""The tuned service: a real vLLM on the CPU with a tiny model and a small KV cache, or the embedded engine."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import sys
from pathlib import Path

from benchmarks.overload.pages import SIZES, page
from benchmarks.overload.systems import KV_BLOCKS, PYTHON, ROOT, VARIABLES, WEIGHTS
from benchmarks.overload.traffic import MODEL
from inkgate_bench.load.pages import LoadPage, load_pages

sys.path.append(str(ROOT / "tests" / "models"))
from lines import LONGEST, random_line, render

GRIDS = {
    "vllm": ("max_num_seqs=1/2/4/8/16/32/64",),
    "ppocr": ("concurrent_pages=1/2/4/8", "parallel=1/2", "max_batch=1/4/16"),
}
"""For each engine, the searched parameters with all their values."""

_EXTRA = (
    *("--num-gpu-blocks-override", str(KV_BLOCKS)),
    "--no-enable-prefix-caching",
    *("--mm-processor-cache-gb", "0"),
)


def config_of(engine: str, folder: Path) -> Path:
    """Writes the settings of all trials to a file in `folder`. With several cores, vLLM runs on the first, like on a
    card, and everything else, including this process, on the others.
    """
    file = folder / "inkgate.toml"
    if engine == "vllm":
        cores = sorted(os.sched_getaffinity(0))
        file.write_text(_vllm(_pinned(folder, cores[0]) if len(cores) > 1 else PYTHON), encoding="utf-8")
        os.sched_setaffinity(0, cores[1:] or cores)
    else:
        file.write_text("", encoding="utf-8")
    return file


def _pinned(folder: Path, core: int) -> Path:
    """vLLM's Python, pinned to one core."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec taskset -c {core} {shlex.quote(str(PYTHON))} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def _vllm(python: Path) -> str:
    return f"""
[engine]
name = "vllm"

[engine.vllm]
preset = {json.dumps(MODEL)}
preset_folder = {json.dumps(str(ROOT / "tests" / "models" / "presets"))}
jpeg_quality = 0
fallback = false

[engine.vllm.managed]
python = {json.dumps(str(python))}
model = {json.dumps(str(WEIGHTS))}
extra_flags = {json.dumps(list(_EXTRA))}
environment = {{ {", ".join(f"{name} = {json.dumps(value)}" for name, value in VARIABLES.items())} }}
"""


def pages_of(engine: str, folder: Path | None) -> tuple[LoadPage, ...]:
    """The pages of `folder`; without it, drawn text lines for the model, or drawn small receipts."""
    if folder is not None:
        return load_pages(folder)
    if engine == "vllm":
        return tuple(LoadPage(f"{number}.png", content, "image/png", 1) for number, content in enumerate(_lines(200)))
    drawn = [page(size, number) for number in range(8) for size in range(len(SIZES))]
    return tuple(LoadPage(f"{number}.png", content, "image/png", 1) for number, content in enumerate(drawn))


def _lines(count: int) -> list[bytes]:
    rng = random.Random(20417)
    found = []
    for _ in range(count):
        out = io.BytesIO()
        render(random_line(rng, rng.randint(10, LONGEST))).save(out, "PNG")
        found.append(out.getvalue())
    return found
