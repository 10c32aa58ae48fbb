"""What a comparison of engines found: plain values, which pydantic writes as JSON and reads back.

Times in seconds, memory in MB of a million bytes; a share is 0 to 1; None means that it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from inkgate.bench.load.results import Latency, Machine, OwnLimits, Summary

FORMAT = "inkgate.compare-engines/1"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of the documents whose content is known (docs/guides/accuracy.md says what the figures mean).

    Attributes:
        documents: that were compared; unread: of them those that were not read, or not whole.
        cer: character error rate; f1: of words; line_recall: lines that were found. None without such a truth.
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
class EngineMeasured:
    """One contender.

    Attributes:
        name: as it was asked for; model, engine: what reads, and what computes it, as the service says.
        started_here: whether it was started for this; start_s: from then until it was ready.
        runs: a load each, in rounds; own: the load generator's own limits, of the run where it was worst.
        memory_mb: most resident memory of all its processes together; gpu_memory_mb: most memory of all GPUs beyond
            what was taken before it was started.
        why_not: why it was not measured, or not to the end; empty where it was.
        notes: what a reader has to know before comparing it with others.
    """

    name: str
    model: str = ""
    engine: str = ""
    started_here: bool = False
    start_s: float | None = None
    runs: tuple[Summary, ...] = ()
    own: OwnLimits | None = None
    memory_mb: float | None = None
    gpu_memory_mb: float | None = None
    accuracy: Accuracy | None = None
    why_not: str = ""
    notes: tuple[str, ...] = ()

    @property
    def answered_per_s(self) -> float | None:
        """Over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.answered for run in self.runs) / seconds if seconds else None

    @property
    def goodput(self) -> float | None:
        """Answers within the deadline a second, over all rounds."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.in_time for run in self.runs) / seconds if seconds else None

    @property
    def error_share(self) -> float | None:
        """Of the requests of all rounds, those not answered."""
        offered = sum(run.offered for run in self.runs)
        return sum(run.offered - run.answered for run in self.runs) / offered if offered else None

    @property
    def errors(self) -> dict[str, int]:
        """How often by kind, over all rounds."""
        total: dict[str, int] = {}
        for run in self.runs:
            for kind, times in run.errors.items():
                total[kind] = total.get(kind, 0) + times
        return total

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
    """All contenders, in the order in which they were asked for.

    Attributes:
        began: moment in UTC, ISO 8601.
        pages: files that were sent; megabytes: all of them together.
        clients: in a closed loop; seconds: of a run; rounds: runs of each.
        partial: it was interrupted, and shows what there was.
    """

    began: str
    pages: int
    megabytes: float
    clients: int
    seconds: float
    rounds: int
    deadline_s: float
    machine: Machine
    engines: tuple[EngineMeasured, ...]
    partial: bool = False
    format: str = field(default=FORMAT)
