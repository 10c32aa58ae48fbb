"""A load test's report in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from inkgate.bench.load.curve import shown_curve
from inkgate.bench.load.results import Axis, Latency, LoadReport, Summary


def shown(report: LoadReport) -> str:
    """What a plain run showed; of several steps their curve and its knee."""
    lines = [f"{report.target} ({report.protocol})" + (", ended early: what there was" if report.partial else "")]
    if len(report.points) > 1:
        lines += ["", shown_curve(report)]
    for point in report.points if len(report.points) == 1 else ():
        unit = "requests in flight" if report.axis is Axis.CONCURRENCY else "requests a second"
        for run in point.runs:
            lines += ["", f"{point.level:g} {unit}, {run.seconds:.1f} s", *_run(run, report.deadline_s)]
    if report.own.bottleneck:
        lines += ["", f"The load generator was the bottleneck: {report.own.why}. The figures are not the service's."]
    else:
        lines += [f"  {'generator':<12} {report.own.busy_share:.0%} of a core, p99 {_ms(report.own.late_p99_s)} late"]
    return "\n".join(lines)


def _run(run: Summary, deadline_s: float) -> Iterator[str]:
    yield _row("offered", f"{run.offered_per_s:.2f}/s", f"{run.offered} requests, {run.in_flight:.1f} in flight")
    yield _row("answered", f"{run.answered_per_s:.2f}/s", f"{run.answered}; {run.error_share:.2%} were not")
    yield _row("in time", f"{run.goodput:.2f}/s", f"{run.in_time} within {deadline_s:g} s; {run.pages} pages")
    if run.latency is not None:
        yield _row("latency", _ms(run.latency.p50_s), _quantiles(run.latency))
    if run.refusal is not None:
        yield _row("refusals", _ms(run.refusal.p50_s), _quantiles(run.refusal))
    if run.degraded:
        yield _row("degraded", str(run.degraded), "answers were read with less care")
    for kind, many in run.errors.items():
        yield _row("error", str(many), kind)


def _row(name: str, value: str, more: str) -> str:
    return f"  {name:<12} {value:>12}  {more}"


def _quantiles(latency: Latency) -> str:
    named = (("p90", latency.p90_s), ("p95", latency.p95_s), ("p99", latency.p99_s), ("most", latency.most_s))
    return "p50, " + ", ".join(f"{name} {_ms(value)}" for name, value in named)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
