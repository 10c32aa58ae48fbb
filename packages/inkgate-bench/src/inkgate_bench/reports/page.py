"""Reports as HTML by Jinja2 templates: one file with embedded charts, which loads nothing else and runs no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from inkgate import __version__
from inkgate_bench.reports import wording
from inkgate_bench.reports.charts import DARK, LIGHT, Palette, ReportChart, as_svg

_ON_PHONE = "screen and (max-width: 760px)"
_IN_DARK = "screen and (prefers-color-scheme: dark)"


@dataclass(frozen=True, slots=True)
class Tile:
    """A key figure: what it is, its value and unit, and a line below."""

    label: str
    value: str
    unit: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddedChart:
    """A chart as `data:` URIs. `sources`: media query and image, the first that matches is shown; else `image`."""

    chart: ReportChart
    sources: tuple[tuple[str, str], ...]
    image: str


def render(template: str, charts: Iterable[ReportChart], **context: object) -> str:
    """The report as one HTML file. Its Content-Security-Policy allows its own style and embedded images only."""
    style = files("inkgate_bench.reports").joinpath("templates/report.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704  # the package's own file
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
            version=__version__,
            charts=[_embedded(chart) for chart in charts],
            **context,
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("inkgate_bench.reports"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": wording.number,
        "plain": wording.plain,
        "count": wording.count,
        "seconds": wording.seconds,
        "share": wording.share,
        "change": wording.change,
        "moment": wording.moment,
        "breakable": _breakable,
    }
    return environment


def _printable(value: object) -> object:
    """Every value that a template shows passes through here, before it is escaped."""
    if isinstance(value, Markup):
        return value
    return wording.printable(str(value))


def _breakable(name: str) -> Markup:
    """A name such as `max_num_seqs`, which a line may break after its underscores."""
    return Markup("_<wbr>").join(name.split("_"))


def _embedded(chart: ReportChart) -> EmbeddedChart:
    sources = [(_IN_DARK, _data_uri(chart, DARK))]
    if chart.is_wide:
        narrow = [(f"{_ON_PHONE} and (prefers-color-scheme: dark)", _data_uri(chart, DARK, narrow=True)),
                  (_ON_PHONE, _data_uri(chart, LIGHT, narrow=True))]  # fmt: skip
        sources = narrow + sources
    return EmbeddedChart(chart, tuple(sources), _data_uri(chart, LIGHT))


def _data_uri(chart: ReportChart, palette: Palette, *, narrow: bool = False) -> str:
    svg = as_svg(chart, palette, narrow=narrow)
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
