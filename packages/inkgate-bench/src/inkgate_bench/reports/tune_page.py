"""A search for settings as a page: what to set and why, what the current settings lose, and every trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkgate_bench.load.results import LoadSummary
from inkgate_bench.reports.page import Tile, render
from inkgate_bench.reports.tune_charts import OUTCOMES, rate_settings, same, short_names, tune_charts, value_words
from inkgate_bench.reports.wording import NONE, change, count, number, seconds, share
from inkgate_bench.tune.results import Assessment, Purpose, Settings, TrialOutcome, TuneReport
from inkgate_bench.tune.score import unit

_PURPOSES = {
    Purpose.CURRENT: "current settings",
    Purpose.SEARCH: "search",
    Purpose.CONFIRM: "confirmation",
    Purpose.HEAVIEST: "heaviest images",
}
_FAILED = (TrialOutcome.DIED, TrialOutcome.STORMED, TrialOutcome.NOT_STARTED)


def tune_html(report: TuneReport) -> str:
    """The whole file."""
    return render(
        "tune.html",
        tune_charts(report),
        report=report,
        headline=tune_headline(report),
        notes=list(_notes(report)),
        tiles=list(_tiles(report)),
        unit=unit(report.targets),
        before_after=list(_before_after(report)),
        current_name=f"current ({_failure(report, report.current)})"
        if report.current is not None and not report.current.allowed
        else "current",
        names=short_names(report.parameters),
        purposes=_PURPOSES,
        outcomes=OUTCOMES,
        value=value_words,
    )


def tune_headline(report: TuneReport) -> str:
    """What to set, in a sentence."""
    if report.chosen is None:
        return "No settings that were tried met the targets" if report.trials else "Nothing was tried"
    if same(report.chosen, report.current):
        return f"Keep {_settings_words(report, report.chosen.settings)}: nothing better was found"
    current = report.current.settings if report.current is not None else {}
    changed = {path: value for path, value in report.chosen.settings.items() if current.get(path) != value}
    return f"Set {_settings_words(report, changed or report.chosen.settings)}"


def _settings_words(report: TuneReport, settings: Settings) -> str:
    """`max_num_seqs = 16, …`; settings that are no parameters of the search are left out."""
    names = short_names(report.parameters)
    return ", ".join(f"{name} = {value_words(settings[path])}" for path, name in names.items() if path in settings)


def _notes(report: TuneReport) -> Iterator[tuple[str, str]]:
    if report.partial:
        yield "This report is partial.", "The search was interrupted; `inkgate tune --resume` continues it."


def _tiles(report: TuneReport) -> Iterator[Tile]:
    chosen, current = report.chosen, report.current
    if chosen is None:
        return
    yield Tile("score of the chosen", number(chosen.score), "", f"95 %: {number(chosen.low)} to {number(chosen.high)}")
    if current is not None and not same(chosen, current):
        if current.allowed and current.score > 0:
            better = change(chosen.score / current.score)
            yield Tile("against the current", better, "", f"which score {number(current.score)}")
        else:
            yield Tile("current settings", _failure(report, current), "", current.why_not)
    figures = _means(report, chosen)
    if figures.p95_s is not None:
        runs = "1 run" if figures.answered_runs == 1 else f"{figures.answered_runs} runs"
        yield Tile("p95", seconds(figures.p95_s), "", f"of the chosen, {runs}")
    if figures.memory_mb is not None:
        heaviest = any(trial.purpose is Purpose.HEAVIEST for trial in report.trials if trial.number in chosen.trials)
        where = "of the chosen, including the heaviest images" if heaviest else "of the chosen"
        yield Tile("peak memory", count(figures.memory_mb), "MB", where)
    failed = sum(trial.outcome in _FAILED for trial in report.trials)
    ended = f"; {failed} died, preempted too much or did not start" if failed else ""
    yield Tile("trials", count(len(report.trials)), "", f"{len(report.assessments)} different settings{ended}")


def _failure(report: TuneReport, assessment: Assessment) -> str:
    return (
        next((each.failure for each in rate_settings(report) if same(each.assessment, assessment)), "") or "not allowed"
    )


@dataclass(frozen=True, slots=True)
class SettingsFigures:
    """Means of the trials of some settings under the usual load; `memory_mb`: the highest of all their trials."""

    goodput: float | None
    p50_s: float | None
    p95_s: float | None
    error_share: float | None
    memory_mb: float | None
    answered_runs: int


def _means(report: TuneReport, assessment: Assessment) -> SettingsFigures:
    trials = [trial for trial in report.trials if trial.number in assessment.trials]
    usual = [trial for trial in trials if trial.purpose is not Purpose.HEAVIEST]
    measured = [trial for trial in usual if trial.outcome is TrialOutcome.MEASURED] or usual
    runs: list[LoadSummary] = [trial.summary for trial in measured if trial.summary is not None]
    latencies = [run.latency for run in runs if run.latency is not None]
    servers = [trial.server for trial in trials if trial.server is not None]
    return SettingsFigures(
        goodput=_mean([run.goodput for run in runs]),
        p50_s=_mean([latency.p50_s for latency in latencies]),
        p95_s=_mean([latency.p95_s for latency in latencies]),
        error_share=_mean([run.error_share for run in runs]),
        memory_mb=max((server.memory_mb for server in servers if server.memory_mb is not None), default=None),
        answered_runs=len(latencies),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _before_after(report: TuneReport) -> Iterator[tuple[str, str, str, str]]:
    """Rows: a figure's name, of the current settings, of the chosen, the change."""
    chosen, current = report.chosen, report.current
    if chosen is None or current is None or same(chosen, current):
        return
    yield unit(report.targets), _score(current), _score(chosen), _change(current.score, chosen.score)
    before, after = _means(report, current), _means(report, chosen)
    yield "goodput/s", number(before.goodput), number(after.goodput), _change(before.goodput, after.goodput)
    yield "p50", seconds(before.p50_s), seconds(after.p50_s), _change(before.p50_s, after.p50_s)
    yield "p95", seconds(before.p95_s), seconds(after.p95_s), _change(before.p95_s, after.p95_s)
    yield "error rate", share(before.error_share), share(after.error_share), NONE
    yield "peak memory, MB", count(before.memory_mb), count(after.memory_mb), _change(before.memory_mb, after.memory_mb)


def _score(assessment: Assessment) -> str:
    return (
        f"{number(assessment.score)} ({number(assessment.low)} to {number(assessment.high)})"
        if assessment.score
        else NONE
    )


def _change(before: float | None, after: float | None) -> str:
    return change(after / before) if before and after else NONE
