"""Counters of events: requests, stages, pages, tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from inkgate.errors import CODES, ENGINE_CODES
from inkgate.telemetry.catalog import EVENTS, STAGES
from inkgate.telemetry.observer import retries_of, runaways_of
from inkgate.telemetry.rates import Rates
from inkgate.telemetry.series import Counts, Distribution
from inkgate.telemetry.state import WorkTotals
from inkgate.telemetry.tracing import sampled_trace_id
from inkgate.types import PageResult, Task

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
    "arrange": "assemble",
    "parse": "assemble",
    "cache": "cache",
}
"""The stage for each time in `PageResult.timings_ms`. `first_token` and `generate` are part of `engine`, which is
measured around the engine."""
_KEPT_DURATIONS = 20_000
_STATUSES = frozenset({*HTTPStatus, 499})


@dataclass(frozen=True, slots=True)
class ModelName:
    """Labels for pages of an engine: its model and its inference engine."""

    version: str
    inference_engine: str


NO_MODEL = ModelName("none", "none")


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
        self._requests = Counts(EVENTS["http_requests_total"])
        self._request_s = Distribution(EVENTS["inkgate_http_request_duration_seconds"])
        self._refusals = Counts(EVENTS["inkgate_refusals_total"])
        self._uploads = Distribution(EVENTS["inkgate_upload_bytes"])
        self._stage_s = Distribution(EVENTS["inkgate_stage_duration_seconds"])
        self._page_s = Distribution(EVENTS["inkgate_page_duration_seconds"])
        self._pages = Counts(EVENTS["inkgate_pages_total"])
        self._page_errors = Counts(EVENTS["inkgate_page_errors_total"])
        self._tokens = Counts(EVENTS["inkgate_tokens_total"])
        self._runaways = Counts(EVENTS["inkgate_runaway_stops_total"])
        self._retries = Counts(EVENTS["inkgate_retries_total"])

    def reads_with(self, engine: str, models: Mapping[str, ModelName]) -> None:
        """Sets the engine of stages reported without a page, and the models of known engines; pages of other engines
        count as one.
        """
        self._engine = engine
        self._models = models

    def serves(self, endpoint: str) -> None:
        """See Observer. Creates the series before the first request, so that rates include the first request."""
        self._rates.add(endpoint, 0)
        self._requests.add(("POST", endpoint, "200"), 0)

    def request(self, method: str, endpoint: str, status: int, seconds: float) -> None:
        """See Observer."""
        number = status if status in _STATUSES else status // 100 * 100
        self._requests.add((method, endpoint, str(number)))
        self._request_s.add((method, endpoint), seconds, self._trace_id())
        self._rates.add(endpoint)
        if status < HTTPStatus.BAD_REQUEST and method == "POST" and endpoint != _UPLOADS:
            self._durations.append(seconds)

    def refused(self, code: str, tenant_class: str) -> None:
        """See Observer."""
        self._refusals.add((_code(code), tenant_class))

    def upload(self, byte_count: int) -> None:
        """See Observer."""
        self._uploads.add((), byte_count)

    def stage(self, stage: str, seconds: float) -> None:
        """See Observer."""
        self._stage_s.add((stage if stage in STAGES else OTHER, self._engine), seconds, self._trace_id())

    def page(self, result: PageResult, task: Task, seconds: float) -> None:
        """See Observer."""
        engine, trace_id = self._known(result.engine), self._trace_id()
        model = self._models.get(engine, NO_MODEL)
        labels = (engine, model.version, task.kind.value, model.inference_engine)
        self._page_s.add(labels, seconds, trace_id)
        self._pages.add((*labels, _outcome(result)))
        if result.error is not None:
            self._page_errors.add((engine, _code(result.error.code)))
        for name, spent_ms in result.timings_ms.items():
            stage = _STAGE_OF.get(name)
            if stage is not None:
                self._stage_s.add((stage, engine), spent_ms / 1000, trace_id)
        if result.attempts and "cache" not in result.timings_ms:
            self._tried(result)

    def tokens(self, prompt: int, answer: int) -> None:
        """See Observer."""
        self._tokens.add((self._engine, "in"), prompt)
        self._tokens.add((self._engine, "out"), answer)

    def take_durations(self) -> tuple[float, ...]:
        """Durations in seconds of the last 20,000 successful requests since the last call.

        Failed and refused requests don't count, nor do requests without work: uploads, lookups and probes.
        """
        durations = tuple(self._durations)
        self._durations.clear()
        return durations

    def work(self) -> WorkTotals:
        """All counts since the start."""
        pages, tokens = self._pages.by("outcome"), self._tokens.by("direction")
        requests = self._requests.by("method", "endpoint", "status")
        return WorkTotals(
            requests={key: count for key, count in requests.items() if count},
            pages={name: pages[name] for name in ("ok", "degraded") if name in pages} | self._page_errors.by("code"),
            stage_s=self._stage_s.sums_by("stage"),
            stage_count=self._stage_s.counts_by("stage"),
            tokens_in=tokens.get("in", 0),
            tokens_out=tokens.get("out", 0),
            runaways=sum(self._runaways.by().values()),
            retries=self._retries.by("reason"),
        )

    def collect(self) -> Iterator[Metric]:
        """All metric families."""
        for counts in (self._requests, self._refusals, self._pages, self._page_errors, self._tokens):
            yield counts.family()
        for distribution in (self._request_s, self._uploads, self._stage_s, self._page_s):
            yield distribution.family()
        yield self._runaways.family()
        yield self._retries.family()
        qps = EVENTS["qps"]
        rates = GaugeMetricFamily(qps.name, qps.help, labels=qps.labels)
        for endpoint, per_s in self._rates.per_s().items():
            rates.add_metric([endpoint], per_s)
        yield rates

    def _tried(self, result: PageResult) -> None:
        stopped = runaways_of(result.attempts)
        if stopped:
            self._runaways.add((self._engine,), stopped)
        for reason in retries_of(result.attempts):
            self._retries.add((self._engine, _code(reason)))

    def _known(self, engine: str) -> str:
        return engine if engine in self._models else OTHER


def _outcome(result: PageResult) -> str:
    if result.error is not None:
        return "failed" if result.error.code in ENGINE_CODES else "rejected"
    return "degraded" if result.degraded else "ok"


def _code(code: str) -> str:
    return code if code in CODES else OTHER
