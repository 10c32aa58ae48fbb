"""The page that holds a report: one HTML file that asks nobody for anything and runs no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from inkgate import __version__
from inkgate.bench.load.results import Machine
from inkgate.bench.reports.charts import NARROW, REMEDY, WIDE, Chart, Drawer
from inkgate.bench.reports.markup import Content, Markup, joined, tag
from inkgate.bench.reports.wording import count, number

UNDRAWN = "Charts are not drawn here: matplotlib is not installed where this was written."


def document(title: str, *body: Content) -> str:
    """The whole file. Its Content-Security-Policy allows one style, by its hash, and nothing else."""
    style = files("inkgate.bench.reports").joinpath("assets/report.css").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    footer = tag("footer", "Made by ", tag("code", "inkgate report"), f", version {__version__}.")
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('main', *body, footer)), lang='en')}\n"


def header(kind: str, headline: str, *lede: Content) -> Markup:
    return tag("header", tag("p", kind, class_="kicker"), tag("h1", headline), tag("p", *lede, class_="lede"))


def note(strong: str, words: str) -> Markup:
    """What a reader must know before all else."""
    return tag("p", tag("b", strong), " ", words, class_="note", role="note")


def tiles(*cells: tuple[str, str, str, str]) -> Markup:
    """Key figures: what it is, the value, its unit, and a line below."""
    shown = [
        tag(
            "div",
            tag("dt", what),
            tag("dd", value, tag("small", f" {unit}") if unit else None),
            tag("p", below),
            class_="tile",
        )
        for what, value, unit, below in cells
    ]
    return tag("dl", shown, class_="tiles")


def section(title: str, about: str, *content: Content) -> Markup:
    return tag("section", tag("h2", title), tag("p", about) if about else None, *content)


def figures(charts: Iterable[Chart], draw: Drawer | None) -> Markup:
    """The charts, or what to install for them."""
    if draw is None:
        return note(UNDRAWN, f"{REMEDY} adds them; the tables say the same.")
    shown = [
        tag(
            "figure",
            tag("h3", chart.title),
            _drawn(chart, draw),
            tag("figcaption", chart.caption),
            class_="broad" if _broad(chart) else None,
        )
        for chart in charts
    ]
    return tag("div", shown, class_="charts") if shown else joined()


def _broad(chart: Chart) -> bool:
    return chart.size[0] >= WIDE[0]


def _drawn(chart: Chart, draw: Drawer) -> Markup:
    """What is wide is drawn for narrow screens as well: the style sheet shows one of the two."""
    if not _broad(chart):
        return tag("div", draw(chart, chart.size), class_="draw")
    narrow = tag("div", draw(chart, (NARROW[0], max(NARROW[1], chart.size[1]))), class_="draw small")
    return joined(tag("div", draw(chart, chart.size), class_="draw large"), narrow)


def facts(known: Mapping[str, str] | Sequence[tuple[str, str]]) -> Markup:
    """Names and values, one below the other; empty values are left out."""
    pairs = known.items() if isinstance(known, Mapping) else known
    return tag("dl", [joined(tag("dt", name), tag("dd", value)) for name, value in pairs if value], class_="facts")


def machine_section(machine: Machine, asked: Mapping[str, str]) -> Markup:
    """Where it ran, with what, and how it was asked for."""
    known = [
        ("name", machine.name),
        ("processor", machine.processor),
        ("cores", count(machine.cores)),
        ("memory", f"{number(machine.memory_gb)} GB"),
        ("GPUs", ", ".join(machine.gpus) or "none"),
        *machine.versions.items(),
    ]
    left = tag("section", tag("h2", "Machine and versions"), facts(known))
    right = tag("section", tag("h2", "Asked for"), facts(asked)) if asked else None
    return tag("div", left, right, class_="halves")
