"""The tracer that the settings ask for."""

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
    """Why nothing can be traced, and what to install."""


class TracingOptions(Protocol):
    """Where traces go, and which: the branch `tracing` of the settings."""

    @property
    def endpoint(self) -> str: ...

    @property
    def headers(self) -> dict[str, SecretStr]: ...

    @property
    def sample_ratio(self) -> float: ...

    @property
    def service_name(self) -> str: ...


def traces_address(endpoint: str) -> str:
    """Where traces are posted. An address without a path gets OTLP's usual one."""
    if urlsplit(endpoint).path in {"", "/"}:
        return endpoint.rstrip("/") + _USUAL_PATH
    return endpoint


@contextmanager
def tracer_of(
    options: TracingOptions, close_s: float = _CLOSE_S, imported: Callable[[str], Any] = importlib.import_module
) -> Iterator[Tracer]:
    """A Tracer that sends what it records to the endpoint; without one, it records nothing. At the end, what is left
    is sent for `close_s` seconds at most.

    Raises:
        TracingUnavailable: `inkgate[otel]` is not installed.
    """
    if not options.endpoint:
        yield NOT_RECORDING
        return
    try:
        otel = imported("inkgate.telemetry.otel")
    except ImportError as error:
        detail = f"tracing.endpoint is set, and {error.name or 'OpenTelemetry'} is not installed"
        raise TracingUnavailable(f"{detail}: {install_extra('otel')}, or leave tracing.endpoint empty.") from error
    headers = {name: value.get_secret_value() for name, value in options.headers.items()}
    exporter = otel.exporter_to(options.endpoint, headers)
    tracer = otel.ExportingTracer(exporter, options.service_name, options.sample_ratio)
    try:
        yield tracer
    finally:
        tracer.close(close_s)
