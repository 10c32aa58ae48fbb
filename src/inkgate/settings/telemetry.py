"""Settings of what is measured and told of the work."""

from __future__ import annotations

from pydantic import Field, SecretStr, field_validator

from inkgate.settings.base import Branch

USUAL_METRICS_PORT = 8001


class MetricsSettings(Branch):
    enabled: bool = Field(
        default=True,
        description="Measure requests, pages and stages, and serve them at /metrics (docs/reference/metrics.md).",
    )
    host: str = Field("127.0.0.1", description="Address that /metrics listens on. No key is asked for there.")
    port: int = Field(
        USUAL_METRICS_PORT,
        ge=0,
        le=65535,
        description="Port of /metrics. 0: any free one. Where 8001 is taken, there is none.",
    )


class TracingSettings(Branch):
    endpoint: str = Field(
        "",
        description="Where traces are sent by OTLP over HTTP, such as `http://127.0.0.1:4318`; needs `inkgate[otel]`. "
        "Empty: nowhere.",
    )
    headers: dict[str, SecretStr] = Field({}, description="Headers that they are sent with, such as a key, by name.")
    sample_ratio: float = Field(
        1.0, ge=0, le=1, description="Part of the traces that begin here that is recorded; others' senders decide."
    )
    service_name: str = Field("inkgate", min_length=1, description="Name of this service in traces.")

    @field_validator("endpoint")
    @classmethod
    def _over_http(cls, endpoint: str) -> str:
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise ValueError("an address that begins with http:// or https:// is needed")
        return endpoint
