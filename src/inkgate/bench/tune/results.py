"""What a search for settings found: every trial, what was chosen, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from inkgate.bench.load.results import Machine, ServerSide, Summary

FORMAT = "inkgate.tune/2"

Value = int | float | str | bool
Settings = dict[str, Value]
"""Values by the setting's path, such as `engine.vllm.managed.max_num_seqs`."""


class Outcome(StrEnum):
    """How a trial ended."""

    MEASURED = "measured"
    DIED = "died"
    """The engine ended or was killed under load: out of memory, or a fault."""
    STORMED = "stormed"
    """It preempted so much that what it did was done over again."""
    NOT_STARTED = "not_started"
    STOPPED = "stopped"
    """Interrupted, or out of time."""


class Purpose(StrEnum):
    """What a trial was made for."""

    CURRENT = "current"
    SEARCH = "search"
    CONFIRM = "confirm"
    """The best ones again, in turns, so that a machine that slows down is unfair to none."""
    HEAVIEST = "heaviest"
    """The heaviest images that pages and limits allow: does it stay up?"""


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried once. `seconds`: of load; `why`: in words, where it was not measured.

    `accuracy`: share of characters right, where the pages have a ground truth. `others_cores`: processor cores that
    other programs of the machine took during the load. `demand`: requests a second that were offered.
    """

    number: int
    purpose: Purpose
    settings: Settings
    outcome: Outcome
    seconds: float
    summary: Summary | None = None
    server: ServerSide | None = None
    accuracy: float | None = None
    why: str = ""
    others_cores: float | None = None
    demand: float | None = None


@dataclass(frozen=True, slots=True)
class Assessment:
    """All trials of the same settings together.

    `score`: of the objective, higher is better; `low`, `high`: its 95 % interval; `allowed`: it stayed up and kept to
    the targets; `why_not`: in words.
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
    """A setting that is searched. `values` from least to most; `why`: what it trades for what."""

    path: str
    values: tuple[Value, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Targets:
    """What counts: answers within `deadline_s`, at most `max_error` of requests failed; most pages/s or least cost.

    `objective`: `pages` or `cost`; `price_per_hour`: of the machine, for the latter. `least_accuracy`: share of
    characters right below which settings are not taken, where the pages have a ground truth.
    """

    deadline_s: float
    max_error: float
    objective: str = "pages"
    price_per_hour: float | None = None
    least_accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class TuneReport:
    """A whole search.

    Attributes:
        chosen: None where nothing that was tried kept to the targets.
        current: the settings in use, judged the same way.
        fragment: of `inkgate.toml`, with what was chosen.
        reasons: why, in sentences; loses: what the current settings lose, in a sentence.
        partial: it was interrupted; `inkgate tune --resume` goes on.
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
    machine: Machine
    partial: bool = False
    format: str = FORMAT
    notes: tuple[str, ...] = field(default_factory=tuple)
