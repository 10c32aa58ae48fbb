"""Ray, in the environment of scripts/setup_ray, and `inkgate batch` in it, whose documents a stand-in reads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-ray" / "bin" / "python"
COMMAND = "from support.batch_child import run_command; run_command()"


def require_ray() -> None:
    """Skips the test without Ray, unless INKGATE_REQUIRE_ALL is set."""
    if not PYTHON.exists():
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("no .venv-ray: run scripts/setup_ray")
        pytest.skip("no .venv-ray: run scripts/setup_ray")


def start_batch(arguments: Sequence[str | Path], said: Path) -> subprocess.Popen[bytes]:
    """Starts `inkgate batch`; its messages go to the file `said`."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    with said.open("wb") as file:
        return subprocess.Popen(
            [PYTHON, "-c", COMMAND, "batch", *arguments],
            stderr=file,
            stdout=file,
            env={**os.environ, "PYTHONPATH": path, "RAY_raylet_start_wait_time_s": "200"},
        )


def processes(batch: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """All that a running command started, directly or not."""
    try:
        return psutil.Process(batch.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def actors(batch: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The actors of a running command that read shards."""
    found = []
    for process in processes(batch):
        try:
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::MapWorker"):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def written(results: Path) -> int:
    """Bytes of rows, of shards that are done or under way."""
    folders = [results / "data", results / "_inkgate" / "work"]
    total = 0
    for path in (path for folder in folders if folder.exists() for path in folder.iterdir()):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # a journal whose shard is done
            continue
    return total


def kill_driver(batch: subprocess.Popen[bytes]) -> None:
    """Kills a running command, and nothing else. Raises AssertionError: an actor, or what it started, outlives it.

    Agents of Ray's that watch a node notice only after a minute that it is gone, and are killed here.
    """
    started, reading = processes(batch), {each.pid for each in actors(batch)}
    reading |= {child.pid for actor in actors(batch) for child in actor.children()}
    batch.kill()
    batch.wait()
    _, outliving = psutil.wait_procs([each for each in started if each.pid in reading], timeout=60)
    assert outliving == []
    for process in started:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(started, timeout=60)
