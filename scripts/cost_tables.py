"""The tables of docs/concepts/overload.md: what costs, by class, and what bounds it; and all routes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from inkgate.api.app import create_app
from inkgate.api.http.context import ServiceView
from inkgate.api.http.costs import COSTS, RouteCost
from inkgate.settings import load_settings
from inkgate.telemetry.observer import NO_OBSERVER
from inkgate.ui.site import PageSite


def costs_part() -> str:
    """A table of the classes, and one of the routes."""
    head = "| class | costs | refused by | charged to | order | bounded by |\n| --- | --- | --- | --- | --- | --- |\n"
    rows = [
        f"| {each.name} | {each.uses} | {each.admitted_by} | {each.charged_to} | {each.shared} | {each.bounded_by} |"
        for each in COSTS
    ]
    of_routes = [f"| `{row.method} {row.path}` | {row.cost.name} |" for row in routes()]
    return f"{head}{_lines(rows)}\n### Routes\n\n| route | class |\n| --- | --- |\n{_lines(of_routes)}"


def routes() -> list[RouteCost]:
    """All routes of the application, by class."""
    # The routes don't depend on what is behind them, which would load models.
    observatory = SimpleNamespace(add_reasons=lambda _: None, watch_results=lambda _: None)
    service = SimpleNamespace(observer=NO_OBSERVER, observatory=observatory, upstream=None, jobs=None)
    app = create_app(cast("ServiceView", service), load_settings(None), page=PageSite("/ui"))
    rows: tuple[RouteCost, ...] = app.state.costs
    return sorted(rows, key=lambda row: (COSTS.index(row.cost), row.path, row.method))


def _lines(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)
