"""Each value of the service is declared once, keeps Prometheus' rules for names, and has a reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import orjson
import pytest
from prometheus_client import CollectorRegistry

from inkgate.telemetry.state_collector import CATALOG, StateCollector, catalog_of
from inkgate_client.telemetry import history, jobs_state, state
from inkgate_client.telemetry.family import Declaration, Family, Kind, declaration_of, gauge, part, read_from, reading
from inkgate_client.telemetry.history import Point, Step, recorded
from inkgate_client.telemetry.state import QUEUES, Queue, State
from support.states import embedded_state

ROOT = Path(__file__).parents[2]
GIVEN = {"http_requests_total", "qps", "gpu_utilization_percent", "gpu_memory_used_mb"}
"""Named by others, who have dashboards of them."""
RESERVED = {"le", "quantile", "job", "instance"}
NO_BASE_UNITS = ("_ms", "_milliseconds", "_minutes", "_mb", "_kb", "_percent", "_mhz", "_count", "_sum", "_bucket")
READERS = (
    "src/inkgate/api",
    "src/inkgate/cli",
    "src/inkgate/doctor",
    "src/inkgate/ui/assets",
    "packages/inkgate-client/src/inkgate_client",
)
"""Where values of the State are read besides metrics."""


def problems(family: Family) -> list[str]:
    given = family.name in GIVEN
    rules = {
        "name": re.fullmatch(r"[a-z][a-z0-9_]*", family.name) and (given or family.name.startswith("inkgate_")),
        "a counter, and no other, ends in _total": family.name.endswith("_total") == (family.kind is Kind.COUNTER),
        "unit": given or not family.name.endswith(NO_BASE_UNITS),
        "help": family.help.endswith("."),
        "labels": all(re.fullmatch(r"[a-z][a-z_]*", label) for label in family.labels)
        and len(set(family.labels)) == len(family.labels)
        and not RESERVED & set(family.labels),
        "a histogram, and no other, has buckets": bool(family.buckets) == (family.kind is Kind.HISTOGRAM),
        "buckets in order": list(family.buckets) == sorted(set(family.buckets)),
        "section": bool(family.section),
    }
    return [f"{family.name}: {rule}" for rule, holds in rules.items() if not holds]


def test_families_are_as_prometheus_wants_them() -> None:
    assert [problem for family in CATALOG.values() for problem in problems(family)] == []


@reading
class LongerQueue(Queue):
    """A queue with another gauge."""

    left: int = gauge("inkgate_left", "Pages whose client left.")


@reading
class LongerPoint(Point):
    """A step with another gauge."""

    left: int = recorded(
        lambda step: sum(queue.left for queue in step.after.queues if isinstance(queue, LongerQueue)),
        also=gauge("inkgate_left_before", "Pages whose client had left at the last step."),
        default=0,
    )


@reading
class LongerState(State):
    """A State with both."""

    queues: tuple[LongerQueue, ...] = part(section=QUEUES)
    history: tuple[LongerPoint, ...] = part(latest=True, default=())


def longer(**values: object) -> LongerState:
    """The usual State with other queues and another history."""
    usual = embedded_state()
    return LongerState(**{each.name: getattr(usual, each.name) for each in fields(State)} | values)


def test_a_gauge_declared_once_is_in_the_state_the_history_the_metrics_and_the_documentation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner = SimpleNamespace(**asdict(embedded_state().queues[0]), left=7)
    queue = read_from(LongerQueue, owner, name="pages")
    before = longer(queues=(queue,), history=())
    point = read_from(LongerPoint, Step(before, before, 5.0, (), None))
    after = longer(queues=(queue,), history=(point,))

    shown = orjson.loads(orjson.dumps(after))
    assert (shown["queues"][0]["left"], shown["history"][0]["left"]) == (7, 7)
    registry = CollectorRegistry()
    registry.register(StateCollector(lambda: after, LongerState))
    assert registry.get_sample_value("inkgate_left", {"queue": "pages"}) == 7
    assert registry.get_sample_value("inkgate_left_before") == 7
    monkeypatch.syspath_prepend(ROOT / "scripts")
    text = import_module("write_docs").metrics_part(catalog_of(LongerState))
    assert "- `inkgate_left` (gauge, `queue`): Pages whose client left." in text
    assert "- `inkgate_left_before` (gauge): Pages whose client had left at the last step." in text


def test_a_value_that_its_owner_lacks_fails() -> None:
    with pytest.raises(AttributeError, match="left"):
        read_from(LongerQueue, SimpleNamespace(**asdict(embedded_state().queues[0])))


def values() -> Iterator[tuple[str, str, Declaration]]:
    """The classes of the State with their fields."""
    for module in (state, jobs_state, history):
        for name, kind in vars(module).items():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__:
                yield from ((name, each.name, declaration_of(each)) for each in fields(kind))


def test_each_value_has_a_reader() -> None:
    files = [path for name in READERS for path in sorted((ROOT / name).rglob("*.*"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.suffix in {".py", ".js"})
    unread = {
        (kind, name)
        for kind, name, declaration in values()
        if not declaration.families and not declaration.label and not re.search(rf"\.{name}\b", text)
    }
    # These are for people who read /state.
    assert unread == {("TaskReading", "next_try_s"), ("WorkTotals", "tokens_in"), ("ResultsState", "tenants")}


def test_what_is_not_read_for_metrics_has_none() -> None:
    """Of these, StateReader.measured leaves out the values."""
    measured = {kind for kind, _, declaration in values() if declaration.families}
    assert measured.isdisjoint({"WorkTotals", "Machine"})
    assert measured >= {"State", "Queue", "Point"}
