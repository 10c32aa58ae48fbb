"""Settings of jobs: the store, pipelines, and what they are joined to: sources of events, and sinks of results."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, SecretStr, field_validator, model_validator

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt
from inkgate_client.format_names import AnyFormat, Format

_FOLDER = re.compile(r"(?:(?:s3|gs|az|memory|https?)://[^\s?#/@]+|abfss?://[^\s?#/@]+@[^\s?#/@]+|file://)(/[^\s?#]*)?")
_DATABASE = re.compile(r"(sqlite:///|postgresql(\+psycopg)?://).+")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_PATH = re.compile(
    r"fields(\..+)?"
    r"|job\.(id|name|tenant|state|pipeline|priority|created|started|ended|pages|saved|failed|attempts)"
    r"|document\.(text|markdown|name|mime_type|byte_count|page_count|engine|status)"
    r"|page\.(text|markdown|index|number|engine|confidence|rotation|error)"
    r"|extraction\.(document_type|status|review|version)"
    r"|source\.(url|name|etag|version|upload)"
)
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{32,}={0,2}")


def _folder_url(value: str) -> str:
    """The URL with one slash at the end. Raises ValueError if it is not that of a folder."""
    match = _FOLDER.fullmatch(value)
    if match is None or (value.startswith("file:") and match[1] is None):
        raise ValueError("write it as s3://bucket/folder/, gs://, az://, https:// or file:///folder/")
    path = (match[1] or "").strip("/")
    if path and {"", ".", ".."}.intersection(path.split("/")):
        raise ValueError("a folder's URL has no empty parts, and no `.` or `..`")
    begin = value[: match.start(1)] if match[1] else value
    return f"{begin}/{path}/" if path else f"{begin}/"


def _store_folder_url(value: str) -> str:
    """Checks, as _folder_url does, the URL of a folder that can be written."""
    if value.startswith("http"):
        raise ValueError("files can't be written to web servers; write s3://bucket/folder/, gs://, az:// or file:///")
    return _folder_url(value)


FolderUrl = Annotated[str, AfterValidator(_folder_url)]
"""Ends with a slash, so that `s3://scans` doesn't allow `s3://scans-of-others`."""
StoreFolderUrl = Annotated[str, AfterValidator(_store_folder_url)]
"""A FolderUrl that can be written."""


def _secrets(secrets: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    """Returns `secrets`. Raises ValueError if one is not a secret of Standard Webhooks."""
    if not all(_SECRET.fullmatch(secret.get_secret_value()) for secret in secrets):
        raise ValueError("each is whsec_ and at least 24 random bytes as base64: `openssl rand -base64 32`")
    return secrets


WebhookSecrets = Annotated[tuple[SecretStr, ...], AfterValidator(_secrets)]


class JobSettings(Branch):
    enabled: bool = Field(default=True, description="Accept jobs, and run them in `inkgate serve`.")
    folder: str = Field(
        "",
        description="Folder of the database and of uploads, unless these are set. Empty: `inkgate` in "
        "`$XDG_STATE_HOME` or `~/.local/state`.",
    )
    database: SecretStr = Field(
        SecretStr(""),
        description="Database of jobs, such as `postgresql://user:password@host/inkgate` (needs `inkgate[postgres]`)."
        " Empty: SQLite, `jobs.db` in `jobs.folder`.",
    )
    uploads: str = Field(
        "", description="Where uploads of jobs are kept, such as `s3://bucket/uploads/`. Empty: in `jobs.folder`."
    )
    work: bool = Field(default=True, description="Run jobs in `inkgate serve`. `false`: only `inkgate work` runs them.")
    at_once: PositiveInt = Field(8, description="Maximum jobs that a process runs at once.")
    save_every: PositiveInt = Field(
        8, description="Pages saved together; a killed process loses at most these and `limits.page_window`."
    )
    slice_pages: PositiveInt = Field(
        50, description="Pages after which a long job gives way to another tenant's waiting job."
    )
    lease_s: PositiveFloat = Field(
        60.0, description="Time after which another process takes over a dead process's job."
    )
    poll_s: PositiveFloat = Field(
        1.0, description="How often jobs of other processes, and changes of watched jobs, are looked for."
    )
    max_attempts: PositiveInt = Field(
        3, description="Processes that may die opening a document before it is quarantined."
    )
    max_retries: PositiveInt = Field(
        5, description="Retries of a job after a failure of the engine, such as a page's timeout."
    )
    retry_s: PositiveFloat = Field(5.0, description="Pause before a retry. It doubles each time, up to 5 minutes.")
    max_pages: PositiveInt = Field(10_000, description="Maximum pages of a job's document.")
    max_queued_pages: PositiveInt = Field(
        100_000, description="Maximum pages in the queue. More are refused with 503, and intake pauses."
    )
    tenant_share: float = Field(
        0.8,
        gt=0,
        le=1,
        description="Share that one tenant may fill of the queue's room not used by others. More get 429.",
    )
    retention_days: PositiveFloat = Field(7.0, description="How long ended jobs, their results and uploads are kept.")
    max_files_mb: PositiveInt = Field(
        4096,
        description="Maximum size of all files of `/v1/files`, which are kept like uploads if `jobs.database` is set.",
    )
    max_streams: PositiveInt = Field(
        32, description="Maximum open results, streams and waiting requests of jobs for each tenant."
    )
    sources: tuple[FolderUrl, ...] = Field(
        (), description="Places from which a job's `source` URL may be read, such as `s3://scans/in/`. Empty: none."
    )

    @field_validator("database")
    @classmethod
    def _is_database(cls, url: SecretStr) -> SecretStr:
        if url.get_secret_value() and not _DATABASE.fullmatch(url.get_secret_value()):
            raise ValueError("write it as postgresql://user:password@host/name or sqlite:////path/to/jobs.db")
        return url

    @field_validator("uploads")
    @classmethod
    def _is_folder(cls, url: str) -> str:
        return _store_folder_url(url) if url else url


class WebhookSettings(Branch):
    secrets: WebhookSecrets = Field(
        (),
        description="Secrets that sign webhooks, such as `whsec_...`; two during a rotation. Empty: jobs "
        "can't name a webhook.",
    )
    timeout_s: PositiveFloat = Field(10.0, description="Time limit of a delivery.")
    allow_hosts: tuple[str, ...] = Field(
        (), description="Hosts that may have private addresses; others must be public."
    )


class StorageSettings(Branch):
    options: dict[str, dict[str, SecretStr]] = Field(
        {},
        description="Options by URL prefix, such as `{'s3://scans': {endpoint = '...'}}` "
        "(docs/guides/object-storage.md). Default: the environment's credentials.",
    )
    timeout_s: PositiveFloat = Field(60.0, description="Time limit to read or write an object.")


class PipelineSettings(Branch):
    """What is done with the objects in an event: the keys of a table `pipelines.NAME`."""

    sources: tuple[FolderUrl, ...] = Field((), description="Places of its objects. The longest prefix decides.")
    task: Literal["text", "parse", "extract"] = Field("parse", description="What to read.")
    fields: tuple[str, ...] = Field((), description="Names of the fields for `extract`.")
    extract_type: str = Field(
        "",
        max_length=100,
        description="Find the fields of this document type, such as `receipt`, in the whole document; `auto`: "
        "of the type found (docs/guides/jobs.md).",
    )
    extract_schema: str = Field("", description="The same by a JSON Schema: its file.")
    extract_fields: tuple[str, ...] = Field((), max_length=100, description="The same by the fields' names.")
    pages: str = Field("", description="Pages to read, such as `1-3`. Empty: all.")
    priority: Literal["interactive", "normal", "batch"] = Field("batch", description="Class of its jobs.")
    tenant: str = Field("", description="Tenant of its jobs, such as `key:0123456789ab`. Empty: the pipeline's name.")
    sinks: tuple[str, ...] = Field((), description="Names of the sinks that get its results.")

    @model_validator(mode="after")
    def _has_fields(self) -> PipelineSettings:
        if (self.task == "extract") != bool(self.fields):
            raise ValueError("`fields` are needed for `task = 'extract'`, and only for it")
        requested = sum([bool(self.extract_type), bool(self.extract_schema), bool(self.extract_fields)])
        if requested > 1:
            raise ValueError("give only one of `extract_type`, `extract_schema` and `extract_fields`")
        if requested and self.task == "extract":
            raise ValueError("`extract_type` and its like need `task = 'parse'`")
        return self


class BrokerSettings(Branch):
    """A message broker's topic with events about objects: the keys of a table `intake.NAME`."""

    kind: Literal["kafka", "rabbit", "nats", "redis"] = Field(description="Kind of broker.")
    address: SecretStr = Field(description="Such as `localhost:9092`, or `amqp://user:password@host/`.")
    topic: str = Field(min_length=1, description="Topic, queue, subject or stream.")
    group: str = Field("inkgate", min_length=1, description="Consumer group.")
    dead_letters: str = Field("", description="Topic for events that can't be used. Empty: `TOPIC-dead`.")
    batch: PositiveInt = Field(100, description="Maximum events taken at once.")
    redeliver_s: PositiveFloat = Field(
        45.0,
        description="Time after which a dead process's events go to another; at once with RabbitMQ.",
    )


class WebhookSinkSettings(Branch):
    """Every result is sent to one URL."""

    kind: Literal["webhook"]
    url: SecretStr = Field(description="Where results are sent. It may hold a token.")
    secrets: WebhookSecrets = Field((), description="Secrets for this URL instead of `webhooks.secrets`.")
    with_result: bool = Field(default=False, description="Send the document too, up to 1 MB.")

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: SecretStr) -> SecretStr:
        if not re.fullmatch(r"https?://[^\s/?#@]+([/?][^\s#]*)?", url.get_secret_value()):
            raise ValueError("write it as https://host/path, without a user name")
        return url


class TableSinkSettings(Branch):
    """Results become rows of a table in another database."""

    kind: Literal["table"]
    database: SecretStr = Field(description="Its database, such as `postgresql://user:password@host/shop`.")
    table: str = Field(min_length=1, description="The table, or `schema.table`. It must exist.")
    columns: dict[str, str] = Field(description="Column to value, such as `{total = 'fields.total'}`.", min_length=1)
    key: tuple[str, ...] = Field(min_length=1, description="Columns of a unique key, by which rows are updated.")
    rows: Literal["document", "page"] = Field("document", description="One row for each document, or for each page.")

    @field_validator("database")
    @classmethod
    def _is_database(cls, url: SecretStr) -> SecretStr:
        if not re.fullmatch(r"[a-z][a-z0-9_+]*://.+", url.get_secret_value()):
            raise ValueError("write it as postgresql://user:password@host/name")
        return url

    @model_validator(mode="after")
    def _is_whole(self) -> TableSinkSettings:
        if missing := [column for column in self.key if column not in self.columns]:
            raise ValueError(f"`columns` does not say the value of the key's column `{missing[0]}`")
        for path in self.columns.values():
            if not _PATH.fullmatch(path):
                raise ValueError(f"there is no value `{path}` (docs/guides/pipelines.md lists them)")
            if path.startswith("page.") and self.rows == "document":
                raise ValueError(f"`{path}` needs `rows = 'page'`")
        return self


class TopicSinkSettings(Branch):
    """Results are published to a topic."""

    kind: Literal["topic"]
    broker: Literal["kafka", "rabbit", "nats", "redis"] = Field(description="Kind of broker.")
    address: SecretStr = Field(description="Such as `localhost:9092`.")
    topic: str = Field(min_length=1, description="Topic, queue, subject or stream.")
    with_result: bool = Field(default=False, description="Send the document too, up to 1 MB.")


class ObjectsSinkSettings(Branch):
    """Results are written as objects, named after the input."""

    kind: Literal["objects"]
    url: StoreFolderUrl = Field(description="Where, such as `s3://scans/out/`.")
    formats: tuple[AnyFormat, ...] = Field((Format.JSON,), min_length=1, description="One object for each format.")


class ExtensionSinkSettings(Branch):
    """Results go to a sink of another package."""

    kind: Literal["extension"]
    make: str = Field(description="What makes the sink: its name, such as `notion`, or `module:name`.")
    options: dict[str, JsonValue] = Field({}, description="What else it needs to know.")
    secret: SecretStr = Field(SecretStr(""), description="A key or password, which is never shown.")


SinkSettings = Annotated[
    WebhookSinkSettings | TableSinkSettings | TopicSinkSettings | ObjectsSinkSettings | ExtensionSinkSettings,
    Field(discriminator="kind"),
]


def check_joined(
    pipelines: dict[str, PipelineSettings],
    sinks: dict[str, SinkSettings],
    webhooks: WebhookSettings,
    intake: dict[str, BrokerSettings],
) -> None:
    """Raises ValueError if a name, a pipeline's sink or a sink's secrets don't fit, or if a pipeline would read what it
    writes.
    """
    for name in (*pipelines, *sinks, *intake):
        if not _NAME.fullmatch(name):
            raise ValueError(f"the name `{name}` may have lower-case letters, digits, `-` and `_` only")
    if "http" in intake:
        raise ValueError("the name `http` is that of the events at /v1/events")
    pipeline_of: dict[str, str] = {}
    for name, pipeline in pipelines.items():
        if missing := [sink for sink in pipeline.sinks if sink not in sinks]:
            raise ValueError(f"pipeline `{name}`: there is no sink `{missing[0]}`")
        for source in pipeline.sources:
            if source in pipeline_of:
                raise ValueError(f"`{source}` is a source of two pipelines, `{pipeline_of[source]}` and `{name}`")
            pipeline_of[source] = name
    _check_sinks(sinks, webhooks)
    for name, sink in sinks.items():
        if isinstance(sink, ObjectsSinkSettings):
            for source, pipeline_name in pipeline_of.items():
                if sink.url.startswith(source):
                    raise ValueError(f"sink `{name}` writes into `{source}`, which pipeline `{pipeline_name}` reads")


def _check_sinks(sinks: dict[str, SinkSettings], webhooks: WebhookSettings) -> None:
    for name, sink in sinks.items():
        if name == "webhook":
            raise ValueError("the name `webhook` is that of the jobs' own webhooks")
        if isinstance(sink, WebhookSinkSettings) and not (sink.secrets or webhooks.secrets):
            raise ValueError(f"sink `{name}` needs `secrets`, its own or those of `webhooks`")
