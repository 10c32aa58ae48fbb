"""A load test as a page: the result in a sentence, the charts, and every figure in a table."""

from __future__ import annotations

from collections.abc import Iterator

from inkgate_bench.load.results import LoadPoint, LoadReport, count_errors, error_share, mean_goodput, mean_latency
from inkgate_bench.reports.load_charts import (
    OUTCOMES,
    best_point,
    load_charts,
    measured_points,
    outcome_shares,
    saturated_level,
)
from inkgate_bench.reports.page import Tile, render
from inkgate_bench.reports.wording import NONE, axis_words, count, level_words, number, plain, seconds, share


def load_html(report: LoadReport) -> str:
    """The whole file."""
    points = measured_points(report)
    return render(
        "load.html",
        load_charts(report),
        report=report,
        headline=load_headline(report),
        notes=list(_notes(report)),
        tiles=list(_tiles(report)),
        axis=axis_words(report.axis),
        outcomes=[name for name, _ in OUTCOMES],
        rows=[
            (point, mean_goodput(point.runs), mean_latency(point.runs), outcome_shares(point.runs)) for point in points
        ],
        saturated_level=saturated_level(report),
        errors=count_errors([run for point in points for run in point.runs]).most_common(),
    )


def load_headline(report: LoadReport) -> str:
    """The result in a sentence."""
    points = measured_points(report)
    if not points:
        return "Nothing was measured"
    level = saturated_level(report)
    if report.knee is not None and level is not None:
        rate = number(report.knee.goodput)
        return f"Saturated at {level_words(report.axis, level)}, with {rate} responses in time per second"
    best = best_point(points)
    said = f"{number(mean_goodput(best.runs))} responses in time per second at {level_words(report.axis, best.level)}"
    return said if len(points) == 1 else f"{said}; saturation was not reached"


def _notes(report: LoadReport) -> Iterator[tuple[str, str]]:
    if report.partial:
        yield "This report is partial.", "The test was interrupted; the report shows what was measured before that."
    if report.own.bottleneck:
        why = report.own.why or "it could not send all requests on time"
        yield "The load generator was the bottleneck:", f"{why}. The figures are its own, not the service's."
    elif report.own.unsent:
        yield f"{count(report.own.unsent)} requests were never sent:", "too many others had no response yet."
    if not measured_points(report):
        yield "There is nothing to show:", "no step was finished."
    for note in report.notes:
        yield "Note:", note


def _tiles(report: LoadReport) -> Iterator[Tile]:
    points = measured_points(report)
    if not points:
        return
    at = best_point(points)
    if report.knee is not None:
        level = saturated_level(report)
        if level is None:
            yield Tile("saturation point", "not reached", detail=f"best goodput {number(report.knee.best)} / s")
        else:
            at = min(points, key=lambda point: abs(point.level - level))
            yield Tile("saturation point", plain(level), detail=axis_words(report.axis))
    latency = mean_latency(at.runs)
    where = f"at {level_words(report.axis, at.level)}"
    yield Tile("goodput", number(mean_goodput(at.runs)), "/ s", _spread(at, where))
    yield Tile("p50", seconds(latency.p50_s) if latency else NONE, detail=where)
    yield Tile("p95", seconds(latency.p95_s) if latency else NONE, detail=where)
    yield Tile("error rate", share(error_share(at.runs)), detail=where)


def _spread(point: LoadPoint, where: str) -> str:
    values = [run.goodput for run in point.runs]
    return where if len(values) < 2 else f"{number(min(values))} to {number(max(values))} in {len(values)} runs"
