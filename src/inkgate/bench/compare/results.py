"""The results of a comparison of engines: plain values that pydantic writes as JSON and reads back.

Times in seconds, memory in MB of a million bytes; a share is 0 to 1; None: unknown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from inkgate.bench.load.repeats import count_errors, error_share
from inkgate.bench.load.results import Latency, LoadSummary, MachineInfo, OwnLimits

FORMAT = "inkgate.compare-engines/1"


@dataclass(frozen=True, slots=True)
class EngineAccuracy:
    """Of the documents whose text is known; docs/guides/accuracy.md explains the figures.

    Attributes:
        documents: that were compared; unread: of them those that failed, or a page of which failed.
        cer: character error rate; f1: of words; line_recall: share of lines that were found.
        tests_passed, tests: unit tests.
    """

    documents: int
    unread: int
    cer: float | None
    f1: float | None
    line_recall: float | None
    tests_passed: int = 0
    tests: int = 0


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One contender.

    Attributes:
        name: from the command line; model, engine: as the service reports them.
        started_here: whether it was started for the comparison; start_s: from then until it was ready.
        runs: one a round; own: of the load generator, in its worst run.
        memory_mb: peak resident memory of all its processes; gpu_memory_mb: peak memory of all GPUs beyond what was
            used before the start.
        why_not: why it was not measured to the end; empty where it was.
        notes: what a reader should know.
    """

    name: str
    model: str = ""
    engine: str = ""
    started_here: bool = False
    start_s: float | None = None
    runs: tuple[LoadSummary, ...] = ()
    own: OwnLimits | None = None
    memory_mb: float | None = None
    gpu_memory_mb: float | None = None
    accuracy: EngineAccuracy | None = None
    why_not: str = ""
    notes: tuple[str, ...] = ()

    @property
    def answered_per_s(self) -> float | None:
        """Over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.answered for run in self.runs) / seconds if seconds else None

    @property
    def goodput(self) -> float | None:
        """Successful responses within the deadline per second, over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.in_time for run in self.runs) / seconds if seconds else None

    @property
    def error_share(self) -> float | None:
        """Of the requests of all rounds, those without a successful response."""
        return error_share(self.runs) if self.runs else None

    @property
    def errors(self) -> Counter[str]:
        """How often by kind, over all rounds."""
        return count_errors(self.runs)

    @property
    def p50_s(self) -> float | None:
        """The median over rounds of a round's median."""
        return _median([latency.p50_s for latency in self._latencies])

    @property
    def p95_s(self) -> float | None:
        """The median over rounds of a round's 95th percentile."""
        return _median([latency.p95_s for latency in self._latencies])

    @property
    def _latencies(self) -> list[Latency]:
        return [run.latency for run in self.runs if run.latency is not None]


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


@dataclass(frozen=True, slots=True)
class EngineComparison:
    """All contenders, in the order of the command line.

    Attributes:
        began: in UTC, ISO 8601.
        pages: number of files; megabytes: of all of them.
        clients: of the closed loop; seconds: of a run; rounds: runs of each contender.
        partial: it was interrupted.
    """

    began: str
    pages: int
    megabytes: float
    clients: int
    seconds: float
    rounds: int
    deadline_s: float
    machine: MachineInfo
    engines: tuple[EngineResult, ...]
    partial: bool = False
    format: str = field(default=FORMAT)
