"""Measures `inkgate batch --ray` on a cluster of one node, with documents that a stand-in reads at once.

python -m benchmarks.batch_ray overhead [--documents 2000 8000] [--runs 2]
python -m benchmarks.batch_ray kills [--documents 2000] [--kills 5]

`overhead`: CPU time of all processes and wall time, on Ray and without it in turn; the slope over the numbers of
documents is the cost of one, the intercept that of a run. `kills`: an actor is killed, then the driver, in turn, and
a document ends its process each time; then the run ends undisturbed, and rows are counted. Needs scripts/setup_ray.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import linear_regression, median

import psutil

from support.real_ray import actors, kill_driver, processes, start_batch, written
from support.waiting import until

SHARD = 100
AT_MOST_S = 300.0


def put(folder: Path, count: int) -> None:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:06}.png").write_text(f"text {number} " * 200)


def used_s(batch: subprocess.Popen[bytes], seen: dict[tuple[int, float], float]) -> None:
    """Notes the CPU seconds of a command's processes until it ends; those of dead ones stay noted."""
    while batch.poll() is None:
        for process in [psutil.Process(batch.pid), *processes(batch)]:
            try:
                times = process.cpu_times()
                seen[process.pid, process.create_time()] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        threading.Event().wait(0.25)


def one_run(count: int, ray: bool) -> tuple[float, float]:
    """CPU and wall seconds of one run."""
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder) / "in", count)
        place = ["--ray", "local"] if ray else []
        arguments: list[str | Path] = [
            Path(folder) / "in",
            Path(folder) / "out",
            "--shard-documents",
            str(SHARD),
            *place,
        ]
        seen: dict[tuple[int, float], float] = {}
        begun = time.perf_counter()
        with start_batch(arguments, Path(folder) / "said") as batch:
            watch = threading.Thread(target=used_s, args=(batch, seen))
            watch.start()
            assert batch.wait() == 0, (Path(folder) / "said").read_text()
            took = time.perf_counter() - begun
            watch.join()
        return sum(seen.values()), took


def overhead(counts: list[int], runs: int) -> None:
    """Prints a table and a line of JSON."""
    found: dict[str, dict[str, float]] = {}
    values: dict[tuple[bool, int], list[tuple[float, float]]] = {}
    for _ in range(runs):
        for count in counts:
            for ray in (False, True):
                values.setdefault((ray, count), []).append(one_run(count, ray))
                print(
                    count,
                    "ray" if ray else "local",
                    *(f"{value:.2f} s" for value in values[ray, count][-1]),
                    flush=True,
                )
    for ray in (False, True):
        for index, kind in enumerate(("cpu", "wall")):
            middle = [median(value[index] for value in values[ray, count]) for count in counts]
            slope, intercept = linear_regression(counts, middle)
            name = "ray" if ray else "local"
            found.setdefault(name, {})[f"{kind}_ms_a_document"] = round(1000 * slope, 2)
            found[name][f"{kind}_s_a_run"] = round(intercept, 2)
    load = [round(each, 1) for each in psutil.getloadavg()]
    print(json.dumps({"documents": counts, "shard": SHARD, "runs": runs, "load": load, **found}))


def kills(count: int, times: int) -> None:
    """Prints a line of JSON. Raises AssertionError: a row is missing, or there twice."""
    with tempfile.TemporaryDirectory() as folder:
        source, results, said = Path(folder) / "in", Path(folder) / "out", Path(folder) / "said"
        put(source, count)
        poison = source / f"{count // 2:06}.png"
        poison.write_text("poison")
        arguments: list[str | Path] = [source, results, "--ray", "local", "--shard-documents", str(SHARD)]
        killed = 0
        while killed < times:
            with start_batch(arguments, said) as batch:
                begun = written(results)
                until(lambda begun=begun: written(results) > begun + 50_000, said.read_text, AT_MOST_S)  # type: ignore[misc]
                victims = actors(batch)
                victims[0].kill()
                killed += 1
                print(f"killed an actor; {written(results)} bytes written", flush=True)
                before = written(results)
                until(lambda before=before: written(results) > before + 50_000, said.read_text, AT_MOST_S)  # type: ignore[misc]
                assert batch.poll() is None, said.read_text()
                kill_driver(batch)
                killed += 1
                print(f"killed the driver; {written(results)} bytes written", flush=True)
        with start_batch(arguments, said) as batch:
            assert batch.wait() == 1, said.read_text()
        rows = [
            json.loads(line) for file in (results / "data").glob("*.jsonl") for line in file.read_text().splitlines()
        ]
        assert Counter(row["document"] for row in rows) == Counter(path.name for path in source.iterdir())
        names = sorted(path.name for path in (results / "data").iterdir())
        bad = [row["document"] for row in rows if row["status"] != "complete"]
        assert bad == [poison.name], bad
        print(
            json.dumps(
                {"documents": count, "killed": killed, "rows": len(rows), "quarantined": len(bad), "files": len(names)}
            )
        )
        print("left by a store whose process was killed:", [name for name in names if not name.endswith(".jsonl")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["overhead", "kills"])
    parser.add_argument("--documents", type=int, nargs="+", default=[2000, 8000])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--kills", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.what == "kills":
        kills(arguments.documents[0], arguments.kills)
    else:
        overhead(arguments.documents, arguments.runs)


if __name__ == "__main__":
    main()
