"""Two load tests side by side as a page: do they differ, by how much, and how that was judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from inkgate.bench.load.results import LoadReport
from inkgate.bench.reports.charts import Drawer, drawer
from inkgate.bench.reports.compare import Comparison
from inkgate.bench.reports.compare_charts import compare_charts
from inkgate.bench.reports.differences import ALIKE, LEAST_REPEATS, Ratio, Verdict
from inkgate.bench.reports.markup import Content, Markup, joined, table, tag
from inkgate.bench.reports.page import document, facts, figures, header, note, section, tiles
from inkgate.bench.reports.wording import (
    NONE,
    axis_words,
    change,
    interval,
    level_words,
    moment,
    number,
    plain,
    seconds,
)

_PILLS = {Verdict.REAL: "really different", Verdict.NONE: "no difference", Verdict.NOT_TELLABLE: "not tellable"}
_COLOURS = {Verdict.REAL: "pill", Verdict.NONE: "pill unsure", Verdict.NOT_TELLABLE: "pill unsure"}


def comparison_html(found: Comparison, draw: Drawer | None = None) -> str:
    """The whole file. `draw`: what draws its charts; what is installed, where it is None."""
    return document(
        f"{found.names[0]} and {found.names[1]} compared",
        header(
            "inkgate load tests compared",
            _headline(found),
            "A is ", tag("b", found.names[0]), f", {moment(found.a.began)}; B is ", tag("b", found.names[1]),
            f", {moment(found.b.began)}.",
        ),
        [note("Mind this:", concern) for concern in found.concerns],
        _tiles(found),
        section("What can be said", "", [tag("p", sentence, class_="verdict") for sentence in found.statement]),
        section("At every load", "", figures(compare_charts(found), draw or drawer())),
        _levels(found),
        section("Side by side", "", table(["", f"A: {found.names[0]}", f"B: {found.names[1]}"], _sides(found), "sww")),
        _method(found),
    )  # fmt: skip


def _headline(found: Comparison) -> str:
    verdict, ratio = found.goodput.verdict, found.goodput.ratio
    if ratio is None:
        return "Whether B differs from A can't be told"
    if verdict is Verdict.NOT_TELLABLE:
        return "It is not tellable whether A or B answers more in time"
    if verdict is Verdict.NONE:
        return "A and B answer the same in time"
    amount = change(ratio).lstrip("+−")
    return f"B really gives {amount} {'more' if ratio > 1 else 'fewer'} answers in time than A"


def _tiles(found: Comparison) -> Markup | None:
    if found.level is None:
        return None
    where = f"at {level_words(found.a.axis, found.level)}"
    cells = [
        (f"{what}, B over A", change(one.ratio), "", f"{_between(one)} {where}")
        for what, one in (("answers in time", found.goodput), ("p95", found.p95))
    ]
    knees = [_knee(report) for report in (found.a, found.b)]
    if found.a.knee is not None and found.b.knee is not None:
        cells.append(("knee of A", knees[0][0], "", knees[0][1]))
        cells.append(("knee of B", knees[1][0], "", knees[1][1]))
    return tiles(*cells)


def _between(one: Ratio) -> str:
    if one.low is None or one.high is None:
        return one.why or "not tellable"
    return f"{_PILLS[one.verdict]}; {change(one.low)} to {change(one.high)}"


def _knee(report: LoadReport) -> tuple[str, str]:
    knee = report.knee
    if knee is None or not knee.reached or knee.level is None:
        return "not reached", ""
    return plain(knee.level), f"95 % interval {interval(knee.low, knee.high)}" if knee.low is not None else ""


def _levels(found: Comparison) -> Markup:
    if not found.levels:
        return joined()
    marked = next((place for place, level in enumerate(found.levels) if level.level == found.level), None)
    head = [axis_words(found.a.axis), "A", "B", "B over A", "interval", "verdict"]
    tables = [
        joined(tag("h3", title), table(head, rows, marked=marked))
        for title, rows in (
            ("Answers in time a second", [_row(level.level, level.goodput, number) for level in found.levels]),
            ("95th percentile of latency", [_row(level.level, level.p95, seconds) for level in found.levels]),
        )
    ]
    about = (
        "The intervals of one table hold together: all of them with 95 % (Bonferroni's correction), so they are wider "
        "than those above. The row that is judged above stands out."
    )
    return section("Figures", about, tables)


def _row(level: float, one: Ratio, words: Callable[[float | None], str]) -> list[Content]:
    between = f"{change(one.low)} to {change(one.high)}" if one.low is not None else NONE
    verdict = tag("span", _PILLS[one.verdict], class_=_COLOURS[one.verdict])
    return [plain(level, 4), words(one.a), words(one.b), change(one.ratio), between, verdict]


def _sides(found: Comparison) -> Iterator[list[Content]]:
    def pair(name: str, a: str, b: str) -> list[Content]:
        return [name, a, b if a == b else tag("b", b)]

    a, b = found.a, found.b
    yield pair("target", a.target, b.target)
    yield pair("asked in the form", a.protocol, b.protocol)
    yield pair("in time within", seconds(a.deadline_s, exact=True), seconds(b.deadline_s, exact=True))
    for name, one, other in (
        ("machine", a.machine.name, b.machine.name),
        ("processor", a.machine.processor, b.machine.processor),
        ("GPUs", ", ".join(a.machine.gpus), ", ".join(b.machine.gpus)),
    ):
        yield pair(name, one or NONE, other or NONE)
    for title, left, right in (
        ("version of", a.machine.versions, b.machine.versions),
        ("option", a.asked, b.asked),
    ):
        for name in dict.fromkeys([*left, *right]):
            yield pair(f"{title} {name}", left.get(name, NONE), right.get(name, NONE))


def _method(found: Comparison) -> Markup:
    by_seconds = (
        "Else: a circular block bootstrap over seconds, as neighbouring seconds are alike. Blocks are as long as "
        "Politis and White's rule says, and the square root of the run's length at least."
    )
    verdicts = (
        f"Really different: the interval keeps off “same”. No difference: it lies within {100 * ALIKE:.0f} % of “same”."
        " Else it is not tellable: longer runs or more repeats would narrow it."
    )
    known = (
        ("judged at", level_words(found.a.axis, found.level) if found.level is not None else ""),
        ("the load judged", "Where both together answered most in time, so that the choice favours neither."),
        ("answers in time", found.goodput.method or found.goodput.why),
        ("p95", found.p95.method or found.p95.why),
        ("repeats", f"Where both have {LEAST_REPEATS} or more: Welch's t on the logarithms of each repeat's figure."),
        ("seconds", by_seconds),
        ("verdicts", verdicts),
    )
    return section("How it was judged", "", facts(known))
