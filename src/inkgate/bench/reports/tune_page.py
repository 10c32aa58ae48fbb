"""A search for settings as a page: what to set and why, what the current settings lose, and every trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inkgate.bench.load.results import Summary
from inkgate.bench.reports.charts import Drawer
from inkgate.bench.reports.markup import Content, Markup, breakable, joined, table, tag
from inkgate.bench.reports.page import document, figures, header, machine_section, note, section, tiles
from inkgate.bench.reports.trials import (
    OUTCOMES,
    changed_words,
    same,
    settings_words,
    short_names,
    standings,
    value_words,
)
from inkgate.bench.reports.tune_charts import tune_charts
from inkgate.bench.reports.wording import NONE, change, count, moment, number, plain, seconds, share
from inkgate.bench.tune.results import Assessment, Outcome, Purpose, TuneReport
from inkgate.bench.tune.score import unit

_PURPOSES = {
    Purpose.CURRENT: "current settings",
    Purpose.SEARCH: "search",
    Purpose.CONFIRM: "confirmation",
    Purpose.HEAVIEST: "heaviest images",
}


def tune_html(report: TuneReport, draw: Drawer | None) -> str:
    """The whole file."""
    headline, targets = tune_headline(report), report.targets
    until = seconds(targets.deadline_s, exact=True)
    lede = (
        f". {moment(report.began)}. Answers within {until} count, at most {share(targets.max_error)} of requests may "
        f"fail; judged by {unit(targets)}, with {plain(report.demand)} requests a second offered."
    )
    return document(
        f"Settings for {report.engine}: {headline}",
        header("inkgate tune", headline, tag("b", report.engine), lede),
        list(_notes(report)),
        _tiles(report),
        _recommended(report),
        section("What was found", "", figures(tune_charts(report), draw)),
        _before_after(report),
        _dials(report),
        _trials(report),
        machine_section(report.machine, {}),
    )


def tune_headline(report: TuneReport) -> str:
    """What to set, in a sentence."""
    if report.chosen is None:
        return "Nothing that was tried kept to the targets" if report.trials else "Nothing was tried"
    if same(report.chosen, report.current):
        chosen = settings_words(report.chosen.settings, short_names(report.parameters))
        return f"Keep {chosen}: nothing better was found"
    return f"Set {changed_words(report)}"


def _notes(report: TuneReport) -> Iterator[Markup]:
    if report.partial:
        yield note("This report is partial.", "The search was interrupted; `inkgate tune --resume` goes on with it.")


def _tiles(report: TuneReport) -> Markup | None:
    chosen, current = report.chosen, report.current
    if chosen is None:
        return None
    cells = [("score of the chosen", number(chosen.score), "", f"95 %: {number(chosen.low)} to {number(chosen.high)}")]
    if current is not None and not same(chosen, current):
        if current.allowed and current.score > 0:
            better = chosen.score / current.score
            cells.append(("against the current", change(better), "", f"which score {number(current.score)}"))
        else:
            cells.append(("the current", _fate(report, current), "", current.why_not))
    runs = [summary for summary in _summaries(report, chosen) if summary.latency is not None]
    p95s = [run.latency.p95_s for run in runs if run.latency is not None]
    if p95s:
        cells.append(("p95", seconds(sum(p95s) / len(p95s)), "", f"of the chosen, {_runs(len(p95s))}"))
    memory = _memory(report, chosen)
    if memory is not None:
        its = [trial for trial in report.trials if trial.number in chosen.trials]
        heaviest = any(trial.purpose is Purpose.HEAVIEST for trial in its)
        cells.append(
            ("most memory", count(memory), "MB", f"of the chosen{', under the heaviest too' if heaviest else ''}")
        )
    bad = sum(trial.outcome in (Outcome.DIED, Outcome.STORMED, Outcome.NOT_STARTED) for trial in report.trials)
    ended = f"; {bad} died, stormed or did not start" if bad else ""
    cells.append(("trials", count(len(report.trials)), "", f"{len(report.assessments)} different settings{ended}"))
    return tiles(*cells)


def _fate(report: TuneReport, judged: Assessment) -> str:
    return next((each.fate for each in standings(report) if same(each.judged, judged)), "") or "not allowed"


def _runs(many: int) -> str:
    return "1 run" if many == 1 else f"{many} runs"


def _summaries(report: TuneReport, judged: Assessment) -> list[Summary]:
    """Of its trials under the usual load that were measured; where none was, of those that ended otherwise."""
    trials = [
        trial
        for trial in report.trials
        if trial.number in judged.trials and trial.purpose is not Purpose.HEAVIEST and trial.summary is not None
    ]
    measured = [trial for trial in trials if trial.outcome is Outcome.MEASURED]
    return [trial.summary for trial in measured or trials if trial.summary is not None]


def _memory(report: TuneReport, judged: Assessment) -> float | None:
    servers = [trial.server for trial in report.trials if trial.number in judged.trials and trial.server is not None]
    return max((server.memory_mb for server in servers if server.memory_mb is not None), default=None)


def _recommended(report: TuneReport) -> Markup:
    reasons = tag("ul", [tag("li", reason) for reason in (*report.reasons, report.loses) if reason], class_="reasons")
    fragment = tag("pre", tag("code", report.fragment.strip()), tabindex="0") if report.fragment.strip() else None
    title = "What to set, and why" if report.chosen is not None else "Why nothing is recommended"
    return section(title, "", fragment, reasons)


def _before_after(report: TuneReport) -> Markup | None:
    chosen, current = report.chosen, report.current
    if chosen is None or current is None or same(chosen, current):
        return None
    before, after = _means(report, current), _means(report, chosen)
    rows = [
        [name, first, second, change(after[name][1] / before[name][1]) if _ratio(before, after, name) else NONE]
        for name in before
        for first, second in [(before[name][0], after[name][0])]
    ]
    about = "Means of all trials of either; scores with their 95 % intervals."
    before_name = "current" if current.allowed else f"current ({_fate(report, current)})"
    return section("Before and after", about, table(["", before_name, "chosen", "change"], rows))


Means = dict[str, tuple[str, float]]


def _ratio(before: Means, after: Means, name: str) -> bool:
    return before[name][1] > 0 and after[name][1] > 0


def _means(report: TuneReport, judged: Assessment) -> Means:
    runs = _summaries(report, judged)
    latencies = [run.latency for run in runs if run.latency is not None]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values) if values else 0.0

    goodput = mean([run.goodput for run in runs])
    p50, p95 = mean([each.p50_s for each in latencies]), mean([each.p95_s for each in latencies])
    unanswered = mean([run.error_share for run in runs])
    memory = _memory(report, judged) or 0.0
    score = f"{number(judged.score)} ({number(judged.low)} to {number(judged.high)})" if judged.score else NONE
    return {
        unit(report.targets): (score, judged.score),
        "answers in time / s": (number(goodput) if runs else NONE, goodput),
        "p50": (seconds(p50) if latencies else NONE, p50),
        "p95": (seconds(p95) if latencies else NONE, p95),
        "not answered": (share(unanswered) if runs else NONE, 0.0),
        "most memory, MB": (count(memory) if memory else NONE, memory),
    }


def _dials(report: TuneReport) -> Markup:
    chosen = report.chosen.settings if report.chosen is not None else {}
    current = report.current.settings if report.current is not None else {}
    rows = [
        [tag("code", dial.path), dial.why, ", ".join(map(value_words, dial.values)),
         value_words(current.get(dial.path)), value_words(chosen.get(dial.path))]
        for dial in report.parameters
    ]  # fmt: skip
    head = ["setting", "what it trades", "values", "current", "chosen"]
    return section("Dials", "What was searched over.", table(head, rows, "sww")) if rows else joined()


def _trials(report: TuneReport) -> Markup:
    if not report.trials:
        return joined()
    names = short_names(report.parameters)
    rows: list[list[Content]] = []
    for trial in report.trials:
        run, server = trial.summary, trial.server
        said = OUTCOMES[trial.outcome]
        ended = said if trial.outcome is Outcome.MEASURED else tag("span", said, class_="pill bad")
        rows.append(
            [
                count(trial.number),
                _PURPOSES[trial.purpose],
                *(value_words(trial.settings.get(path)) for path in names),
                number(run.goodput) if run is not None else NONE,
                seconds(run.latency.p95_s) if run is not None and run.latency is not None else NONE,
                share(run.error_share) if run is not None else NONE,
                share(server.kv_share) if server is not None else NONE,
                count(server.preemptions) if server is not None else NONE,
                count(server.memory_mb) if server is not None else NONE,
                joined(ended, " ", tag("i", trial.why)) if trial.why else ended,
            ]
        )
    figures_of = ["in time/s", "p95", "not answered", "KV cache", "preempted", "MB"]
    kinds = "fs" + "f" * (len(names) + len(figures_of)) + "w"
    head = ["no.", "for", *map(breakable, names.values()), *figures_of, "how it ended"]
    return section("Every trial", " ".join(report.notes), table(head, rows, kinds))
