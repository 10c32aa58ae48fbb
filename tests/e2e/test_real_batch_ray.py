"""`inkgate batch --ray` on a real cluster of one node: every document is in the rows once, whatever is killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.real_ray import actors, kill_driver, ray_cluster, require_ray, start_batch, written
from support.waiting import until

pytestmark = pytest.mark.real

START_S = 200.0
"""Within which a cluster starts on a busy machine."""


def put(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.png").write_text(f"text {number}")


def documents(results: Path) -> list[str]:
    """Those that the rows name; all of them were read."""
    rows = [json.loads(line) for file in (results / "data").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert {row["status"] for row in rows} == {"complete"}
    return [row["document"] for row in rows]


def test_rows_are_complete_though_an_actor_and_then_the_driver_are_killed(tmp_path: Path) -> None:
    require_ray()
    put(tmp_path / "in", 1500)
    results, said = tmp_path / "out", tmp_path / "said"
    arguments: list[str | Path] = [tmp_path / "in", results, "--ray", "local", "--shard-documents", "100"]
    with start_batch(arguments, said) as batch:
        until(lambda: written(results) > 2_000, said.read_text, START_S)
        (actor,) = actors(batch)
        actor.kill()
        before = written(results)
        until(
            lambda: written(results) > before + 2_000 and actor.pid not in [each.pid for each in actors(batch)],
            "more",
            START_S,
        )
        assert batch.poll() is None
        kill_driver(batch)
    with start_batch(arguments, said) as batch:
        assert batch.wait() == 0, said.read_text()
    assert not re.search(r" (0|1500) to read| 1500 read", said.read_text())
    assert Counter(documents(results)) == Counter(f"{number:04}.png" for number in range(1500))
    assert not list((results / "_inkgate" / "work").iterdir())


@pytest.mark.endurance
def test_rows_are_complete_though_the_cluster_loses_a_node(tmp_path: Path) -> None:
    require_ray()
    put(tmp_path / "in", 3000)
    results, said = tmp_path / "out", tmp_path / "said"
    with ray_cluster() as (address, lose_node):
        arguments: list[str | Path] = [tmp_path / "in", results, "--ray", address, "--shard-documents", "50"]
        with start_batch(arguments, said) as batch:
            until(lambda: len(list((results / "_inkgate" / "done").glob("*"))) >= 3, said.read_text, START_S)
            lose_node()
            assert batch.wait() == 0, said.read_text()
    assert Counter(documents(results)) == Counter(f"{number:04}.png" for number in range(3000))


def test_without_ray_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    put(tmp_path / "in", 1)
    program = "import sys; sys.modules['ray'] = None; from inkgate.cli.main import main; main()"
    arguments: list[str | Path] = ["batch", tmp_path / "in", tmp_path / "out", "--ray", "local"]
    ended = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (ended.returncode, "pip install 'ray[data]>=" in " ".join(ended.stderr.split())) == (2, True), ended.stderr
    assert not (tmp_path / "out").exists()
