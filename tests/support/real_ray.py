"""Ray, in the environment of scripts/setup_ray, and `inkgate batch` in it, whose documents a stand-in reads."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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


def environment() -> dict[str, str]:
    """For programs that use Ray."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "200"}


def start_batch(arguments: Sequence[str | Path], said: Path) -> subprocess.Popen[bytes]:
    """Starts `inkgate batch`; its messages go to the file `said`."""
    with said.open("wb") as file:
        return subprocess.Popen(
            [PYTHON, "-c", COMMAND, "batch", *arguments],
            stderr=file,
            stdout=file,
            env=environment(),
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


@contextmanager
def ray_cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a cluster of two nodes, and what makes it lose one."""
    command = [str(PYTHON), "-m", "support.ray_cluster"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as cluster:
        assert cluster.stdin is not None
        assert cluster.stdout is not None
        lines = iter(cluster.stdout.readline, "")
        address = next(line.strip() for line in lines if re.fullmatch(r"[\d.]+:\d+\n", line))

        def lose_node() -> None:
            assert cluster.stdin is not None
            cluster.stdin.write("lose\n")
            cluster.stdin.flush()
            assert "lost\n" in lines

        yield address, lose_node
        cluster.stdin.close()
        cluster.wait()
