"""All settings, as one frozen tree. Read once at start; each component gets only its branch.

Sources, in increasing precedence: defaults, a TOML file (`--config`, or `INKGATE_CONFIG`), the environment
(`INKGATE_SERVER__PORT=8080`: two underscores between levels; or files, see `environment`), flags of the command line.
docs/reference/settings.md lists all settings and is generated from this tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from errno import ENOENT
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt, Url
from inkgate.settings.engine import (
    BatchingSettings,
    CudnnSearch,
    EngineSettings,
    LayoutSettings,
    ManagedSettings,
    OnnxRuntimeSettings,
    PpocrSettings,
    Precision,
    Provider,
    Quality,
    ReadingMode,
    RuntimeName,
    TransformersSettings,
    VllmSettings,
)
from inkgate.settings.environment import EnvironmentSource, SettingFileError
from inkgate.settings.jobs import (
    BrokerSettings,
    ExtensionSinkSettings,
    JobSettings,
    ObjectsSinkSettings,
    PipelineSettings,
    SinkSettings,
    StorageSettings,
    TableSinkSettings,
    TopicSinkSettings,
    WebhookSettings,
    WebhookSinkSettings,
    check_joined,
)
from inkgate.settings.service import (
    USUAL_METRICS_PORT,
    AdaptiveSettings,
    AdmissionSettings,
    AuthSettings,
    CacheSettings,
    DegradationSettings,
    DocsSettings,
    FetchSettings,
    FieldsSettings,
    GpuMonitoring,
    GpuSettings,
    LimitSettings,
    LogFormat,
    LogSettings,
    MetricsSettings,
    PdfSettings,
    PdfText,
    RateLimitSettings,
    SchedulingSettings,
    ServerSettings,
    ServingSettings,
    TermsSettings,
    TextModelSettings,
    TracingSettings,
    UiSettings,
)

__all__ = [
    "USUAL_METRICS_PORT",
    "AdaptiveSettings",
    "AdmissionSettings",
    "AuthSettings",
    "BatchingSettings",
    "Branch",
    "BrokerSettings",
    "CacheSettings",
    "CudnnSearch",
    "DegradationSettings",
    "DocsSettings",
    "EngineSettings",
    "EnvironmentSource",
    "ExtensionSinkSettings",
    "FetchSettings",
    "FieldsSettings",
    "GpuMonitoring",
    "GpuSettings",
    "JobSettings",
    "LayoutSettings",
    "LimitSettings",
    "LogFormat",
    "LogSettings",
    "ManagedSettings",
    "MetricsSettings",
    "ObjectsSinkSettings",
    "OnnxRuntimeSettings",
    "PdfSettings",
    "PdfText",
    "PipelineSettings",
    "PositiveFloat",
    "PositiveInt",
    "PpocrSettings",
    "Precision",
    "Provider",
    "Quality",
    "RateLimitSettings",
    "ReadingMode",
    "RuntimeName",
    "SchedulingSettings",
    "ServerSettings",
    "ServingSettings",
    "SettingFileError",
    "Settings",
    "SinkSettings",
    "StorageSettings",
    "TableSinkSettings",
    "TermsSettings",
    "TextModelSettings",
    "TopicSinkSettings",
    "TracingSettings",
    "TransformersSettings",
    "UiSettings",
    "Url",
    "VllmSettings",
    "WebhookSettings",
    "WebhookSinkSettings",
    "config_file",
    "load_settings",
]


class Settings(BaseSettings):
    """The whole tree. Unknown names are errors in every source."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="INKGATE_",
        env_nested_delimiter="__",
        nested_model_default_partial_update=True,
    )

    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    rate_limit: RateLimitSettings = RateLimitSettings()
    limits: LimitSettings = LimitSettings()
    pdf: PdfSettings = PdfSettings()
    engine: EngineSettings = EngineSettings()
    fields: FieldsSettings = FieldsSettings()
    terms: TermsSettings = TermsSettings()
    cache: CacheSettings = CacheSettings()
    serving: ServingSettings = ServingSettings()
    fetch: FetchSettings = FetchSettings()
    jobs: JobSettings = JobSettings()
    webhooks: WebhookSettings = WebhookSettings()
    storage: StorageSettings = StorageSettings()
    pipelines: dict[str, PipelineSettings] = Field({}, description="Pipelines by name (docs/guides/pipelines.md).")
    intake: dict[str, BrokerSettings] = Field({}, description="Brokers that tell of new objects, by name.")
    sinks: dict[str, SinkSettings] = Field({}, description="Where results of pipelines go, by name.")
    metrics: MetricsSettings = MetricsSettings()
    tracing: TracingSettings = TracingSettings()
    ui: UiSettings = UiSettings()
    docs: DocsSettings = DocsSettings()
    log: LogSettings = LogSettings()

    @model_validator(mode="after")
    def _joined(self) -> Settings:
        check_joined(self.pipelines, self.sinks, self.webhooks, self.intake)
        managed = self.engine.vllm.managed
        own = {"server.port": self.server.port} | ({"metrics.port": self.metrics.port} if self.metrics.enabled else {})
        for name, port in own.items():
            if managed.port and managed.port <= port < managed.port + managed.replicas:
                raise ValueError(f"{name} {port} is among the ports of engine.vllm.managed.port and its replicas")
        return self


def _check_tables(values: Mapping[str, object]) -> None:
    """Raises pydantic.ValidationError if a branch of the settings is given as a plain value."""
    mistakes = list(_plain_branches(Settings, values, ()))
    if mistakes:
        kind = PydanticCustomError("table_expected", "this is a table of settings, not a value")
        raise ValidationError.from_exception_data(
            "Settings", [InitErrorDetails(type=kind, loc=path, input=value) for path, value in mistakes]
        )


def _plain_branches(
    model: type[BaseModel], values: Mapping[str, object], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, field in model.model_fields.items():
        if name not in values or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            continue
        value = values[name]
        if isinstance(value, Mapping):
            yield from _plain_branches(field.annotation, value, (*above, name))
        elif not isinstance(value, field.annotation):
            yield (*above, name), value


def config_file() -> Path | None:
    """The settings file that the environment names; None without INKGATE_CONFIG."""
    name = EnvironmentSource(Settings).env_vars.get("inkgate_config")
    return Path(name) if name else None


def load_settings(config: Path | None = None, /, **flags: dict[str, object]) -> Settings:
    """Returns the settings from file, environment and flags. `flags` are nested, for example `server={"port": 1}`.

    Raises:
        pydantic.ValidationError: a value or a name is wrong.
        SettingFileError: a file that the environment names for a setting can't be used.
        FileNotFoundError, tomllib.TOMLDecodeError: the file is missing or invalid.
    """
    if config is not None and not config.is_file():
        raise FileNotFoundError(ENOENT, "There is no such settings file", str(config))

    class Loaded(Settings):
        @classmethod
        def settings_customise_sources(  # type: ignore[override]  # pydantic passes the sources by keyword
            cls, settings_cls: type[BaseSettings], **_sources: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            passed = InitSettingsSource(settings_cls, init_kwargs=dict(flags))
            file = TomlConfigSettingsSource(settings_cls, toml_file=config)
            # Sources are merged before validation: a table in one would hide a plain value in another.
            environment = EnvironmentSource(settings_cls)
            for source in (environment, file):
                _check_tables(source())
            return (passed, environment, file)

    return Loaded()
