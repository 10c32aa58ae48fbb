"""Reports as pages: whole whatever is in them, and nothing in them becomes more than text."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree as ET

import pytest

from inkgate_bench.load.results import OwnLimits
from inkgate_bench.reports.charts import DARK, LIGHT, as_svg
from inkgate_bench.reports.comparison import compare
from inkgate_bench.reports.comparison_page import comparison_html
from inkgate_bench.reports.load_charts import load_charts
from inkgate_bench.reports.load_page import load_headline, load_html
from inkgate_bench.reports.tune_page import tune_headline, tune_html
from inkgate_bench.tune.results import TrialOutcome
from support.hostile_reports import HOSTILE, hostile_load, hostile_tuning
from support.sample_reports import load_report, load_report_without_knee, one_point
from support.sample_tuning import tune_report

VOID = {"meta", "br", "hr", "img", "source", "col", "wbr"}


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


def test_a_load_test_is_shown_with_its_saturation_point_its_curve_and_every_step() -> None:
    page = load_html(load_report())
    shown = Outline(page).words
    assert "Saturated at 16 concurrent requests, with 9.60 responses in time per second" in shown
    for part in ("8.77 to 10.2 in 3 runs", "NVIDIA GeForce RTX 4090 D", "502 engine_died", "vllm 0.32.0", "scans/"):
        assert part in shown
    assert figures_of(page) == 5
    assert "partial" not in shown


def test_a_partial_report_says_so_and_shows_what_there_is() -> None:
    shown = Outline(load_html(load_report_without_knee())).words
    assert "This report is partial." in shown
    assert "saturation was not reached" in shown
    assert "goodput still rose at the highest step" in shown


def test_one_point_has_no_curve_and_no_saturation_point() -> None:
    page = load_html(one_point())
    shown = Outline(page).words
    assert figures_of(page) == 1
    assert "saturation" not in shown
    assert load_headline(one_point()).endswith("at 16 concurrent requests")


def test_a_report_without_anything_measured_is_a_page_all_the_same() -> None:
    nothing = replace(load_report(), points=(), timeline=(), knee=None, partial=True)
    shown = Outline(load_html(nothing)).words
    assert "Nothing was measured" in shown
    assert "no step was finished" in shown


def test_points_without_answers_are_drawn() -> None:
    report = load_report(levels=(1, 4, 8, 16), seconds=5)
    dead = replace(
        report.points[-1],
        runs=tuple(
            replace(run, answered=0, in_time=0, latency=None, failed=run.offered) for run in report.points[-1].runs
        ),
    )
    page = load_html(replace(report, points=(*report.points[:-1], dead)))
    assert "100 %" in Outline(page).words


def test_a_load_generator_that_was_the_limit_is_told_first() -> None:
    own = OwnLimits(bottleneck=True, why="its core was full", late_p99_s=0.4, busy_share=1.0, unsent=12)
    shown = Outline(load_html(replace(one_point(), own=own))).words
    assert "The load generator was the bottleneck: its core was full." in shown


def test_a_search_is_shown_with_what_to_set_why_and_every_trial() -> None:
    report = tune_report()
    page = tune_html(report)
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
    dead = tuple(replace(trial, outcome=TrialOutcome.DIED) for trial in tune_report().trials)
    nothing = replace(tune_report(), chosen=None, fragment="", trials=dead, reasons=("All died.",), partial=True)
    shown = Outline(tune_html(nothing)).words
    assert "No settings that were tried met the targets" in shown
    assert "Why nothing is recommended" in shown
    assert "inkgate tune --resume" in shown


def test_a_search_without_trials_or_with_one_dial_is_a_page_all_the_same() -> None:
    report = tune_report()
    empty = replace(report, trials=(), assessments=(), current=None, chosen=None, reasons=(), fragment="")
    assert tune_headline(empty) == "Nothing was tried"
    assert figures_of(tune_html(empty)) == 0
    one_dial = replace(report, parameters=report.parameters[:1])
    assert figures_of(tune_html(one_dial)) == 2


def test_settings_that_are_kept_are_told_as_that() -> None:
    report = tune_report()
    assert tune_headline(replace(report, current=report.chosen)).startswith("Keep max_num_seqs = 16")


def test_a_comparison_says_what_it_found_and_how() -> None:
    page = comparison_html(compare(load_report(1), load_report(2, faster=1.3), ("old.json", "new.json")))
    shown = Outline(page).words
    assert "higher than A's" in shown
    assert "Welch's t-test" in shown
    assert figures_of(page) == 3


def test_a_comparison_that_can_not_be_made_is_a_page_that_says_why() -> None:
    page = comparison_html(compare(one_point(), load_report(levels=(1, 2, 4))))
    assert "no load was tested in both" in Outline(page).words


def test_one_run_each_is_a_page_that_says_to_repeat() -> None:
    page = comparison_html(compare(one_point(1), one_point(2)))
    assert "Not judged: repeat each test at least three times" in Outline(page).words
    assert figures_of(page) == 0


def test_charts_differ_in_light_and_dark_and_for_phones_and_are_the_same_every_time() -> None:
    chart = next(load_charts(load_report(levels=(1, 4, 8, 16), seconds=5)))
    drawn = {as_svg(chart, palette, narrow=narrow) for palette in (LIGHT, DARK) for narrow in (False, True)}
    assert len(drawn) == 4
    assert as_svg(chart, LIGHT) in drawn
    assert DARK.ink.encode() in as_svg(chart, DARK)
    assert LIGHT.ink.encode() not in as_svg(chart, DARK)


def test_colours_of_charts_are_those_of_the_page() -> None:
    style = files("inkgate_bench.reports").joinpath("templates/report.css").read_text(encoding="utf-8")
    light, dark = style.split("prefers-color-scheme: dark", 1)
    for palette, part in ((LIGHT, light), (DARK, dark)):
        for name, colour in asdict(palette).items():
            assert f"--{name}: {colour};" in part, name


PAGES: dict[str, Callable[[], str]] = {
    "load": cache(lambda: load_html(hostile_load())),
    "tuning": cache(lambda: tune_html(hostile_tuning())),
    "comparison": cache(lambda: comparison_html(compare(hostile_load(), hostile_load(), (HOSTILE, HOSTILE)))),
}
NO_CODE = re.compile(r"^on|^style$|^srcdoc$|^formaction$")
DANGEROUS = {"script", "iframe", "image", "object", "link", "a", "form", "base", "foreignobject"}
EMBEDDED = "data:image/svg+xml;base64,"


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_nothing_that_data_says_becomes_an_element_or_an_address(page: Callable[[], str]) -> None:
    outline = Outline(page())
    assert DANGEROUS.isdisjoint(name for name, _ in outline.tags)
    for name, attributes in outline.tags:
        assert not [key for key in attributes if NO_CODE.search(key)], (name, attributes)
        addresses = [value or "" for key, value in attributes.items() if key.endswith(("href", "src", "srcset"))]
        assert all(address.startswith(EMBEDDED) for address in addresses), name
    assert "alert(1)" in outline.words
    assert "\x00" not in outline.words
    assert "\u202e" not in outline.words


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_charts_of_hostile_data_are_drawings_without_code_or_addresses(page: Callable[[], str]) -> None:
    images = [
        value for _, attributes in Outline(page()).tags for key, value in attributes.items() if key in {"src", "srcset"}
    ]
    assert images
    for image in images:
        assert image is not None
        root = ET.fromstring(base64.b64decode(image.removeprefix(EMBEDDED)))  # noqa: S314  # this is what is tested
        for element in root.iter():
            assert element.tag.rpartition("}")[2].lower() not in DANGEROUS
            assert not [key for key in element.attrib if key.lower().startswith("on")]
            assert all(value.startswith("#") for key, value in element.attrib.items() if key.endswith("href"))


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
    assert "img-src data:;" in policy
    assert "unsafe" not in policy
    assert "url(" not in written
    assert "@import" not in written
