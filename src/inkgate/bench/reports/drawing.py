"""Charts as SVG inside a page, as SVG files and as PNG files. The only module that loads matplotlib."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, BinaryIO
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from inkgate.bench.reports.charts import GRID, INK, MUTED, NARROW, PAPER, VARIABLES, Chart
from inkgate.bench.reports.markup import Markup, shown

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SIZE = re.compile(r"([\d.]+px)")
_COLOUR = re.compile("#[0-9a-f]{6}")
_URL = re.compile(r"url\(#([^)]+)\)")
_REFERENCE = re.compile(r"^#(.+)$|url\(#([^)]+)\)")
PNG_DPI = 200
_LOOK: dict[Any, object] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "hatch.color": PAPER,
    "legend.borderaxespad": 0.2,
    "legend.columnspacing": 1.4,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # what stands between two dollars in a setting's value is no formula
    "xtick.color": MUTED,
    "xtick.labelsize": 9,
    "ytick.color": MUTED,
    "ytick.labelsize": 9,
    "ytick.major.size": 0,
}


@contextmanager
def _look(salt: str) -> Iterator[None]:
    """Ours, whatever the user's matplotlibrc says. The same charts give the same bytes."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_LOOK | {"svg.hashsalt": salt})
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # On a sheet that is too small for its texts, texts overlap: no reason to write no report.
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        yield


def inline(chart: Chart, size: tuple[float, float]) -> Markup:
    """An `svg` element for a page: its colours are the page's variables, its font is the page's, no style.

    `size`: width and height in inches, which decide how large text is beside the rest.
    """
    name = f"{chart.name}-{size[0]:.0f}"
    with _look(name):
        figure = Figure(figsize=size)
        chart.draw(figure)
        written = BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    ET.register_namespace("", _SVG[1:-1])
    root = ET.fromstring(written.getvalue())  # noqa: S314  # matplotlib wrote it a line above
    view = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": shown(chart.alt)}
    root.attrib.clear()
    root.attrib.update(view | {"stroke-linejoin": "round", "stroke-linecap": "butt"})
    for child in list(root):
        if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
            root.remove(child)  # the style says what the two attributes say; other definitions are hatches
    _rename(root, name)
    for element in root.iter():
        _unstyle(element)
    return Markup(ET.tostring(root, encoding="unicode"))


def _rename(root: ET.Element, name: str) -> None:
    """IDs that no other chart on the page has, and only those that are referred to."""
    values = [value for element in root.iter() for value in element.attrib.values()]
    named = {one for value in values for found in _REFERENCE.findall(value) for one in found if one}
    for element in root.iter():
        link = element.attrib.pop(_LINK, None)
        if link is not None:
            element.set("href", f"#{name}-{link[1:]}")
        if element.attrib.get("id", "") in named:
            element.set("id", f"{name}-{element.attrib['id']}")
        else:
            element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            element.set(key, _URL.sub(rf"url(#{name}-\1)", value))


def _unstyle(element: ET.Element) -> None:
    """Styles as attributes, which a strict Content-Security-Policy allows; colours as the page's variables."""
    for key in ("fill", "stroke"):  # of hatches
        if element.get(key) in VARIABLES:
            element.set(key, _variable(element.attrib[key]))
    for declaration in filter(None, element.attrib.pop("style", "").split(";")):
        key, value = (part.strip() for part in declaration.split(":", 1))
        if key == "font":  # the short form: style, weight, size, family
            size = _SIZE.search(value)
            element.set("font-size", size.group(1) if size else "9.5px")
            if "bold" in value or "700" in value:
                element.set("font-weight", "600")
        elif key != "font-family":
            element.set(key, _COLOUR.sub(lambda found: _variable(found.group()), value))


def _variable(colour: str) -> str:
    return f"var({VARIABLES[colour]})" if colour in VARIABLES else colour


def write(charts: Sequence[Chart], title: str, file: BinaryIO, kind: str) -> None:
    """All charts on one sheet, in the light colours, wide ones alone in their row. `kind`: `svg` or `png`."""
    rows: list[list[Chart]] = []
    for chart in charts:
        if rows and len(rows[-1]) == 1 and NARROW == chart.size == rows[-1][0].size:
            rows[-1].append(chart)
        else:
            rows.append([chart])
    heights = [max(chart.size[1] for chart in row) + 0.3 for row in rows]
    with _look("sheet"):
        figure = Figure(figsize=(2 * NARROW[0], sum(heights) + 0.5), facecolor=PAPER)
        figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
        bands = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for band, row in zip(bands, rows, strict=True):
            for part, chart in zip(band.subfigures(1, len(row), squeeze=False)[0], row, strict=True):
                part.suptitle(chart.title, x=0.02, ha="left", fontsize=11)
                chart.draw(part)
        figure.savefig(file, format=kind, dpi=PNG_DPI, metadata={"Date": None} if kind == "svg" else None)
