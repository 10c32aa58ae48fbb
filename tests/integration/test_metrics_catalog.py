"""A real service shows what the catalogue has, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from prometheus_client import Metric

from inkgate.api.http.metrics_server import registry_of
from inkgate.bootstrap import running
from inkgate.caller import NO_CALLER
from inkgate.service.reader import CheckedOptions
from inkgate.settings import load_settings
from inkgate.telemetry.state_collector import CATALOG, StateCollector
from inkgate_client.telemetry.family import Family
from inkgate_client.types import Document
from support.api_client import png

pytestmark = pytest.mark.anyio

OF_THE_LIBRARY = ("process_", "python_")
ABSENT = ("gpu_", "inkgate_gpu", "inkgate_replica", "inkgate_breaker", "inkgate_tokens", "inkgate_runaway")
"""Without a GPU and a model server, these have no values."""


async def test_all_that_is_exposed_is_in_the_catalogue_and_all_of_that_is_exposed() -> None:
    settings = load_settings(None, engine={"ppocr": {"workers": -1}}, pdf={"warm_workers": 0})
    async with running(settings) as service:
        admission = service.gateway.admit(NO_CALLER)
        async with admission as admitted, admitted.read(Document(png()), CheckedOptions()) as reading:
            await reading.all()
        service.observer.request("POST", "/ocr", 200, 0.5)
        registry = registry_of((service.metrics, StateCollector(service.observatory.measured)))
        exposed = {family.name: family for family in registry.collect() if not family.name.startswith(OF_THE_LIBRARY)}
    known = {family.name.removesuffix("_total"): family for family in CATALOG.values()}
    assert exposed.keys() == known.keys()
    assert list(_different(exposed.values(), known)) == []
    assert [name for name, family in exposed.items() if name.startswith(ABSENT) and family.samples] == []
    assert {"inkgate_pages", "inkgate_batch_size", "inkgate_limit", "inkgate_process_resident_bytes"} <= {
        name for name, family in exposed.items() if family.samples
    }


def _different(exposed: Iterable[Metric], known: dict[str, Family]) -> Iterable[str]:
    """Families whose type, text or labels are not those of the catalogue."""
    for family in exposed:
        described = known[family.name]
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        if (family.type, family.documentation) != (described.kind, described.help) or labels - set(described.labels):
            yield family.name


async def test_nothing_is_measured_where_that_is_not_wanted() -> None:
    settings = load_settings(
        None, engine={"ppocr": {"workers": -1}}, pdf={"warm_workers": 0}, metrics={"enabled": False}
    )
    async with running(settings) as service:
        admission = service.gateway.admit(NO_CALLER)
        async with admission as admitted, admitted.read(Document(png()), CheckedOptions()) as reading:
            await reading.all()
        work = service.metrics.work()
    assert (work.pages, work.stage_count) == ({}, {})
