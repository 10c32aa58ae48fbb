"""Settings of the service: address, keys, limits, cache, documents, fields, admission and queues, telemetry, log."""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt

_PATH = re.compile(r"(/[\w.~-]+)*", re.ASCII)
_OWN_PATHS = frozenset({"v1", "docs", "ui"})


def _network(value: str) -> str:
    """Returns `value`. Raises ValueError if it is not an address or a network."""
    ip_network(value, strict=False)
    return value


def _root_path(value: str) -> str:
    """Returns the path without a slash at its end. Raises ValueError."""
    path = value.rstrip("/")
    if not _PATH.fullmatch(path):
        raise ValueError("a path begins with a slash and has letters, digits and ._~- between slashes")
    if path.split("/")[1:2] and path.split("/")[1] in _OWN_PATHS:
        raise ValueError("the service itself uses this path; choose another")
    return path


Network = Annotated[str, AfterValidator(_network)]
RootPath = Annotated[str, AfterValidator(_root_path)]


def _key_hash(value: str) -> str:
    """Returns the hash in lower case. Raises ValueError if it is not a SHA-256."""
    if not KEY_HASH.fullmatch(value.lower()):
        raise ValueError("each is a SHA-256 in 64 hexadecimal digits, as printed by `inkgate key`")
    return value.lower()


class LogFormat(StrEnum):
    """Format of log lines."""

    CONSOLE = "console"
    JSON = "json"


class ServerSettings(Branch):
    host: str = Field("127.0.0.1", description="Address to listen on. Anything but loopback needs an API key.")
    port: int = Field(7860, ge=0, le=65535, description="Port of the API. 0 lets the system choose.")
    drain_s: PositiveFloat = Field(30.0, description="Time for responses in flight after SIGTERM or SIGHUP.")
    allowed_hosts: tuple[str, ...] = Field(
        (),
        description="More host names by which a service without API keys may be called, besides localhost, IP "
        "addresses and `server.host`. `*`: any.",
    )
    formats: tuple[str, ...] = Field(
        (),
        description="Wire formats of other packages, by name or as `module:name` (docs/guides/extending.md).",
    )
    max_connections: int = Field(
        0,
        ge=0,
        description="Maximum open connections. Idle ones are closed first, then new ones get 503. 0: three "
        "quarters of the open-file limit, at most 8,000.",
    )
    head_timeout_s: PositiveFloat = Field(10.0, description="Time to receive the request line and headers.")
    send_timeout_s: PositiveFloat = Field(
        30.0,
        description="Disconnect a client that reads less than `server.min_send_kb_s` for this long.",
    )
    min_send_kb_s: PositiveFloat = Field(
        8.0, description="Minimum kB a second that a client must read while its response waits."
    )
    trusted_proxies: tuple[Network, ...] = Field(
        (),
        description="Reverse proxies, such as `10.0.0.0/8`, whose `X-Forwarded-*` headers are trusted; those "
        "on this machine always are (docs/guides/behind-nginx.md).",
    )
    root_path: RootPath = Field(
        "",
        description="Path prefix behind a reverse proxy, such as `/inkgate` (docs/guides/behind-nginx.md).",
    )
    cors_origins: tuple[str, ...] = Field((), description="Origins allowed by CORS; none by default.")


KEY_HASH = re.compile("[0-9a-f]{64}")
KeyHash = Annotated[str, AfterValidator(_key_hash)]
_SITE = re.compile(r"https?://[\w.:\[\]-]+(/[\w.~%!$&'()*+,;=:@-]*)*", re.ASCII)
"""A URL to which pages are appended, as it may stand in a header."""
_REDIS = re.compile(r"(redis|rediss)://([^/?#]+)(/[0-9]*)?(\?.*)?|unix://.+")


def check_redis_url(url: str) -> str:
    """Returns `url`. Raises ValueError if it is invalid; the message does not contain it, as it may hold a password."""
    try:
        port_fits = urlsplit(url).port != 0
    except ValueError:
        port_fits = False
    if not _REDIS.fullmatch(url) or not port_fits:
        raise ValueError(
            "write it as redis://host:6379/0, rediss://user:password@host:6379/0 or unix:///path/to/socket"
        )
    return url


class AuthSettings(Branch):
    key_hashes: tuple[KeyHash, ...] = Field(
        (), description="SHA-256 of each API key, as `inkgate key` prints it. Empty: no key is needed."
    )
    allow_open: bool = Field(default=False, description="Allow an address other than loopback without API keys.")


class RateLimitSettings(Branch):
    per_key: str = Field(
        "", description="Requests per API key, or per address without keys, such as `60/minute`. Empty: no limit."
    )
    storage_url: str = Field("memory://", description="Where requests are counted: `memory://` or `redis://host:6379`.")

    @field_validator("per_key")
    @classmethod
    def _is_limit(cls, per_key: str) -> str:
        if per_key:
            from limits import parse  # imported only if there is a limit: the import is slow

            try:
                parse(per_key)
            except ValueError as error:
                raise ValueError("write it as 60/minute, 1000/hour or 5 per 2 seconds") from error
        return per_key

    @field_validator("storage_url")
    @classmethod
    def _is_storage(cls, url: str) -> str:
        if url == "memory://":
            return url
        try:
            check_redis_url(url.replace("redis+unix://", "unix://", 1))
        except ValueError as error:
            raise ValueError("write it as memory://, redis://host:6379/0 or redis+unix:///path/to/socket") from error
        return url


class LimitSettings(Branch):
    max_body_mb: PositiveFloat = Field(
        50.0, description="Maximum size of a request body. Larger ones are refused unread."
    )
    body_timeout_s: PositiveFloat = Field(30.0, description="Maximum pause while receiving a body.")
    max_pages: PositiveInt = Field(2000, description="Maximum pages of a document.")
    max_pixels: PositiveInt = Field(120_000_000, description="Maximum pixels of an image, checked by its header.")
    time_s: PositiveFloat = Field(600.0, description="Time limit for a document. Pages that are not read by then fail.")
    max_in_flight: PositiveInt = Field(
        64, description="Maximum documents in flight; with model servers, for each that is in service. More get 503."
    )
    page_window: PositiveInt = Field(4, description="Pages of a document that are read at once.")


class CacheSettings(Branch):
    enabled: bool = Field(default=True, description="Keep results of pages, and read identical pages once.")
    max_mb: PositiveFloat = Field(64.0, description="Memory for results. The least recently used go first.")
    ttl_s: PositiveFloat = Field(300.0, description="How long a result is kept.")
    redis_url: SecretStr = Field(
        SecretStr(""),
        description="Redis for results, such as `redis://host:6379/0`. Empty: in memory.",
    )
    secret: SecretStr = Field(
        SecretStr(""),
        description="Secret that signs results in Redis, the same for all services that share it. Empty: a "
        "checksum only.",
    )

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr) -> SecretStr:
        if url.get_secret_value():
            check_redis_url(url.get_secret_value())
        return url


class FetchSettings(Branch):
    enabled: bool = Field(default=False, description="Fetch documents, and media of chat requests, by URL.")
    allow_hosts: tuple[str, ...] = Field((), description="Hosts to fetch from. Empty: every public host.")
    timeout_s: PositiveFloat = Field(20.0, description="Time limit of a fetch, including redirects.")
    max_redirects: int = Field(3, ge=0, description="Maximum redirects. Each is checked again.")


class DocsSettings(Branch):
    url: str = Field(
        "",
        description="Base of links in errors and findings, such as `https://ocr.example.com/docs/guide/`. "
        "Empty: `/docs/guide/` of this service.",
    )

    @field_validator("url")
    @classmethod
    def _fits_in_a_header(cls, url: str) -> str:
        if url and not _SITE.fullmatch(url):
            raise ValueError("write it as https://host/path/ in ASCII, without a query")
        return url


class UiSettings(Branch):
    enabled: bool = Field(
        default=True,
        description="Show the web page at / (docs/start/web-page.md).",
    )


class LogSettings(Branch):
    format: LogFormat = Field(LogFormat.CONSOLE, description="`console` for people, `json` for machines.")
    level: str = Field("info", pattern="^(debug|info|warning|error)$", description="Minimum level.")


class GpuMonitoring(StrEnum):
    """Whether GPUs are monitored."""

    AUTO = "auto"
    NEVER = "never"


class SchedulingSettings(Branch):
    max_waiting: PositiveInt = Field(20_000, description="Maximum pages in the queue. More get 503.")
    max_waiting_tokens: int = Field(0, ge=0, description="Maximum tokens in the queue. 0: no limit.")
    age_s: PositiveFloat = Field(
        30.0, description="Waiting time after which a page moves up one class, unless it is a job's."
    )
    weights: dict[str, PositiveFloat] = Field({}, description="Weight of a tenant's share. Default: 1.")
    priorities: dict[str, Literal["interactive", "normal", "batch"]] = Field(
        {}, description="Highest class that a tenant, such as `key:0123456789ab`, may use. Others may use any."
    )
    wait_share: float = Field(
        0.3, gt=0, le=1, description="Maximum expected wait, as a share of a request's time limit. Longer: 503 at once."
    )
    retry_after_s: PositiveFloat = Field(2.0, description="Minimum Retry-After, also used while no rate is known.")
    max_retry_after_s: PositiveFloat = Field(
        30.0, description="Maximum Retry-After, before callers are spread over up to 60 s."
    )


class AdmissionSettings(Branch):
    max_bytes_mb: PositiveFloat = Field(1024.0, description="Maximum memory for request bodies. More get 503.")
    max_results: PositiveInt = Field(256, description="Maximum results of jobs and files sent at once. More get 503.")
    max_result_mb: PositiveFloat = Field(
        256.0, description="Maximum memory for results of jobs and files being sent. More get 503."
    )
    reserve: float = Field(
        0.125,
        ge=0,
        lt=1,
        description="Share of the capacity closed to tenants over their share while others are active.",
    )
    chat_wait_s: float = Field(
        600.0,
        ge=0,
        description="How long chat requests wait for admission, if their time allows; `X-Inkgate-Wait` overrides it.",
    )
    waiting_mb: float = Field(
        320.0, ge=0, description="Memory for chat requests that wait for admission: 1,700 of one tenant. More get 503."
    )
    remember_s: PositiveFloat = Field(30.0, description="How long a refused tenant counts as active.")
    body_patience_s: PositiveFloat = Field(
        5.0,
        description="Time to receive a body before a tenant with fewer requests may take the slot of a full service.",
    )


class AdaptiveSettings(Branch):
    initial: PositiveInt = Field(16, description="Concurrent requests at each model server at the start.")
    least: PositiveInt = Field(1, description="Minimum of the limit.")
    most: PositiveInt = Field(256, description="Maximum of the limit.")
    interval_s: PositiveFloat = Field(
        1.0, description="Minimum time between two changes; or half a page's time, if longer."
    )
    stale_s: PositiveFloat = Field(5.0, description="Maximum age of the model server's metrics.")


class DegradationSettings(Branch):
    enabled: bool = Field(default=True, description="Lower the quality under sustained load, level by level.")
    target_wait_s: PositiveFloat = Field(
        30.0, description="Expected wait that counts as overload; half of the time after which many clients give up."
    )
    up_s: PositiveFloat = Field(10.0, description="Duration of overload before the next level.")
    down_s: PositiveFloat = Field(10.0, description="Time below half of that wait before a level is undone.")
    image_scale: float = Field(0.75, gt=0, le=1, description="Level `image`: factor of the sides of an image.")
    max_output_tokens: PositiveInt = Field(2048, description="Level `output`: maximum tokens of a response.")


class GpuSettings(Branch):
    enabled: GpuMonitoring = Field(
        GpuMonitoring.AUTO,
        description="Watch this machine's GPUs, and stop calls to its model servers while one is in trouble. "
        "Needs `inkgate[gpu]`.",
    )
    gpus: tuple[int, ...] = Field((), description="GPUs to watch, by the driver's number. Empty: all.")
    temperature_c: PositiveFloat = Field(90.0, description="Temperature in °C at which calls stop.")
    throttled_s: PositiveFloat = Field(10.0, description="How long heat may throttle the GPU before calls stop.")
    memory: float = Field(
        0.98, gt=0, le=1, description="Used share of GPU memory at which calls to a managed vLLM pause. 1: never."
    )


class ServingSettings(Branch):
    scheduling: SchedulingSettings = SchedulingSettings()
    admission: AdmissionSettings = AdmissionSettings()
    adaptive: AdaptiveSettings = AdaptiveSettings()
    degradation: DegradationSettings = DegradationSettings()
    gpu: GpuSettings = GpuSettings()


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
        description="Share of traces to record, unless the client's trace context decides.",
    )
    service_name: str = Field("inkgate", min_length=1, description="Name of this service in traces.")

    @field_validator("endpoint")
    @classmethod
    def _over_http(cls, endpoint: str) -> str:
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise ValueError("write it as http://host:port or https://host:port")
        return endpoint


class TextModelSettings(Branch):
    url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="Base URL of an OpenAI-compatible server, such as `http://127.0.0.1:8001/v1`. Empty: none.",
    )
    model: str = Field("", description="The model's name at that server.")
    api_key: SecretStr = Field(SecretStr(""), description="Its API key.")
    timeout_s: PositiveFloat = Field(60.0, description="Time limit of a call.")
    concurrent: PositiveInt = Field(8, description="Calls at once.")
    max_characters: PositiveInt = Field(
        24_000, description="Text sent in one call; longer documents are sent in parts."
    )


class TermsSettings(Branch):
    files: tuple[str, ...] = Field(
        (),
        description="TOML files with terms of your domain: doubtful words become the terms that they resemble "
        "(docs/guides/fields.md).",
    )


class FieldsSettings(Branch):
    types: tuple[str, ...] = Field(
        (), description="Folders with document types of your own as YAML files (docs/guides/fields.md)."
    )
    terms: tuple[str, ...] = Field(
        (),
        description="TOML files with more terms, for fields only: see `terms.files`.",
    )
    min_confidence: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Fields below it (of invoices and receipts 0.89 with 0.8) are `uncertain`, and the document needs"
        " review.",
    )
    grounding_engine: Literal["embedded", "engine"] = Field(
        "embedded",
        description="What reads the lines in which values are looked up: the `embedded` engine, or the "
        "`engine` itself, if it gives lines with places.",
    )
    text_model: TextModelSettings = TextModelSettings()


class PdfText(StrEnum):
    """The use of the text inside a PDF page instead of OCR."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class PdfSettings(Branch):
    text: PdfText = Field(PdfText.AUTO, description="Use the text inside a PDF page; `auto`: if it can be trusted.")
    dpi: PositiveFloat = Field(200.0, description="Resolution at which pages are rendered.")
    max_side: PositiveInt = Field(
        4000, description="Maximum side of a rendered page in pixels; lowers the dpi of larger pages."
    )
    workers: PositiveInt = Field(2, description="Worker processes that open and render PDFs.")
    warm_workers: int = Field(
        1, ge=0, description="Worker processes started with the service. The others start when needed."
    )
    worker_memory_mb: PositiveInt = Field(
        2048, description="Memory limit of a worker: address space beyond what it has at its start."
    )
    page_timeout_s: PositiveFloat = Field(20.0, description="Time limit to open a PDF or to render a page.")
    write_timeout_s: PositiveFloat = Field(
        120.0, description="Time limit to write a PDF, Word or Excel file, or to convert a result."
    )
