"""An evaluation as a page: the figures by group, what was lost, and whether confidences mean something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from matplotlib.figure import FigureBase

from inkgate_bench.accuracy.calibration import CalibrationCurve
from inkgate_bench.accuracy.results import AccuracyReport
from inkgate_bench.accuracy.summary import AccuracySummary
from inkgate_bench.reports.charts import DASHES, MARKERS, WIDE, Palette, ReportChart, legend
from inkgate_bench.reports.page import Tile, render
from inkgate_bench.reports.wording import NONE, count, cut

HEAD = ("CER", "with free", "a=A", "F1", "lines", "order", "columns", "TEDS", "lost", "doubled", "tests")
MAX_GROUPS_DRAWN = 16
MAX_QUOTED = 5


def accuracy_html(report: AccuracyReport) -> str:
    """The whole file."""
    return render(
        "accuracy.html",
        accuracy_charts(report),
        report=report,
        headline=accuracy_headline(report),
        notes=list(_notes(report)),
        tiles=list(_tiles(report)),
        head=HEAD,
        row=_row,
        most_quoted=MAX_QUOTED,
        machine={name: str(value) for name, value in report.machine.items()},
    )


def accuracy_headline(report: AccuracyReport) -> str:
    """The result in a sentence."""
    if not report.candidates or not report.candidates[0].all.files:
        return "Nothing was measured"
    own = report.candidates[0]
    figures = (("character error rate", own.all.cer), ("F1", own.all.f1), ("order", own.all.order))
    known = [f"{name} {_percent(value)}" for name, value in figures if value is not None]
    return f"{own.name} on {count(own.all.files)} documents: {', '.join(known) or 'unit tests only'}"


def _notes(report: AccuracyReport) -> Iterator[tuple[str, str]]:
    for candidate in report.candidates:
        failed = [file.path for file in candidate.files if file.error]
        if failed:
            yield f"{candidate.name} did not read, or not completely:", ", ".join(failed)
        if candidate.order_suspects:
            yield (
                f"{candidate.name} read these in another order than their truth has:",
                f"{', '.join(candidate.order_suspects)}. One of the two is wrong; see “order_free”.",
            )


def _tiles(report: AccuracyReport) -> Iterator[Tile]:
    for own in report.candidates[:1]:
        yield Tile("CER", _percent(own.all.cer), detail=f"with order-free pages {_percent(own.all.cer_every)}")
        yield Tile("F1", _percent(own.all.f1), detail=f"{count(own.all.files)} documents")
        yield Tile("order", _percent(own.all.order), detail=f"of {_percent(own.all.order_matched)} of the true lines")
        if own.all.tabled:
            detail = f"{count(own.all.tabled)} documents; structure alone {_percent(own.all.teds_structure)}"
            yield Tile("TEDS", _percent(own.all.teds), detail=detail)
        sums = own.line_accounts
        if sums.lines:
            yield Tile("lines lost", count(sums.lost), detail=f"{count(sums.doubled)} doubled, of {count(sums.lines)}")


def _row(summary: AccuracySummary) -> tuple[str, ...]:
    """Cells of a summary, as HEAD names them."""
    every = summary.cer_every if summary.cer_every != summary.cer else None
    shares = (
        *(summary.cer, every, summary.cer_folded, summary.f1, summary.line_recall),
        *(summary.order, summary.column_order, summary.teds),
    )
    counts = (count(each) if summary.lines else NONE for each in (summary.lost, summary.doubled))
    tests = f"{summary.tests_passed}/{summary.tests}" if summary.tests else NONE
    return (*map(_percent, shares), *counts, tests)


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def accuracy_charts(report: AccuracyReport) -> Iterator[ReportChart]:
    """The charts that there is data for: order by kind, and the calibration curve of each candidate."""
    for own in report.candidates[:1]:
        kinds = {kind: summary for kind, summary in own.groups.get("kind", {}).items() if summary.order is not None}
        if len(kinds) > 1:
            yield ReportChart(
                "Reading order by kind of document",
                "Kendall's tau over the matched lines: 100 is the order of the truth, 0 what chance gives. "
                f"The {MAX_GROUPS_DRAWN} kinds with the lowest.",
                "Order by kind of document; the table below has the values.",
                partial(_draw_orders, kinds),
                (WIDE[0], 0.9 + 0.28 * min(len(kinds), MAX_GROUPS_DRAWN)),
            )
    for candidate in report.candidates:
        curves = {part: curve for part, curve in candidate.calibration.items() if len(curve.bins) > 1}
        if curves:
            yield ReportChart(
                f"Calibration of {candidate.name}",
                "Of parts read with a confidence, the share that is right in text and order. On the diagonal, of "
                "parts at 0.9 nine in ten are right. Numbers are parts in the bin.",
                "Share right by confidence; the table below has the values.",
                partial(_draw_calibration, curves),
                (WIDE[0], 4.2),
            )


def _draw_orders(kinds: Mapping[str, AccuracySummary], figure: FigureBase, palette: Palette) -> None:
    lowest = sorted(kinds.items(), key=lambda item: item[1].order or 0.0)[:MAX_GROUPS_DRAWN]
    axes = figure.add_subplot()
    values = [100 * (summary.order or 0.0) for _, summary in lowest]
    axes.barh(range(len(lowest)), values, color=palette.one, height=0.6)
    axes.set_yticks(range(len(lowest)), [cut(kind, 42) for kind, _ in lowest])
    axes.invert_yaxis()
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_xlim(min(0.0, *values), 100)
    axes.set_xlabel("order")


def _draw_calibration(curves: Mapping[str, CalibrationCurve], figure: FigureBase, palette: Palette) -> None:
    axes = figure.add_subplot()
    least = min(each.confidence for curve in curves.values() for each in curve.bins)
    low = max(0.0, 100 * least - 5)
    axes.plot([low, 100], [low, 100], color=palette.muted, linewidth=1, linestyle=DASHES[2], label="as it should be")
    styles = zip(curves.items(), (palette.one, palette.two), MARKERS, DASHES, strict=False)
    for (part, curve), colour, marker, dash in styles:
        places = [100 * each.confidence for each in curve.bins]
        right = [100 * each.right for each in curve.bins]
        axes.plot(places, right, color=colour, marker=marker, linestyle=dash, label=part)
        for each, place, value in zip(curve.bins, places, right, strict=True):
            axes.annotate(str(each.count), (place, value), (5, 5), textcoords="offset points", color=colour)
    axes.set_xlim(low, 101)
    axes.set_ylim(-3, 103)
    axes.set_xlabel("mean confidence of the bin, percent")
    axes.set_ylabel("right in text and order, percent")
    legend(axes)
