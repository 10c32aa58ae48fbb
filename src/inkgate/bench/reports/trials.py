"""What all trials of the same settings show together, as charts and tables need it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inkgate.bench.reports.markup import cut
from inkgate.bench.reports.wording import plain
from inkgate.bench.tune.results import Assessment, Outcome, Parameter, Settings, Trial, TuneReport, Value

OUTCOMES = {
    Outcome.MEASURED: "measured",
    Outcome.DIED: "died",
    Outcome.STORMED: "preemption storm",
    Outcome.NOT_STARTED: "did not start",
    Outcome.STOPPED: "stopped",
}
_WORST = (Outcome.DIED, Outcome.NOT_STARTED, Outcome.STORMED)
_LONGEST = 26
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Standing:
    """Settings and what became of them. `fate`: why they are out, in a word or two; empty where they are not."""

    judged: Assessment
    fate: str
    accuracy: float | None


def standings(report: TuneReport) -> tuple[Standing, ...]:
    """One for each settings that were tried, the best first, those that are out last."""
    by_number = {trial.number: trial for trial in report.trials}
    found = []
    for judged in report.assessments:
        trials = [by_number[number] for number in judged.trials if number in by_number]
        known = [trial.accuracy for trial in trials if trial.accuracy is not None]
        found.append(Standing(judged, _fate(judged, trials), sum(known) / len(known) if known else None))
    return tuple(sorted(found, key=lambda each: (not each.judged.allowed, -each.judged.score)))


def _fate(judged: Assessment, trials: Sequence[Trial]) -> str:
    ended = Counter(trial.outcome for trial in trials)
    worst = next((outcome for outcome in _WORST if ended[outcome]), None)
    if worst is not None and not judged.allowed:
        return OUTCOMES[worst]
    return "" if judged.allowed else "not allowed"


def value_words(value: Value | None) -> str:
    """A value as it stands in a chart or a table, cut where it is long."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return plain(value, 4)
    return cut(str(value), _LONGEST)


def short_names(dials: Sequence[Parameter]) -> dict[str, str]:
    """By path: its last part, or all of it where two dials would have the same name."""
    last = {dial.path: dial.path.rpartition(".")[2] for dial in dials}
    many = Counter(last.values())
    return {path: cut(name if many[name] == 1 else path, _LONGEST_NAME) for path, name in last.items()}


def settings_words(settings: Settings, names: dict[str, str]) -> str:
    """`max_num_seqs = 16, …`; settings that are no dials are left out."""
    return ", ".join(f"{name} = {value_words(settings[path])}" for path, name in names.items() if path in settings)


def changed_words(report: TuneReport) -> str:
    """What is to be set other than it is, in words: `max_num_seqs = 16`."""
    chosen = report.chosen.settings if report.chosen is not None else {}
    current = report.current.settings if report.current is not None else {}
    names = short_names(report.parameters)
    other = {path: value for path, value in chosen.items() if current.get(path) != value}
    return settings_words(other or chosen, names)


def busiest_dials(report: TuneReport) -> tuple[Parameter, ...]:
    """The dials that were turned: those of which most values were tried first."""

    def tried(dial: Parameter) -> int:
        return len({repr(judged.settings.get(dial.path)) for judged in report.assessments})

    return tuple(sorted((dial for dial in report.parameters if tried(dial) > 1), key=lambda dial: -tried(dial)))


def values_tried(report: TuneReport, dial: Parameter) -> tuple[Value, ...]:
    """Numbers by size, others in the dial's order; values that it does not list, such as the current one, included."""
    seen = [judged.settings[dial.path] for judged in report.assessments if dial.path in judged.settings]
    unique: list[Value] = []
    for value in (*(value for value in dial.values if value in seen), *seen):
        if value not in unique:
            unique.append(value)
    numbers = [value for value in unique if isinstance(value, int | float)]
    return tuple(sorted(numbers)) if len(numbers) == len(unique) else tuple(unique)


def same(judged: Assessment | None, other: Assessment | None) -> bool:
    """Whether both are of the same settings."""
    return judged is not None and other is not None and judged.settings == other.settings
