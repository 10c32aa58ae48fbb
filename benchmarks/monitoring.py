"""Checks that the queries of dashboards and alerts find data: two minutes of mixed load with a real Prometheus.

    PYTHONPATH=tests:tests/models python -m benchmarks.monitoring [--vllm] [--screenshots FOLDER] [--json FILE]

The service runs in its own process with the embedded engine; `--vllm` adds a second service with a real vLLM on the
CPU, also under load and scraped. Prometheus and Alertmanager use the shipped files of deploy/monitoring, with the same
intervals and other addresses. A query without data must belong to a missing part or an event that did not happen, which
is printed; otherwise it is a fault, and the exit status is 1. For alerts, prints which fire, and checks that each of
their series exists. Programs and files are those of the tests.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
from PIL import Image

from inkgate.telemetry.state import GPUS, MODEL_SERVERS
from inkgate.telemetry.state_collector import CATALOG
from support import browser
from support.monitoring import Json, metrics_in, panel_queries, rules
from support.pdf_writer import paragraph, text_at, text_pdf
from support.prometheus import Prometheus, alert_receiver, running_prometheus
from support.real_vllm import MODEL, PYTHON, SETTINGS, VARIABLES, rendered_lines
from support.server import Server, running_server
from support.waiting import until

SAMPLE = Path(__file__).parents[1] / "examples" / "report.png"
_GPUS, _REPLICAS = (
    {family.name for family in CATALOG.values() if family.section == title} for title in (GPUS, MODEL_SERVERS)
)
_OF_MODEL_SERVERS = _REPLICAS | {"inkgate_tokens_total", "inkgate_breaker_open"}
_MISHAPS = {"inkgate_runaway_stops_total", "inkgate_retries_total"}
"""Counters that appear with their first event; tests/e2e/test_monitoring.py causes these events."""
_RECORDED = re.compile(r"(?:job_instance|job|inkgate):[\w:]+")
_BURST_EVERY_S, _BURST_S = 40.0, 6.0
_STEADY, _BURST = 2, 20
START_S = 300.0
PICTURES_S = 14.0
"""Screenshots begin this long before the end."""


@dataclass(frozen=True)
class QueryResult:
    """Result of a query. `lacking`: why it can't find data here; `missing`: series of an alert without data."""

    query: str
    series: int
    lacking: str
    missing: tuple[str, ...] | None = None

    @property
    def there(self) -> bool:
        return self.series > 0 if self.missing is None else not self.missing


@dataclass(frozen=True)
class Request:
    """A request of one client."""

    path: str
    files: dict[str, tuple[str, bytes]] | None = None
    body: Json | None = None


@dataclass
class Load:
    """Clients that send until `over`. `answers`: counts by status."""

    server: Server
    draw: Callable[[random.Random], Request]
    over: threading.Event
    answers: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        """Two clients at all times, and twenty for six of every forty seconds: more than are admitted."""
        began = time.monotonic()
        threads = [threading.Thread(target=self._client, args=(number, began)) for number in range(_BURST)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int, began: float) -> None:
        drawn = random.Random(number)
        with httpx.Client(base_url=self.server.url, timeout=120, trust_env=False) as client:
            while not self.over.is_set():
                now_s = time.monotonic() - began
                if number >= _STEADY and now_s % _BURST_EVERY_S < _BURST_EVERY_S - _BURST_S:
                    time.sleep(0.2)
                    continue
                request = self.draw(drawn)
                status = client.post(request.path, files=request.files, json=request.body).status_code
                self.answers[status] += 1
                time.sleep(drawn.expovariate(2.0))


def pages(drawn: random.Random) -> Request:
    """Parts of a report, some repeatedly, PDFs of three pages, and damaged files."""
    kind = drawn.choices(["new", "again", "pdf", "parse", "damaged"], weights=[8, 4, 2, 2, 1])[0]
    if kind == "pdf":
        texts = [text_at(30, 380, f"Chapter {drawn.random():.6f}", 24) + paragraph() for _ in range(3)]
        return Request("/ocr?pdf_text=never", {"file": ("chapters.pdf", text_pdf(*texts))})
    part = _part(drawn.randrange(3) * 100 if kind == "again" else drawn.randrange(1200))
    if kind == "damaged":
        return Request("/ocr", {"file": ("part.png", part[: len(part) // 2])})
    return Request(
        "/ocr?task=parse" if kind == "parse" else drawn.choice(["/ocr", "/infer"]), {"file": ("a.png", part)}
    )


def _part(top: int) -> bytes:
    """Some lines of the sample, from pixel row `top`."""
    file = io.BytesIO()
    with Image.open(SAMPLE) as whole:
        top = top % (whole.height * 4 // 5)
        whole.crop((0, top, whole.width, top + whole.height // 6)).save(file, "PNG")
    return file.getvalue()


def lines() -> Callable[[random.Random], Request]:
    """Lines that the tests' tiny model can read, each many times."""
    rendered = rendered_lines(60)
    fresh = itertools.cycle(rendered)
    lock = threading.Lock()

    def draw(drawn: random.Random) -> Request:
        with lock:
            line = next(fresh)
        if drawn.random() < 0.1:
            return Request("/ocr", {"file": ("line.png", line.png[: len(line.png) // 2])})
        return Request("/ocr", {"file": ("line.png", line.png)})

    return draw


def lacking(expr: str, *, vllm: bool) -> str:
    """Why a query can't find data here; empty if it should."""
    names = metrics_in(expr)
    if names & _GPUS:
        return "no GPU"
    if not vllm and names & _OF_MODEL_SERVERS:
        return "no model server"
    return "never happened" if names & _MISHAPS else ""


def ask_panels(prometheus: Prometheus, *, vllm: bool) -> list[QueryResult]:
    """Runs each query of each panel."""
    return [
        QueryResult(query.where, len(prometheus.numbers(query.with_values())), lacking(query.expr, vllm=vllm))
        for query in panel_queries()
    ]


def ask_alerts(prometheus: Prometheus, *, vllm: bool) -> list[QueryResult]:
    """Runs each alert's query: its data fires or soon will; its series must exist."""
    found = []
    for rule in rules("alert"):
        names = metrics_in(rule["expr"]) | set(_RECORDED.findall(rule["expr"]))
        missing = [name for name in sorted(names) if not prometheus.query(f"{{__name__=~'{name}(_bucket)?'}}")]
        fires = len(prometheus.query(rule["expr"]))
        found.append(QueryResult(rule["alert"], fires, lacking(rule["expr"], vllm=vllm), tuple(missing)))
    return found


def shoot(server: Server, folder: Path) -> None:
    """Takes screenshots of the Live tab, light and dark."""
    browser.FOLDER = str(folder)
    with browser.chromium() as chromium:
        for name, dark in (("live", False), ("live-dark", True)):
            with browser.visit(chromium, server, dark=dark) as page:
                page.click("#ink-tab-live")
                page.wait_for_selector(".ink-chart")
                page.wait_for_timeout(3000)
                browser.shoot(page, name)


@contextmanager
def service(**environment: str) -> Iterator[Server]:
    """A service with its web page that admits few documents, so that some are refused."""
    usual = {"INKGATE_UI__ENABLED": "true", "INKGATE_LIMITS__MAX_IN_FLIGHT": "12"}
    with running_server(environment=usual | environment, start_s=START_S) as server:
        until(lambda: httpx.get(f"{server.url}/ui/", trust_env=False).status_code == 200, "the web page", 60)
        yield server


def with_vllm() -> dict[str, str]:
    """The environment of a service that starts a vLLM."""
    managed = {"PYTHON": str(PYTHON), "MODEL": str(MODEL), "ENVIRONMENT": json.dumps(VARIABLES)}
    return SETTINGS | {f"INKGATE_ENGINE__VLLM__MANAGED__{name}": value for name, value in managed.items()}


def show(title: str, found: Sequence[QueryResult]) -> list[str]:
    """Prints a line for each query. Returns the names of those without data that should have some."""
    print(f"\n{title}")
    for each in found:
        state = "ok" if each.there else each.lacking or "NO DATA"
        print(f"  {state:15} {each.series:3}  {each.query}{'  ' + ', '.join(each.missing) if each.missing else ''}")
    faults = [each.query for each in found if not each.there and not each.lacking]
    print(f"  {sum(each.there for each in found)} of {len(found)} found data, {len(faults)} should have and did not")
    return faults


@contextmanager
def running(loads: Sequence[Load], over: threading.Event) -> Iterator[None]:
    """Runs the loads inside the block."""
    threads = [threading.Thread(target=load.run) for load in loads]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", action="store_true", help="add a service with a real vLLM on the CPU")
    parser.add_argument("--seconds", type=float, default=120.0, help="duration of the load")
    parser.add_argument("--screenshots", type=Path, help="folder for screenshots of the Live tab under load")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        receiver = stack.enter_context(alert_receiver())
        # vLLM takes a minute to start: the history of the other service should begin with the load.
        second = [stack.enter_context(service(**with_vllm()))] if chosen.vllm else []
        over = threading.Event()
        loads = [Load(stack.enter_context(service()), pages, over)]
        loads += [Load(server, lines(), over) for server in second]
        targets = [load.server.metrics_url.split("/")[2] for load in loads]
        prometheus = stack.enter_context(running_prometheus(folder, targets, receiver.url, hurried=False))
        ends_at = time.monotonic() + chosen.seconds
        with running(loads, over):
            if chosen.screenshots:
                time.sleep(max(0.0, chosen.seconds - PICTURES_S))
                shoot(loads[0].server, chosen.screenshots)
            time.sleep(max(0.0, ends_at - time.monotonic()))
            # While under load: an idle server has no latencies.
            panels, alerts = ask_panels(prometheus, vllm=chosen.vllm), ask_alerts(prometheus, vllm=chosen.vllm)
        scrapes = prometheus.numbers('count_over_time(up{job="inkgate"}[10m])')
        firing = sorted({alert["labels"]["alertname"] for alert in receiver.alerts})
    answers = [dict(sorted(load.answers.items())) for load in loads]
    print(f"answers by status: {answers}; scrapes: {scrapes}; alerts firing: {', '.join(firing) or 'none'}")
    faults = show("dashboards", panels) + show("alerts", alerts)
    if chosen.json:
        found = {"panels": [asdict(each) for each in panels], "alerts": [asdict(each) for each in alerts]}
        result = {"answers": answers, "scrapes": scrapes, "firing": firing, **found}
        chosen.json.write_text(json.dumps(result, indent=1), encoding="utf-8")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
