"""A load test as a page: what it found in a sentence, the curve and its knee, and every figure in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inkgate.bench.load.results import Knee, Latency, LoadReport, Point, ServerSide, Summary
from inkgate.bench.reports.charts import Drawer
from inkgate.bench.reports.endings import ENDINGS, ending_shares
from inkgate.bench.reports.load_charts import goodput, load_charts
from inkgate.bench.reports.markup import Content, Markup, joined, table, tag
from inkgate.bench.reports.page import document, facts, figures, header, machine_section, note, section, tiles
from inkgate.bench.reports.wording import (
    NONE,
    axis_words,
    count,
    interval,
    level_words,
    moment,
    number,
    plain,
    seconds,
    share,
)

_WORTH_SAYING = 0.05
"""Share of the goodput at the knee that higher steps had more, from which on it is said."""


def load_html(report: LoadReport, draw: Drawer | None) -> str:
    """The whole file."""
    headline = load_headline(report)
    deadline = seconds(report.deadline_s, exact=True)
    lede = (
        tag("b", report.target), f", asked in the form “{report.protocol}”. {moment(report.began)}. ",
        f"In time means within {deadline}; at most {share(report.max_error)} of requests may fail.",
    )  # fmt: skip
    return document(
        f"Load test of {report.target}: {headline}",
        header("inkgate load test", headline, lede),
        list(_notes(report)),
        _tiles(report),
        section("What happened", "", figures(load_charts(report), draw)),
        _steps(report),
        _server(report),
        _errors(report),
        _method(report),
        machine_section(report.machine, report.asked),
    )


def load_headline(report: LoadReport) -> str:
    """What was found, in a sentence."""
    points = [point for point in report.points if point.runs]
    if not points:
        return "Nothing was measured"
    knee = report.knee
    if knee is not None and knee.reached and knee.level is not None:
        here = knee.goodput if knee.goodput is not None else knee.best
        more = knee.best / here - 1 if here and knee.best else 0.0
        at_knee = f"{number(here)} answers in time a second at {level_words(report.axis, knee.level)}"
        if more >= _WORTH_SAYING:
            return f"{at_knee}; {share(more)} more at higher load can't be told from noise"
        return f"{at_knee}; more load buys nothing"
    best = max(points, key=goodput)
    said = f"{number(goodput(best))} answers in time a second at {level_words(report.axis, best.level)}"
    return said if len(points) == 1 else f"{said}; the knee was not reached"


def _notes(report: LoadReport) -> Iterator[Markup]:
    if report.partial:
        yield note("This report is partial.", "The test was interrupted; it shows what was measured until then.")
    if report.own.bottleneck:
        why = report.own.why or "it could not send what was asked for"
        yield note("The load generator was the limit:", f"{why}. The figures are its own, not the service's.")
    elif report.own.unsent:
        yield note(f"{count(report.own.unsent)} requests were never sent:", "too many were in flight already.")
    if not any(point.runs for point in report.points):
        yield note("There is nothing to show:", "no step was finished.")
    for said in report.notes:
        yield note("Note:", said)


def _tiles(report: LoadReport) -> Markup | None:
    points = [point for point in report.points if point.runs]
    if not points:
        return None
    knee = report.knee
    at = max(points, key=goodput)
    if knee is not None and knee.reached and knee.level is not None:
        level = knee.level
        at = min(points, key=lambda point: abs(point.level - level))
    latency = _latency(at.runs)
    rate = sum(run.error_share for run in at.runs) / len(at.runs)
    where = f"at {level_words(report.axis, at.level)}"
    return tiles(
        *([_knee_tile(report, knee)] if knee is not None else []),
        ("answers in time", number(goodput(at)), "/ s", _spread([run.goodput for run in at.runs], where)),
        ("p50", seconds(latency.p50_s) if latency else NONE, "", where),
        ("p95", seconds(latency.p95_s) if latency else NONE, "", where),
        ("not answered", share(rate), "", where),
    )


def _knee_tile(report: LoadReport, knee: Knee) -> tuple[str, str, str, str]:
    if not knee.reached or knee.level is None:
        return "knee", "not reached", "", f"best {number(knee.best)} answers in time / s"
    between = f"95 % interval {interval(knee.low, knee.high)}" if knee.low is not None else ""
    return "knee", plain(knee.level), "in flight" if report.axis.value == "concurrency" else "/ s", between


def _spread(values: Sequence[float], where: str) -> str:
    return where if len(values) < 2 else f"{number(min(values))} to {number(max(values))} in {len(values)} runs"


def _latency(runs: Sequence[Summary]) -> Latency | None:
    """Means over repeats of each figure; the most of all."""
    known = [run.latency for run in runs if run.latency is not None]
    if not known:
        return None
    many = len(known)
    return Latency(
        mean_s=sum(each.mean_s for each in known) / many,
        p50_s=sum(each.p50_s for each in known) / many,
        p90_s=sum(each.p90_s for each in known) / many,
        p95_s=sum(each.p95_s for each in known) / many,
        p99_s=sum(each.p99_s for each in known) / many,
        most_s=max(each.most_s for each in known),
    )


def _steps(report: LoadReport) -> Markup:
    points = [point for point in report.points if point.runs]
    if not points:
        return joined()
    head = [axis_words(report.axis), "runs", "due/s", "in time/s", "p50", "p95", "p99", "longest",
            *(ending.name for ending in ENDINGS)]  # fmt: skip
    level = report.knee.level if report.knee is not None else None
    marked = next((number_of for number_of, point in enumerate(points) if point.level == level), None)
    about = "Means of the repeats; shares are of the requests that were due." + (
        " The knee's row stands out." if marked is not None else ""
    )
    return section("Every step", about, table(head, map(_step, points), marked=marked))


def _step(point: Point) -> list[Content]:
    latency = _latency(point.runs)
    times = [latency.p50_s, latency.p95_s, latency.p99_s, latency.most_s] if latency else [None] * 4
    offered = sum(run.offered_per_s for run in point.runs) / len(point.runs)
    return [
        plain(point.level, 4),
        count(len(point.runs)),
        number(offered),
        number(goodput(point)),
        *map(seconds, times),
        *map(share, ending_shares(point.runs)),
    ]


def _server(report: LoadReport) -> Markup | None:
    points = [point for point in report.points if point.server is not None]
    if not points:
        return None
    head = [
        axis_words(report.axis),
        "GPU",
        "GPU memory",
        "KV cache",
        "running",
        "waiting",
        "preempted",
        "restarts",
        "MB",
    ]
    rows = [[plain(point.level, 4), *_said(point.server)] for point in points if point.server is not None]
    about = "Shares and memory are the highest seen, requests running and waiting are means, the rest are counts."
    return section("What the server said", about, table(head, rows))


def _said(server: ServerSide) -> list[str]:
    shares = server.gpu_share, server.gpu_memory_share, server.kv_share
    counts = server.preemptions, server.restarts, server.memory_mb
    return [*map(share, shares), number(server.running), number(server.waiting), *map(count, counts)]


def _errors(report: LoadReport) -> Markup | None:
    kinds: dict[str, int] = {}
    for point in report.points:
        for run in point.runs:
            for kind, many in run.errors.items():
                kinds[kind] = kinds.get(kind, 0) + many
    if not kinds:
        return None
    rows = [[kind, count(many)] for kind, many in sorted(kinds.items(), key=lambda pair: -pair[1])]
    return section("Errors by kind", "Of all steps together.", table(["kind", "how often"], rows))


def _method(report: LoadReport) -> Markup:
    knee, own = report.knee, report.own
    known: list[tuple[str, str]] = []
    if knee is not None:
        known += [("the knee", knee.method), ("why there", knee.why)]
    late = f"99 % of requests were sent within {seconds(own.late_p99_s)} of the moment they were due"
    known.append(("load generator", f"{late}; its thread used {share(own.busy_share)} of a core"))
    return section("How it was found", "", facts(known))
