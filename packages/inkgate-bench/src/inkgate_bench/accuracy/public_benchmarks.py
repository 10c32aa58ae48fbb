"""Public benchmarks of page parsing in their own data formats, read by the same candidates as manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from inkgate_bench.accuracy.candidates import Candidate, Transcript
from inkgate_bench.accuracy.manifest import BenchmarkFormat, Entry
from inkgate_bench.accuracy.omni_parse_bench import load_omni_parse_bench
from inkgate_bench.accuracy.omnidocbench import load_omnidocbench
from inkgate_bench.accuracy.scores import Progress, transcribe

Figures = Mapping[str, Mapping[str, float | None]]
"""By group, figures by name; the last group is `all`. `pages` and `tests` are counts, the others in [0, 1]."""


class PublicBenchmark(Protocol):
    """Documents with ground truth of a form of their own."""

    @property
    def entries(self) -> tuple[Entry, ...]: ...

    def figures(self, entries: Sequence[Entry], read: Sequence[Transcript | None]) -> Figures:
        """The figures of some of its documents, from what was read of each; None if it was not read."""
        ...


@dataclass(frozen=True, slots=True)
class PublicResult:
    """What a benchmark says of a candidate. `failed`: paths of documents that were not read."""

    name: str
    version: str
    figures: Figures
    failed: tuple[str, ...]


def load_benchmark(form: BenchmarkFormat, path: Path) -> PublicBenchmark:
    """The benchmark at a path. Raises ManifestInvalid, and PeerMissing if a package is missing."""
    return load_omnidocbench(path) if form is BenchmarkFormat.OMNIDOCBENCH else load_omni_parse_bench(path)


async def measure(
    benchmark: PublicBenchmark, candidate: Candidate, entries: Sequence[Entry], progress: Progress
) -> PublicResult:
    """Reads the documents and scores them."""
    read = await transcribe(candidate, entries, progress)
    failed = tuple(entry.path for entry, one in zip(entries, read, strict=True) if one is None)
    return PublicResult(candidate.name, candidate.version, benchmark.figures(entries, read), failed)


def benchmark_tables(results: Sequence[PublicResult]) -> RenderableType:
    """A table for each candidate, in percent."""
    return Group(*(part for result in results for part in _result(result)))


def _result(result: PublicResult) -> list[RenderableType]:
    table = Table(title=f"{result.name} {result.version}", title_justify="left")
    table.add_column("group")
    names = list(dict.fromkeys(name for figures in result.figures.values() for name in figures))
    for name in names:
        table.add_column(name, justify="right")
    for group, figures in result.figures.items():
        table.add_row(Text(group), *(_shown(name, figures.get(name)) for name in names))
    failed = [Text(f"Not read: {', '.join(result.failed)}")] if result.failed else []
    return [table, *failed]


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if name in {"pages", "tests"} else f"{100 * value:.1f}"


def benchmark_json(form: BenchmarkFormat, results: Sequence[PublicResult]) -> dict[str, Any]:
    """All figures, for programs."""
    return {
        "format": f"inkgate.eval.{form}/1",
        "candidates": [
            {
                "name": result.name,
                "version": result.version,
                "figures": {group: dict(figures) for group, figures in result.figures.items()},
                "failed": list(result.failed),
            }
            for result in results
        ],
    }
