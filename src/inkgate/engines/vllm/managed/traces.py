"""Makes a managed vLLM export its spans to the same endpoint as inkgate."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from inkgate.settings import TracingSettings
from inkgate.telemetry.tracing import traces_address

FLAG = "--otlp-traces-endpoint"


def traces_flags(tracing: TracingSettings) -> tuple[str, ...]:
    """VLLM's flag for traces; empty without an endpoint, or if its address contains a user or a query: other users can
    read a command line.
    """
    parts = urlsplit(tracing.endpoint)
    if not tracing.endpoint or "@" in parts.netloc or parts.query:
        return ()
    return (FLAG, traces_address(tracing.endpoint))


def traces_environment(tracing: TracingSettings) -> dict[str, str]:
    """What the flag does not cover, as environment variables of OpenTelemetry's SDK: the protocol (vLLM's default is
    gRPC), the headers (which may hold keys), and the service's name.
    """
    if not traces_flags(tracing):
        return {}
    headers = ",".join(
        f"{quote(name)}={quote(value.get_secret_value(), safe='')}" for name, value in tracing.headers.items()
    )
    return {
        "OTEL_SERVICE_NAME": f"{tracing.service_name}-vllm",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        **({"OTEL_EXPORTER_OTLP_TRACES_HEADERS": headers} if headers else {}),
    }
