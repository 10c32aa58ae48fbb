"""Metrics in Prometheus' formats."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector


def registry_of(collectors: Iterable[Collector]) -> CollectorRegistry:
    """A registry of these collectors and of the library's own (`process_*`, `python_*`)."""
    registry = CollectorRegistry(auto_describe=False)
    for collector in (ProcessCollector(registry=None), PlatformCollector(registry=None), *collectors):
        registry.register(collector)
    GCCollector(registry)
    return registry


def exposed(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """All current metrics and their content type: OpenMetrics with exemplars if `accept` includes it, else Prometheus'
    text format.
    """
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
