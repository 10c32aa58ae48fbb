"""How a managed vLLM sends its own part of a trace to where ours goes."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from inkgate.settings import TracingSettings
from inkgate.telemetry.exporting import traces_address

FLAG = "--otlp-traces-endpoint"


def traces_flags(tracing: TracingSettings) -> tuple[str, ...]:
    """The flag of vLLM's command line; none without an endpoint, or with one whose address holds a user or a query:
    others can read a command line.
    """
    parts = urlsplit(tracing.endpoint)
    if not tracing.endpoint or "@" in parts.netloc or parts.query:
        return ()
    return (FLAG, traces_address(tracing.endpoint))


def traces_environment(tracing: TracingSettings) -> dict[str, str]:
    """What the flag doesn't say, as OpenTelemetry's SDK reads it: the protocol (vLLM would take gRPC), the headers
    (keys may be in them), and the service's name.
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
