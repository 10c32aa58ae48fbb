"""An observatory with a given state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from inkgate.service.readiness import ServiceWarning
from inkgate.serving.admission import AdmissionLimiter
from inkgate_client.telemetry.state import State
from support.states import embedded_state


class FakeObservatory:
    """`says` may be replaced. Readiness asks the registered checks."""

    def __init__(self) -> None:
        self.says = embedded_state()
        self._reasons: list[Callable[[], Sequence[str]]] = []

    def state(self, *, history: bool = True) -> State:
        reasons = tuple(reason for ask in self._reasons for reason in ask())
        said = replace(self.says, ready=not reasons, reasons=reasons)
        return said if history else replace(said, history=())

    def warnings(self) -> list[ServiceWarning]:
        return []

    def watch_results(self, results: AdmissionLimiter) -> None:
        self.results = results

    def add_reasons(self, reasons: Callable[[], Sequence[str]]) -> None:
        self._reasons.append(reasons)
