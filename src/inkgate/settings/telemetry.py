"""Settings of metrics and tracing."""

from __future__ import annotations

from pydantic import Field, SecretStr, field_validator

from inkgate.settings.base import Branch

USUAL_METRICS_PORT = 8001


class MetricsSettings(Branch):
    enabled: bool = Field(
        default=True,
        description="Serve metrics at /metrics (docs/reference/metrics.md).",
    )
    host: str = Field("127.0.0.1", description="Address of /metrics. It needs no key.")
    port: int = Field(
        USUAL_METRICS_PORT,
        ge=0,
        le=65535,
        description="Port of /metrics. 0: a free one. If 8001 is taken, there are no metrics.",
    )


class TracingSettings(Branch):
    endpoint: str = Field(
        "",
        description="Collector of traces, by OTLP over HTTP, such as `http://127.0.0.1:4318`. Needs "
        "`inkgate[otel]`. Empty: no traces.",
    )
    headers: dict[str, SecretStr] = Field({}, description="Headers for the collector, such as a key.")
    sample_ratio: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Share of the traces to record. If a client sends a trace context, its flag decides.",
    )
    service_name: str = Field("inkgate", min_length=1, description="Name of this service in traces.")

    @field_validator("endpoint")
    @classmethod
    def _over_http(cls, endpoint: str) -> str:
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise ValueError("write it as http://host:port or https://host:port")
        return endpoint
