"""Counters of events: requests, stages, pages, tokens."""

from __future__ import annotations

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
from inkgate.telemetry.catalog import EVENTS, STAGES
from inkgate.telemetry.observer import retries_of, runaways_of
from inkgate.telemetry.state import WorkTotals
from inkgate.telemetry.tracing import sampled_trace_id
from inkgate.types import PageResult, Task

P = ParamSpec("P")
T = TypeVar("T")

OTHER = "other"
"""Label value for names outside of the closed set."""
NO_WORK = frozenset({"/health", "/livez", "/readyz", "/state"})
"""Endpoints without work. Their times say nothing about latency, and they would flood logs and traces."""
_UPLOADS = "/v1/files"
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
_KEPT_DURATIONS = 20_000
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
    def seconds_kept(self) -> int:
        """Seconds with counts, of all names together."""
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


class Metrics(Collector):
    """An Observer that counts events, and a Collector of the counts. Use it from one event loop."""

    def __init__(
        self, clock: Callable[[], float] = monotonic, trace_id: Callable[[], str | None] = sampled_trace_id
    ) -> None:
        """`clock`: in seconds; `trace_id`: of the current trace."""
        self._engine = OTHER
        self._models: Mapping[str, ModelName] = {}
        self._trace_id = trace_id
        self._rates = Rates(clock)
        self._durations: deque[float] = deque(maxlen=_KEPT_DURATIONS)
        registry = self._registry = CollectorRegistry()
        self._requests = _counter(registry, "http_requests_total")
        self._qps = _gauge(registry, "qps")
        self._request_s = _histogram(registry, "inkgate_http_request_duration_seconds")
        self._refusals = _counter(registry, "inkgate_refusals_total")
        self._upload_bytes = _histogram(registry, "inkgate_upload_bytes")
        self._stage_s = _histogram(registry, "inkgate_stage_duration_seconds")
        self._page_s = _histogram(registry, "inkgate_page_duration_seconds")
        self._pages = _counter(registry, "inkgate_pages_total")
        self._to_review = _counter(registry, "inkgate_pages_to_review_total")
        self._page_errors = _counter(registry, "inkgate_page_errors_total")
        self._tokens = _counter(registry, "inkgate_tokens_total")
        self._runaways = _counter(registry, "inkgate_runaway_stops_total")
        self._retries = _counter(registry, "inkgate_retries_total")

    def reads_with(self, engine: str, models: Mapping[str, ModelName]) -> None:
        """Sets the engine of stages reported without a page, and the models of known engines; pages of other engines
        count as one.
        """
        self._engine = engine
        self._models = models

    def serves(self, endpoint: str) -> None:
        """See Observer. Creates the series before the first request, so that rates include the first request."""
        self._rates.add(endpoint, 0)
        self._requests("POST", endpoint, "200")

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Observer."""
        number = status if status in _STATUSES else status // 100 * 100
        self._requests(method, endpoint, str(number)).inc()
        self._request_s(method, endpoint).observe(seconds, self._exemplar())
        self._rates.add(endpoint)
        if status < HTTPStatus.BAD_REQUEST and method == "POST" and endpoint != _UPLOADS:
            self._durations.append(seconds)

    def refused(self, code: str, tenant_class: str) -> None:
        """See Observer."""
        self._refusals(_code(code), tenant_class).inc()

    def upload(self, byte_count: int) -> None:
        """See Observer."""
        self._upload_bytes().observe(byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        """See Observer."""
        self._stage_s(stage if stage in STAGES else OTHER, self._engine).observe(seconds, self._exemplar())

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Observer."""
        engine, exemplar = self._known(result.engine), self._exemplar()
        model = self._models.get(engine, NO_MODEL)
        labels = (engine, model.version, task.kind.value, model.inference_engine)
        self._page_s(*labels).observe(seconds, exemplar)
        self._pages(*labels, _outcome(result)).inc()
        if result.error is not None:
            self._page_errors(engine, _code(result.error.code)).inc()
        for reason in result.review:
            self._to_review(engine, reason.value).inc()
        for name, spent_ms in result.timings_ms.items():
            stage = _STAGE_OF.get(name)
            if stage is not None:
                self._stage_s(stage, engine).observe(spent_ms / 1000, exemplar)
        if result.attempts and "cache" not in result.timings_ms:
            self._tried(result)

    def tokens(self, prompt: int, answer: int) -> None:
        """See Observer."""
        self._tokens(self._engine, "in").inc(prompt)
        self._tokens(self._engine, "out").inc(answer)

    def take_durations(self) -> tuple[float, ...]:
        """Durations in seconds of the last 20,000 successful requests since the last call.

        Failed and refused requests don't count, nor do requests without work: uploads, lookups and probes.
        """
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
        return WorkTotals(
            requests={key: count for key, count in requests.items() if count},
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
            self._qps(endpoint).set(per_s)
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith(_CREATED)]
            yield family

    def _exemplar(self) -> dict[str, str] | None:
        trace_id = self._trace_id()
        return None if trace_id is None else {"trace_id": trace_id}

    def _sums(self, sample_name: str, *labels: str) -> dict[str, float]:
        """Sums of samples over all other labels, by the values of these labels, joined by spaces."""
        sums: dict[str, float] = {}
        for family in self._registry.restricted_registry([sample_name]).collect():
            for sample in family.samples:
                key = " ".join(sample.labels[label] for label in labels)
                sums[key] = sums.get(key, 0.0) + sample.value
        return sums

    def _counts(self, sample_name: str, *labels: str) -> dict[str, int]:
        return {key: int(count) for key, count in self._sums(sample_name, *labels).items()}

    def _tried(self, result: PageResult) -> None:
        stopped = runaways_of(result.attempts)
        if stopped:
            self._runaways(self._engine).inc(stopped)
        for reason in retries_of(result.attempts):
            self._retries(self._engine, _code(reason)).inc()

    def _known(self, engine: str) -> str:
        return engine if engine in self._models else OTHER


# Series by their label values. They are kept because prometheus-client takes 1 µs to find one.


def _counter(registry: CollectorRegistry, name: str) -> Callable[..., Counter]:
    family = EVENTS[name]
    return cache(_in_memory(Counter(family.name, family.help, family.labels, registry=registry).labels))


def _gauge(registry: CollectorRegistry, name: str) -> Callable[..., Gauge]:
    family = EVENTS[name]
    return cache(_in_memory(Gauge(family.name, family.help, family.labels, registry=registry).labels))


def _histogram(registry: CollectorRegistry, name: str) -> Callable[..., Histogram]:
    family = EVENTS[name]
    histogram = _in_memory(Histogram)(
        family.name, family.help, family.labels, buckets=family.buckets, registry=registry
    )
    return cache(_in_memory(histogram.labels)) if family.labels else lambda: histogram


def _in_memory(make: Callable[P, T]) -> Callable[P, T]:
    """`make`, whose series count in memory even if PROMETHEUS_MULTIPROC_DIR is set for others, such as the program that
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
