"""A search for settings in data: its task, its steps, every trial, and the report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from inkgate_bench.load.results import LoadSummary, MachineInfo, ServerSide

FORMAT = "inkgate.tune/2"

Value = int | float | str | bool
Settings = dict[str, Value]
"""Values by the setting's path, such as `engine.vllm.managed.max_num_seqs`."""


class TrialOutcome(StrEnum):
    """How a trial ended."""

    MEASURED = "measured"
    DIED = "died"
    """The engine ended or was killed under load: out of memory, or a fault."""
    STORMED = "stormed"
    """The model server preempted so much that it did most of its work twice."""
    NOT_STARTED = "not_started"
    STOPPED = "stopped"
    """Interrupted, or out of time."""


class Purpose(StrEnum):
    """What a trial is for."""

    CURRENT = "current"
    SEARCH = "search"
    CONFIRM = "confirm"
    """The best settings and the runner-up again, in the order A B B A: a steady drift of the machine cancels out."""
    HEAVIEST = "heaviest"
    """The heaviest images that pages and limits allow: does the service stay up?"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial of settings.

    Attributes:
        seconds: of load.
        accuracy: share of characters read correctly, if the pages have a ground truth.
        why: the cause of its outcome, in words; of a MEASURED trial, why the load generator was the limit.
        other_load_cores: processor cores that other programs took during the load.
        demand: requests a second that were offered.
        took_s: seconds that it took, start and stop of the service included.
    """

    number: int
    purpose: Purpose
    settings: Settings
    outcome: TrialOutcome
    seconds: float
    summary: LoadSummary | None = None
    server: ServerSide | None = None
    accuracy: float | None = None
    why: str = ""
    other_load_cores: float | None = None
    demand: float | None = None
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Assessment:
    """All trials of the same settings together.

    `score`: mean of the objective, higher is better; `low`, `high`: its 95 % interval; `allowed`: the service stayed up
    and met the targets; `why_not`: in words.
    """

    settings: Settings
    trials: tuple[int, ...]
    score: float
    low: float
    high: float
    allowed: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting that is searched. `values`: from least to most; `why`: what a higher value gains and costs."""

    path: str
    values: tuple[Value, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Targets:
    """Answers count within `deadline_s`, and at most `max_error` of the requests may fail.

    `objective`: `pages` (most pages a second) or `cost` (most pages for the money); `price_per_hour`: of the machine,
    for `cost`. `least_accuracy`: share of characters below which settings are not allowed, if there is a ground truth.
    """

    deadline_s: float
    max_error: float
    objective: str = "pages"
    price_per_hour: float | None = None
    least_accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What is searched, where and for whom.

    Attributes:
        engine: `vllm` or `ppocr`.
        parameters: what may be set, the most important first; current: the values in use, of all parameters.
        pages: a hash of the pages' contents.
        demand: requests a second that are offered at first, more than any settings can answer; rises: more is offered
            if that turns out to be too little.
        budget_s: for everything, starts included; what a resumed search took before counts.
        began: moment in UTC, ISO 8601.
        heaviest: whether the chosen settings have to stay up under the heaviest images.
        free_memory_mb: what the services of a side-by-side comparison may take together.
        seed: of arrivals.
    """

    engine: str
    parameters: tuple[Parameter, ...]
    current: Settings
    targets: Targets
    pages: str
    demand: float
    budget_s: float
    began: str
    machine: MachineInfo
    heaviest: bool = True
    seed: int = 1
    rises: bool = False
    free_memory_mb: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One trial, or several that belong together.

    Attributes:
        turns: the settings of each trial, in this order; a value for every parameter.
        seconds: of load in each trial; demand: requests a second that are offered.
        side_by_side: all services are up at once and loaded in turn; else each trial starts its own.
    """

    turns: tuple[Settings, ...]
    purpose: Purpose
    seconds: float
    demand: float
    side_by_side: bool = False


@dataclass(frozen=True, slots=True)
class TuneReport:
    """A whole search.

    Attributes:
        chosen: None if no settings met the targets.
        current: the settings in use, assessed the same way.
        fragment: of `inkgate.toml`, with the chosen settings.
        reasons: why, in sentences; loses: what the current settings lose, in a sentence.
        partial: interrupted; `inkgate tune --resume` continues the search.
    """

    began: str
    engine: str
    targets: Targets
    parameters: tuple[Parameter, ...]
    demand: float
    trials: tuple[Trial, ...]
    assessments: tuple[Assessment, ...]
    current: Assessment | None
    chosen: Assessment | None
    fragment: str
    reasons: tuple[str, ...]
    loses: str
    machine: MachineInfo
    partial: bool = False
    format: str = FORMAT
    notes: tuple[str, ...] = ()


def value_text(value: Value) -> str:
    """A value as it is written in TOML."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def settings_text(settings: Settings) -> str:
    """The settings in short, such as `max_num_seqs = 16`."""
    return ", ".join(f"{path.rpartition('.')[2]} = {value_text(value)}" for path, value in settings.items())
