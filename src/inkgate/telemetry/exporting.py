"""The tracer for the settings."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from inkgate.errors import install_extra
from inkgate.telemetry.tracing import NOT_RECORDING, Tracer

_CLOSE_S = 3.0
_USUAL_PATH = "/v1/traces"


class TracingUnavailable(Exception):
    """Tracing needs a package; the message says which."""


class TracingOptions(Protocol):
    """The branch `tracing` of the settings."""

    @property
    def endpoint(self) -> str: ...

    @property
    def headers(self) -> dict[str, SecretStr]: ...

    @property
    def sample_ratio(self) -> float: ...

    @property
    def service_name(self) -> str: ...


def traces_address(endpoint: str) -> str:
    """The address for traces. An address without a path gets the default path of OTLP."""
    if urlsplit(endpoint).path in {"", "/"}:
        return endpoint.rstrip("/") + _USUAL_PATH
    return endpoint


@contextmanager
def tracer_of(
    options: TracingOptions, close_s: float = _CLOSE_S, imported: Callable[[str], Any] = importlib.import_module
) -> Iterator[Tracer]:
    """A Tracer that exports to the endpoint; without an endpoint, it records nothing. On exit, it sends the remaining
    spans for at most `close_s` seconds.

    Raises:
        TracingUnavailable: `inkgate[otel]` is not installed.
    """
    if not options.endpoint:
        yield NOT_RECORDING
        return
    try:
        otel = imported("inkgate.telemetry.otel")
    except ImportError as error:
        detail = f"tracing.endpoint is set, but {error.name or 'OpenTelemetry'} is not installed"
        raise TracingUnavailable(f"{detail}: {install_extra('otel')}, or leave tracing.endpoint empty.") from error
    headers = {name: value.get_secret_value() for name, value in options.headers.items()}
    exporter = otel.exporter_to(options.endpoint, headers)
    tracer = otel.ExportingTracer(exporter, options.service_name, options.sample_ratio)
    try:
        yield tracer
    finally:
        tracer.close(close_s)
