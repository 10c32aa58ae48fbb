"""A gateway under continuous load, into which faults are injected one after the other.

Each fault is held until its effect was seen, and then removed. After that the gateway must be as before: it responds
correctly within a number of requests, accepts as many at once as before, holds no additional slot, file or memory, and
is ready.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from support.load import RIGHT, ContinuousLoad, ask_at_once, new_pages
from support.server import Server, running_server
from support.waiting import AT_MOST_S, until

RATE = 30.0
SLOTS = 24
"""Documents in flight. A leaked slot shows when this many are requested at once."""
AT_ONCE = SLOTS // 2
"""Concurrent requests that the gateway accepts without refusing any, however slow the machine is."""
OVERLOAD = 2 * SLOTS
"""Concurrent requests of which the gateway must refuse some."""
WARM = 100
"""Requests before memory is measured."""
RECOVERED = 20
"""After this many right responses in a row the gateway has recovered."""
RECOVERS_WITHIN = 1000
"""Requests after the fault. A breaker that keeps reopening refuses several hundred."""
MORE_MB = 60.0
MORE_FILES = 3
SETTINGS = MappingProxyType(
    {
        "INKGATE_LIMITS__MAX_IN_FLIGHT": str(SLOTS),
        "INKGATE_SERVING__ADMISSION__REMEMBER_S": "0.1",
        "INKGATE_SERVING__ADMISSION__BODY_PATIENCE_S": "1",
        "INKGATE_ENGINE__NAME": "paddleocr-vl",
        "INKGATE_ENGINE__VLLM__READING": "page",
        "INKGATE_ENGINE__VLLM__JPEG_QUALITY": "0",
        "INKGATE_ENGINE__VLLM__RECOVER_S": "2",
        "INKGATE_ENGINE__VLLM__FALLBACK": "false",
        "INKGATE_ENGINE__VLLM__STALLED_S": "4",
        "INKGATE_SERVER__HEAD_TIMEOUT_S": "4",
        "INKGATE_SERVER__MAX_CONNECTIONS": "768",
        "INKGATE_SERVER__SEND_TIMEOUT_S": "4",
    }
)


@dataclass(frozen=True)
class Footprint:
    """Resources of a process: open files including sockets, and resident memory."""

    files: int
    memory_mb: float

    @classmethod
    def of(cls, server: Server) -> Footprint:
        process = Path(f"/proc/{server.process.pid}")
        status = (process / "status").read_text()
        return cls(len(list((process / "fd").iterdir())), int(status.split("VmRSS:")[1].split()[0]) / 1024)


class FaultWindow:
    """Observations of the service since a fault began."""

    def __init__(self, server: Server, load: ContinuousLoad) -> None:
        self.server = server
        self._load = load
        self._first_answer = len(load.outcomes)
        self._first_wrong = len(load.wrong)
        self._log_offset = server.log.stat().st_size

    @property
    def outcomes(self) -> Counter[str]:
        """Outcomes of the load's requests so far."""
        return Counter(self._load.outcomes[self._first_answer :])

    @property
    def wrong(self) -> list[str]:
        return self._load.wrong[self._first_wrong :]

    def pause_load(self) -> None:
        """Returns once all requests are answered; no more are sent until `resume_load`."""
        self._load.pause()

    def resume_load(self) -> None:
        self._load.resume()

    def until_answered(self, *outcomes: str, times: int = 1) -> None:
        """Returns once this many more requests had one of these outcomes."""
        before = self._answered(outcomes)
        until(
            lambda: self._answered(outcomes) - before >= times,
            lambda: f"{times} more of {outcomes}, answered: {self.outcomes}",
        )

    def _answered(self, outcomes: Iterable[str]) -> int:
        answered = self.outcomes
        return sum(answered[outcome] for outcome in outcomes)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The log entries of this event."""
        with self.server.log.open("rb") as log:
            log.seek(self._log_offset)
            lines = [json.loads(line) for line in log if line.startswith(b"{") and line.endswith(b"}\n")]
        return [line for line in lines if line.get("event") == event]

    def until_logged(self, event: str, times: int = 1) -> None:
        until(lambda: len(self.logged(event)) >= times, lambda: f"{event} {times} times, in the log")

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels."""
        text = httpx.get(self.server.metrics_url, trust_env=False, timeout=AT_MOST_S).text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        return sum(each.value for each in samples if each.name == name and labels.items() <= each.labels.items())

    def until_metric(self, name: str, holds: Callable[[float], bool], **labels: str) -> None:
        until(lambda: holds(self.metric(name, **labels)), lambda: f"{name}{labels}: {self.metric(name, **labels)}")


class ServiceUnderLoad:
    """A warmed-up gateway and the load on it."""

    def __init__(self, server: Server, load: ContinuousLoad, more_files: int) -> None:
        """`more_files`: number of additional files that may be open after a fault."""
        self.server = server
        self._load = load
        self._more_files = more_files
        window = FaultWindow(server, load)
        window.until_answered(RIGHT, times=WARM)
        self._quiesce()
        self._before = Footprint.of(server)

    @contextmanager
    def fault(self, *may_answer: str, at_once: int = AT_ONCE) -> Iterator[FaultWindow]:
        """Injects a fault for the block. `may_answer`: error codes that requests may get."""
        assert self.server.process.poll() is None, "the gateway ended in an earlier fault"
        self._load.resume()
        window = FaultWindow(self.server, self._load)
        try:
            window.until_answered(RIGHT)
            self._load.at_once = at_once
            yield window
            self._load.at_once = AT_ONCE
            self._until_recovered(window)
        finally:
            self._load.at_once = AT_ONCE
            self._load.pause()
        assert not window.wrong, window.wrong[:5]
        assert set(window.outcomes) <= {RIGHT, *may_answer}, window.outcomes
        self._quiesce()
        self._check_footprint()
        ready = httpx.get(f"{self.server.url}/readyz", trust_env=False, timeout=AT_MOST_S)
        assert ready.status_code == 200, ready.text

    def _until_recovered(self, window: FaultWindow) -> None:
        outcomes = self._load.outcomes
        first = len(outcomes)

        def recovered() -> bool:
            assert len(outcomes) - first <= RECOVERS_WITHIN, window.outcomes
            return len(outcomes) - first >= RECOVERED and set(outcomes[-RECOVERED:]) == {RIGHT}

        until(recovered, lambda: f"{RECOVERED} right answers in a row: {outcomes[first:]}")

    def _quiesce(self) -> None:
        """Without load it must read as many documents at once as it has slots, and then hold none."""
        self._load.pause()
        until(lambda: ask_at_once(self.server.url, new_pages(SLOTS)) == {RIGHT: SLOTS}, f"{SLOTS} right answers")
        held = (0, 0, 0)
        until(lambda: self._documents() == held, lambda: f"documents, tenants and bytes held: {self._documents()}")

    def _documents(self) -> tuple[int, int, int]:
        answer = httpx.get(f"{self.server.url}/state?history=false", trust_env=False, timeout=AT_MOST_S)
        admission = answer.json()["admission"]
        return admission["documents"], admission["tenants"], admission["body_bytes"]

    def _check_footprint(self) -> None:
        most = Footprint(self._before.files + self._more_files, self._before.memory_mb + MORE_MB)

        def within() -> bool:
            now = Footprint.of(self.server)
            return now.files <= most.files and now.memory_mb <= most.memory_mb

        until(within, lambda: f"{most} at most, but: {Footprint.of(self.server)}")


@contextmanager
def service_under_load(
    vllm_url: str, environment: Mapping[str, str], log_folder: Path | None = None, more_files: int = MORE_FILES
) -> Iterator[ServiceUnderLoad]:
    """A gateway in front of a model server. At the end it must stop with nothing in flight."""
    with running_server(
        "--vllm-url", vllm_url, environment={**SETTINGS, **environment}, log_folder=log_folder
    ) as server:
        with ContinuousLoad(server.url, RATE, AT_ONCE) as load:
            window = FaultWindow(server, load)
            yield ServiceUnderLoad(server, load, more_files)
        assert server.stop() == 0
        (draining,) = window.logged("draining")
        assert draining["in_flight"] == 0
