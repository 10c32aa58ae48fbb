"""Counters of events: requests, stages, pages, tokens."""

from __future__ import annotations

from collections import Counter as Counts
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from time import monotonic
from typing import ParamSpec, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from inkgate.errors import CODES, EngineFailed, error_class
from inkgate.telemetry.observer import Observer, retries_of, runaways_of
from inkgate.telemetry.tracing import sampled_trace_id
from inkgate_client.telemetry.family import Family, Kind
from inkgate_client.telemetry.history import WorkTotals
from inkgate_client.types import PageResult, Task

P = ParamSpec("P")
T = TypeVar("T")

OTHER = "other"
"""Label value for names outside of the closed set."""
STAGES = {
    "admission": "wait for admission: a chat request",
    "receive": "receive the request body",
    "open": "open a document or a page",
    "render": "render a page to pixels",
    "prepare": "rotate, scale and encode pixels for the model",
    "wait": "wait for a slot: a page, or a call to a model server",
    "batch": "batch the lines of a page: the wait for a model call, and the call",
    "engine": "read a page in the engine, from its slot to its result; includes other stages",
    "detect": "find text on a page",
    "recognize": "recognize the lines of a page",
    "layout": "find blocks and tables",
    "assemble": "build text and blocks from lines, parse a model's output, or write the response",
    "cache": "take a result from the cache, or wait for a concurrent read of the same page",
}
"""The values of the label `stage`."""
_PAGE = ("engine", "model_version", "task_type", "inference_engine")
_REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_STAGE_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_BODY_BYTES = (10e3, 30e3, 100e3, 300e3, 1e6, 3e6, 10e6, 30e6, 100e6)
_STAGE_OF = {
    "render": "render",
    "encode": "prepare",
    "orient": "prepare",
    "detect": "detect",
    "recognize": "recognize",
    "layout": "layout",
    "ruling": "layout",
    "tables": "layout",
    "check_boxes": "layout",
    "styles": "layout",
    "arrange": "assemble",
    "parse": "assemble",
    "cache": "cache",
}
"""The stage for each time in `PageResult.timings_ms`. `first_token` and `generate` are part of `engine`, which is
measured around the engine."""
_MAX_DURATIONS = 20_000
QPS_SPAN_S = 10
_STATUSES = frozenset({*HTTPStatus, 499})
_CREATED = "_created"
"""The suffix of prometheus-client's creation times, which are not in the catalogue."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """Labels for pages of an engine: its model and its inference engine."""

    version: str
    inference_engine: str


NO_MODEL = ModelName("none", "none")


class Rates:
    """Events per second over the last `QPS_SPAN_S` whole seconds, by name. Counting is O(1)."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._counts: dict[str, dict[int, int]] = {}

    @property
    def stored_seconds(self) -> int:
        """The number of seconds for which counts are stored, of all names together."""
        return sum(len(counts) for counts in self._counts.values())

    def add(self, name: str, count: int = 1) -> None:
        """Counts events now; 0 only creates the name."""
        second = int(self._clock())
        counts = self._counts.setdefault(name, {})
        counts[second] = counts.get(second, 0) + count
        if len(counts) > 2 * QPS_SPAN_S:
            self._counts[name] = {at: n for at, n in counts.items() if at >= second - QPS_SPAN_S}

    def per_s(self) -> Mapping[str, float]:
        """The current rate of each name."""
        second = int(self._clock())
        return {
            name: sum(count for at, count in counts.items() if second - QPS_SPAN_S <= at < second) / QPS_SPAN_S
            for name, counts in self._counts.items()
        }


class Metrics(Observer, Collector):
    """An Observer that counts events, and a Collector of the counts. Use it from one event loop."""

    def __init__(
        self, clock: Callable[[], float] = monotonic, trace_id: Callable[[], str | None] = sampled_trace_id
    ) -> None:
        """`clock` returns seconds; `trace_id` returns the ID of the current trace, if there is one."""
        self._engine = OTHER
        self._models: Mapping[str, ModelName] = {}
        self._trace_id = trace_id
        self._rates = Rates(clock)
        self._served: set[str] = set()
        self._durations: deque[float] = deque(maxlen=_MAX_DURATIONS)
        self._events = _Events()

    def reads_with(self, engine: str, models: Mapping[str, ModelName]) -> None:
        """Sets the engine of stages reported without a page, and the models of known engines; pages of other engines
        count as one.
        """
        self._engine = engine
        self._models = models

    def serves(self, endpoint: str) -> None:
        """Creates the series before the first request, so that rates include the first request."""
        self._served.add(endpoint)
        self._rates.add(endpoint, 0)
        self._events.requests("POST", endpoint, "200")

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        number = status if status in _STATUSES else status // 100 * 100
        self._events.requests(method, endpoint, str(number)).inc()
        self._events.request_s(method, endpoint).observe(seconds, self._exemplar())
        if self._has_document(method, endpoint):
            self._rates.add(endpoint)
            if status < HTTPStatus.BAD_REQUEST:
                self._durations.append(seconds)

    def refused(self, code: str, tenant_class: str) -> None:
        self._events.refusals(_code(code), tenant_class).inc()

    def slow_reader(self) -> None:
        self._events.slow_readers().inc()

    def upload(self, byte_count: int) -> None:
        self._events.upload_bytes().observe(byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        self._events.stage_s(stage if stage in STAGES else OTHER, self._engine).observe(seconds, self._exemplar())

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        engine, exemplar = self._known(result.engine), self._exemplar()
        model = self._models.get(engine, NO_MODEL)
        labels = (engine, model.version, task.kind.value, model.inference_engine)
        self._events.page_s(*labels).observe(seconds, exemplar)
        self._events.pages(*labels, _outcome(result)).inc()
        if result.error is not None:
            self._events.page_errors(engine, _code(result.error.code)).inc()
        for reason in result.review:
            self._events.to_review(engine, reason.value).inc()
        for name, spent_ms in result.timings_ms.items():
            stage = _STAGE_OF.get(name)
            if stage is not None:
                self._events.stage_s(stage, engine).observe(spent_ms / 1000, exemplar)
        if result.attempts and "cache" not in result.timings_ms:
            self._tried(result)

    def tokens(self, prompt: int, answer: int) -> None:
        self._events.tokens(self._engine, "in").inc(prompt)
        self._events.tokens(self._engine, "out").inc(answer)

    def take_durations(self) -> tuple[float, ...]:
        """Durations in seconds of the last 20,000 successful requests with documents since the last call."""
        durations = tuple(self._durations)
        self._durations.clear()
        return durations

    def work(self) -> WorkTotals:
        """All counts since the start."""
        pages, tokens = (
            self._counts("inkgate_pages_total", "outcome"),
            self._counts("inkgate_tokens_total", "direction"),
        )
        requests = self._counts("http_requests_total", "method", "endpoint", "status")
        with_documents: Counts[str] = Counts()
        for key, count in requests.items():
            method, endpoint, status = key.split(" ")
            if count and self._has_document(method, endpoint):
                with_documents[status] += count
        return WorkTotals(
            requests={key: count for key, count in requests.items() if count},
            with_documents=dict(with_documents),
            pages={name: pages[name] for name in ("ok", "degraded") if name in pages}
            | self._counts("inkgate_page_errors_total", "code"),
            stage_s=self._sums("inkgate_stage_duration_seconds_sum", "stage"),
            stage_count=self._counts("inkgate_stage_duration_seconds_count", "stage"),
            tokens_in=tokens.get("in", 0),
            tokens_out=tokens.get("out", 0),
            runaways=sum(self._counts("inkgate_runaway_stops_total").values()),
            retries=self._counts("inkgate_retries_total", "reason"),
        )

    def collect(self) -> Iterator[Metric]:
        """All metric families."""
        for endpoint, per_s in self._rates.per_s().items():
            self._events.qps(endpoint).set(per_s)
        for family in self._events.registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith(_CREATED)]
            yield family

    def _has_document(self, method: str, endpoint: str) -> bool:
        """Whether such requests have documents to read. Uploads, probes and the web page's lookups have none."""
        return method == "POST" and endpoint in self._served

    def _exemplar(self) -> dict[str, str] | None:
        trace_id = self._trace_id()
        return None if trace_id is None else {"trace_id": trace_id}

    def _sums(self, sample_name: str, *labels: str) -> dict[str, float]:
        """Sums of samples over all other labels, by the values of these labels, joined by spaces."""
        sums: dict[str, float] = {}
        for family in self._events.registry.restricted_registry([sample_name]).collect():
            for sample in family.samples:
                key = " ".join(sample.labels[label] for label in labels)
                sums[key] = sums.get(key, 0.0) + sample.value
        return sums

    def _counts(self, sample_name: str, *labels: str) -> dict[str, int]:
        return {key: int(count) for key, count in self._sums(sample_name, *labels).items()}

    def _tried(self, result: PageResult) -> None:
        stopped = runaways_of(result.attempts)
        if stopped:
            self._events.runaways(self._engine).inc(stopped)
        for reason in retries_of(result.attempts):
            self._events.retries(self._engine, _code(reason)).inc()

    def _known(self, engine: str) -> str:
        return engine if engine in self._models else OTHER


class _Events:
    """The metrics of events. Each is declared here, with the function that finds its series by the labels' values.

    Attributes:
        families: all of them.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.families: list[Family] = []
        self.requests = self._counter(
            "http_requests_total",
            "Finished requests. Status 499: the client disconnected first.",
            "method",
            "endpoint",
            "status",
        )
        self.qps = self._gauge(
            "qps", f"Requests with documents per second over the last {QPS_SPAN_S} seconds.", "endpoint"
        )
        self.request_s = self._histogram(
            "inkgate_http_request_duration_seconds",
            "Time from the request headers to the end of the response.",
            _REQUEST_S,
            "method",
            "endpoint",
        )
        self.refusals = self._counter(
            "inkgate_refusals_total",
            "Requests refused because of load, by error code; tenant_class: key, anonymous.",
            "reason",
            "tenant_class",
        )
        self.slow_readers = self._counter(
            "inkgate_slow_readers_total", "Clients that were disconnected because they read their response too slowly."
        )
        self.upload_bytes = self._histogram(
            "inkgate_upload_bytes", "Size of received documents and chat requests.", _BODY_BYTES
        )
        self.stage_s = self._histogram(
            "inkgate_stage_duration_seconds", "Time spent in each stage.", _STAGE_S, "stage", "engine"
        )
        self.page_s = self._histogram(
            "inkgate_page_duration_seconds", "Time from a page's submission to its result.", _REQUEST_S, *_PAGE
        )
        self.pages = self._counter(
            "inkgate_pages_total", "Pages by outcome: ok, degraded, failed, rejected.", *_PAGE, "outcome"
        )
        self.to_review = self._counter(
            "inkgate_pages_to_review_total",
            "Pages that a person should look at, by reason: uncertain_text, uncertain_order, uncertain_table, "
            "uncertain_headings, not_read, ink_without_text, script_unsupported, cut_off, placeholder, font_missing, "
            "doubtful_layer.",
            "engine",
            "reason",
        )
        self.page_errors = self._counter(
            "inkgate_page_errors_total", "Pages that failed, wholly or in part, by error code.", "engine", "code"
        )
        self.tokens = self._counter(
            "inkgate_tokens_total",
            "Tokens, as model servers count them: in (prompts), out (outputs).",
            "engine",
            "direction",
        )
        self.runaways = self._counter(
            "inkgate_runaway_stops_total", "Outputs stopped because they repeated themselves.", "engine"
        )
        self.retries = self._counter(
            "inkgate_retries_total", "Retried model requests, by the error before.", "engine", "reason"
        )

    # Series are cached because prometheus-client takes 1 µs to find one.

    def _counter(self, name: str, help_: str, *labels: str) -> Callable[..., Counter]:
        self._declare(name, Kind.COUNTER, help_, labels)
        counter = _in_memory(Counter)(name, help_, labels, registry=self.registry)
        return cache(_in_memory(counter.labels)) if labels else lambda: counter

    def _gauge(self, name: str, help_: str, *labels: str) -> Callable[..., Gauge]:
        self._declare(name, Kind.GAUGE, help_, labels)
        return cache(_in_memory(Gauge(name, help_, labels, registry=self.registry).labels))

    def _histogram(self, name: str, help_: str, buckets: tuple[float, ...], *labels: str) -> Callable[..., Histogram]:
        self._declare(name, Kind.HISTOGRAM, help_, labels, buckets)
        histogram = _in_memory(Histogram)(name, help_, labels, buckets=buckets, registry=self.registry)
        return cache(_in_memory(histogram.labels)) if labels else lambda: histogram

    def _declare(
        self, name: str, kind: Kind, help_: str, labels: tuple[str, ...], buckets: tuple[float, ...] = ()
    ) -> None:
        self.families.append(Family(name, kind, help_, labels, buckets, section="Requests, pages and tokens"))


def _in_memory(make: Callable[P, T]) -> Callable[P, T]:
    """Returns `make`, whose series count in memory even if PROMETHEUS_MULTIPROC_DIR is set, as by a program that
    imports inkgate. prometheus-client then counts in files there, which outlive the process and have no exemplars.
    """

    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        usual = values.ValueClass
        values.ValueClass = values.MutexValue
        try:
            return make(*args, **kwargs)
        finally:
            values.ValueClass = usual

    return made


def _outcome(result: PageResult) -> str:
    if result.error is not None:
        return "failed" if issubclass(error_class(result.error.code), EngineFailed) else "rejected"
    return "degraded" if result.degraded else "ok"


def _code(code: str) -> str:
    return code if code in CODES else OTHER


EVENTS = tuple(_Events().families)
"""All metrics of events."""
