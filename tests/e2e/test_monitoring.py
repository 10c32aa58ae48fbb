"""The real service, seen by a real Prometheus: every query finds data, and a real Alertmanager reports what
goes wrong.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest
from PIL import Image

from inkgate.telemetry.state_collector import CATALOG
from inkgate_client.telemetry.state import GPUS
from support.monitoring import metrics_in, panel_queries
from support.numbered_model import number_of, striped
from support.prometheus import JOB, AlertReceiver, Prometheus, alert_receiver, running_prometheus
from support.server import Server, running_server
from support.stub_upstream import Reply, Request, StubUpstream, error_reply, image_of, running_stub
from support.waiting import until

pytestmark = pytest.mark.real

MODEL = "PaddleOCR-VL-1.6-0.9B"
VLLM_METRICS = (Path(__file__).parents[1] / "data" / "vllm-0.32-metrics.txt").read_bytes()
SAMPLE = Path(__file__).parents[2] / "examples" / "report.png"
KNOWN_QUERIES = (
    'rate(http_requests_total{endpoint="/infer"}[1m])',
    "gpu_utilization_percent",
    "gpu_memory_used_mb",
    "avg by (gpu_id) (gpu_utilization_percent)",
    "qps",
    'qps{endpoint="/ocr"}',
    'up{job="inkgate"}',
)
"""As dashboards of other services ask them."""
NOT_HERE = {family.name for family in CATALOG.values() if family.section == GPUS} | {"inkgate_replica_render_seconds"}
"""Metrics of parts that aren't here: cards, and what waits within the model server, which a stub doesn't have."""
FIRST = 2
"""The number of the first page that is sent to the model server."""
NUMBERS = count(1)
PICTURES = count(100)


@dataclass(frozen=True)
class MonitoredServices:
    """What Prometheus sees: `reads`, the embedded engine; `asks`, before a model server; `not_here`, made metrics."""

    prometheus: Prometheus
    reads: str
    asks: str
    not_here: str


def post(server: Server, file: bytes, path: str = "/ocr") -> httpx.Response:
    return httpx.post(f"{server.url}{path}", files={"file": file}, timeout=60, trust_env=False)


def instance(url: str) -> str:
    return url.removeprefix("http://").removesuffix("/metrics")


def made() -> str:
    """The metrics of NOT_HERE, two of each."""
    values = {"reason": "thermal", "name": "H200"}
    lines = []
    for family in (CATALOG[name] for name in sorted(NOT_HERE)):
        lines.append(f"# TYPE {family.name} gauge")
        for number in ("0", "1"):
            labels = ",".join(f'{name}="{values.get(name, number)}"' for name in family.labels)
            lines.append(f"{family.name}{{{labels}}} 1")
    return "\n".join([*lines, ""])


def gateway(model_server: StubUpstream, **environment: str) -> Iterator[Server]:
    model_server.metrics = VLLM_METRICS
    flags = ("--engine", "paddleocr-vl", "--vllm-url", model_server.url)
    with running_server(*flags, environment=environment) as server:
        yield server


def answers(request: Request) -> Reply:
    """The model repeats itself on the first page; it reads all others, and the gateway's probe."""
    if "image_url" in str(request) and number_of(image_of(request)) == FIRST and next(NUMBERS) <= 1:
        return Reply((" again",), endless=True)
    return Reply(("Invoice", " number"))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MonitoredServices]:
    limits = {"INKGATE_RATE_LIMIT__PER_KEY": "8/hour"}
    with (
        alert_receiver(made()) as receiver,
        running_server(environment=limits) as reads,
        running_stub(answers, (MODEL,)) as model_server,
    ):
        for asks in gateway(model_server):
            targets = [instance(reads.metrics_url), instance(asks.metrics_url), instance(receiver.url)]
            with running_prometheus(tmp_path_factory.mktemp("watched"), targets, receiver.url) as prometheus:
                until(lambda: len(prometheus.query("up == 1")) == 3, "three targets")
                # Twice: a counter that appears has no rate before it grows.
                for number in (1, 2):
                    work(reads, asks, number)
                    seen(prometheus, reads, number)
                for number in (1, 2):
                    assert post(reads, part(1)).status_code == 429
                    seen(prometheus, reads, number, status=429)
                yield MonitoredServices(prometheus, *targets)


def work(reads: Server, asks: Server, number: int) -> None:
    """A page, the same again, one that is damaged, and the first by another name; and pages for the model server."""
    page = part(number)
    assert [post(reads, file).status_code for file in (page, page, page[: len(page) // 2])] == [200, 200, 422]
    assert post(reads, page, "/infer").status_code == 200
    assert [post(asks, striped(2 * number + more)).status_code for more in (0, 1)] == [200, 200]


def seen(prometheus: Prometheus, reads: Server, answers: int, status: int = 422) -> None:
    """Returns once this many responses have been scraped."""
    labels = f'instance="{instance(reads.metrics_url)}", status="{status}"'
    prometheus.wait_for(f"http_requests_total{{{labels}}} == {answers}")


def part(number: int) -> bytes:
    """A PNG with some lines of the sample; others for each number."""
    file = io.BytesIO()
    with Image.open(SAMPLE) as whole:
        top = whole.height // 6 * number
        whole.crop((0, top, whole.width, top + whole.height // 6)).save(file, "PNG")
    return file.getvalue()


def test_every_query_of_the_dashboards_finds_data(watched: MonitoredServices) -> None:
    nowhere, only_made = [], set()
    for query in panel_queries():
        services = f"{watched.reads}|{watched.asks}"
        if watched.prometheus.numbers(query.with_values(services)):
            continue
        only_made |= metrics_in(query.expr)
        if not watched.prometheus.numbers(query.with_values(watched.not_here)):
            nowhere.append(query.where)
    assert not nowhere, nowhere
    assert only_made <= NOT_HERE


def test_queries_of_other_dashboards_find_data(watched: MonitoredServices) -> None:
    assert not [query for query in KNOWN_QUERIES if not watched.prometheus.numbers(query)]


def test_what_it_counted_is_what_was_sent(watched: MonitoredServices) -> None:
    ask = watched.prometheus.numbers
    here = f'job="{JOB}", instance="{watched.reads}", endpoint="/ocr"'
    assert ask(f'http_requests_total{{{here}, status="200"}}') == [4.0]
    assert ask(f'http_requests_total{{{here}, status="422"}}') == [2.0]
    assert ask(f'http_requests_total{{{here}, status="429"}}') == [2.0]
    assert ask(f'inkgate_cache_results_total{{instance="{watched.reads}", source="kept"}}') == [4.0]
    assert ask(f'inkgate_runaway_stops_total{{instance="{watched.asks}"}}') == [1.0]


@dataclass
class SwitchableServer:
    """A model server that does as it is set."""

    reply: Reply

    def __call__(self, request: Request) -> Reply:
        return self.reply


@pytest.fixture
def receiver() -> Iterator[AlertReceiver]:
    with alert_receiver() as started:
        yield started


def test_a_full_service_a_failing_engine_and_a_dead_one_raise_alerts(receiver: AlertReceiver, tmp_path: Path) -> None:
    model = SwitchableServer(Reply(("slow",), pause_s=1.0))
    # A page as a whole: elements that fail alone fail a page, not the engine.
    one_at_a_time = {
        "INKGATE_ENGINE__VLLM__READING": "page",
        "INKGATE_ENGINE__VLLM__CONCURRENT_PAGES": "1",
        "INKGATE_ENGINE__VLLM__RECOVER_S": "0.1",
        "INKGATE_ENGINE__VLLM__FALLBACK": "false",
    }
    with running_stub(model, (MODEL,)) as model_server:
        for server in gateway(model_server, **one_at_a_time):
            target = instance(server.metrics_url)
            with running_prometheus(tmp_path, [target], receiver.url) as prometheus:
                prometheus.wait_for("inkgate_ready == 1")
                with _asking(server) as statuses:
                    check_alert(receiver, "InkgateSaturated", target, queue="pages")
                assert set(statuses) == {200}

                model.reply = error_reply(500, "out of order")
                for _ in range(20):
                    if post(server, striped(next(PICTURES))).json().get("code") == "engine_breaker_open":
                        break
                check_alert(receiver, "InkgateBreakerOpen", target, name="paddleocr-vl-1.6")

                server.stop()
                check_alert(receiver, "InkgateTargetDown", target)


@contextmanager
def _asking(server: Server, clients: int = 3) -> Iterator[list[int]]:
    """Runs this many clients, each of which sends its next request after a response. Yields the statuses of all."""
    statuses: list[int] = []
    enough = threading.Event()

    def client() -> None:
        while not enough.is_set():
            statuses.append(post(server, striped(next(PICTURES))).status_code)

    with ThreadPoolExecutor(clients) as threads:
        asking = [threads.submit(client) for _ in range(clients)]
        try:
            yield statuses
        finally:
            enough.set()
    for each in asking:
        each.result()


def check_alert(receiver: AlertReceiver, name: str, target: str, /, **labels: str) -> None:
    until(lambda: bool(receiver.firing(name)), name)
    alert = receiver.firing(name)[0]
    assert alert["labels"] | {"instance": target, "job": JOB} | labels == alert["labels"]
    assert target in alert["annotations"]["summary"] + alert["annotations"]["description"]
    assert "/operations/runbooks/#" in alert["annotations"]["runbook_url"]
