"""Reports as pages: whole whatever is in them, and nothing in them becomes more than text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from inkgate.bench.load.results import OwnLimits
from inkgate.bench.reports.charts import drawer
from inkgate.bench.reports.compare import compare
from inkgate.bench.reports.compare_html import comparison_html
from inkgate.bench.reports.load_page import load_headline, load_html
from inkgate.bench.reports.markup import Markup, joined, tag, text
from inkgate.bench.reports.tune_page import tune_headline, tune_html
from inkgate.bench.tune.results import Outcome
from support.hostile_reports import HOSTILE, hostile_load, hostile_tuning
from support.sample_reports import load_report, one_point, unreached
from support.sample_tuning import tune_report

VOID = {"meta", "br", "hr", "img", "col", "wbr"}


class Outline(HTMLParser):
    """Elements and texts of a page; what is not closed as it was opened fails."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.texts).split())


def figures_of(page: str) -> int:
    return sum(name == "figure" for name, _ in Outline(page).tags)


def test_what_higher_load_may_bring_beyond_the_knee_is_in_the_headline() -> None:
    report = load_report()
    assert report.knee is not None
    noisy = replace(report, knee=replace(report.knee, goodput=9.0, best=10.0))
    assert load_headline(noisy).startswith("9.00 answers in time a second at 16 requests in flight; 11")
    assert load_headline(noisy).endswith("more at higher load can't be told from noise")


def test_a_load_test_is_shown_with_its_knee_its_curve_and_every_step() -> None:
    page = load_html(load_report(), drawer())
    shown = Outline(page).words
    assert "9.60 answers in time a second at 16 requests in flight; more load buys nothing" in shown
    for part in ("95 % interval 12 to 20", "NVIDIA GeForce RTX 4090 D", "502 engine_died", "vllm 0.32.0", "scans/"):
        assert part in shown
    assert figures_of(page) == 5
    assert "knee: 16" in shown
    assert "partial" not in shown


def test_a_partial_report_says_so_and_shows_what_there_is() -> None:
    shown = Outline(load_html(unreached(), drawer())).words
    assert "This report is partial." in shown
    assert "the knee was not reached" in shown
    assert "goodput still rose at the highest step" in shown


def test_one_point_has_no_curve_and_no_knee() -> None:
    page = load_html(one_point(), drawer())
    shown = Outline(page).words
    assert figures_of(page) == 1
    assert "knee" not in shown
    assert load_headline(one_point()).endswith("at 16 requests in flight")


def test_a_report_without_anything_measured_is_a_page_all_the_same() -> None:
    nothing = replace(load_report(), points=(), timeline=(), knee=None, partial=True)
    shown = Outline(load_html(nothing, drawer())).words
    assert "Nothing was measured" in shown
    assert "no step was finished" in shown


def test_points_without_answers_are_drawn() -> None:
    report = load_report()
    dead = replace(
        report.points[-1],
        runs=tuple(
            replace(run, answered=0, in_time=0, latency=None, failed=run.offered) for run in report.points[-1].runs
        ),
    )
    page = load_html(replace(report, points=(*report.points[:-1], dead)), drawer())
    assert "100 %" in Outline(page).words


def test_a_load_generator_that_was_the_limit_is_told_first() -> None:
    own = OwnLimits(bottleneck=True, why="its core was full", late_p99_s=0.4, busy_share=1.0, unsent=12)
    shown = Outline(load_html(replace(load_report(), own=own), None)).words
    assert "The load generator was the limit: its core was full." in shown


def test_without_matplotlib_there_are_tables_and_what_to_install() -> None:
    page = load_html(load_report(), None)
    assert figures_of(page) == 0
    assert "pip install '.[bench]'" in Outline(page).words
    assert "9.62" in Outline(page).words


def test_a_search_is_shown_with_what_to_set_why_and_every_trial() -> None:
    report = tune_report()
    page = tune_html(report, drawer())
    shown = Outline(page).words
    assert "Set max_num_seqs = 16" in shown
    for part in (
        "max_num_batched_tokens = 8192",
        "current (died)",
        "preemption storm",
        "did not start",
        "confirmation",
    ):
        assert part in shown
    assert all(reason in shown for reason in report.reasons)
    assert figures_of(page) == 3


def test_a_search_that_found_nothing_says_so() -> None:
    dead = tuple(replace(trial, outcome=Outcome.DIED) for trial in tune_report().trials)
    nothing = replace(tune_report(), chosen=None, fragment="", trials=dead, reasons=("All died.",), partial=True)
    shown = Outline(tune_html(nothing, drawer())).words
    assert "Nothing that was tried kept to the targets" in shown
    assert "Why nothing is recommended" in shown
    assert "inkgate tune --resume" in shown


def test_a_search_without_trials_or_with_one_dial_is_a_page_all_the_same() -> None:
    report = tune_report()
    empty = replace(report, trials=(), assessments=(), current=None, chosen=None, reasons=(), fragment="")
    assert tune_headline(empty) == "Nothing was tried"
    assert figures_of(tune_html(empty, drawer())) == 0
    one_dial = replace(report, parameters=report.parameters[:1])
    assert figures_of(tune_html(one_dial, drawer())) == 2


def test_settings_that_are_kept_are_told_as_that() -> None:
    report = tune_report()
    assert tune_headline(replace(report, current=report.chosen)).startswith("Keep max_num_seqs = 16")


def test_a_comparison_says_what_it_found_and_how() -> None:
    page = comparison_html(compare(load_report(1), load_report(2, faster=1.3), ("old.json", "new.json")))
    shown = Outline(page).words
    assert "more answers in time than A" in shown
    assert "Welch's t" in shown
    assert figures_of(page) == 3


def test_a_comparison_that_can_not_be_made_is_a_page_that_says_why() -> None:
    page = comparison_html(compare(one_point(), load_report(levels=(1, 2, 4))))
    assert "no load was tested in both" in Outline(page).words


def test_texts_are_escaped_and_what_html_can_not_hold_is_replaced() -> None:
    assert text("<b>&\"'\x00\u202e") == "&lt;b&gt;&amp;&quot;&#x27;\ufffd\ufffd"
    assert tag("p", "<i>", title='"x"') == '<p title="&quot;x&quot;">&lt;i&gt;</p>'
    assert joined("<", Markup("<br>"), None, ["&"]) == "&lt;<br>&amp;"


PAGES: dict[str, Callable[[], str]] = {
    "load": lambda: load_html(hostile_load(), drawer()),
    "load, not drawn": lambda: load_html(hostile_load(), None),
    "tuning": lambda: tune_html(hostile_tuning(), drawer()),
    "comparison": lambda: comparison_html(compare(hostile_load(), hostile_load(), (HOSTILE, HOSTILE))),
}
NO_CODE = re.compile(r"^on|^style$|^srcdoc$|^formaction$")


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_nothing_that_data_says_becomes_an_element_or_an_address(page: Callable[[], str]) -> None:
    outline = Outline(page())
    names = {name for name, _ in outline.tags}
    assert names.isdisjoint(
        {"script", "iframe", "img", "image", "object", "link", "a", "form", "base", "foreignobject"}
    )
    for name, attributes in outline.tags:
        assert not [key for key in attributes if NO_CODE.search(key)], (name, attributes)
        assert all((value or "").startswith("#") for key, value in attributes.items() if key.endswith(("href", "src")))
    assert "alert(1)" in outline.words


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_may_load_nothing_and_names_no_resource(page: Callable[[], str]) -> None:
    written = page()
    (policy,) = [
        attributes["content"]
        for name, attributes in Outline(written).tags
        if name == "meta" and "http-equiv" in attributes
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "url(http" not in written
    assert "@import" not in written


def test_ids_are_unique_and_all_references_are_to_some() -> None:
    tags = Outline(load_html(load_report(), drawer())).tags
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(value or "")[1:] for _, attributes in tags for key, value in attributes.items() if key == "href"}
    assert links <= set(ids)
