"""An observatory that says of an idle service what it was told to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from inkgate.telemetry.state import Build, House, Point, Process, Queue, State, Work

BUILD = Build("1.0", "fake", "a model", "nothing", "3.13.1", "Linux x86_64", cores=2, memory_bytes=8 << 30)
IDLE = State(
    at=1000.0,
    started_at=900.0,
    build=BUILD,
    ready=True,
    reasons=(),
    house=House(0, 64, 0, 1 << 30, 0),
    queues=(Queue("pages", 2, 2, 0, {"interactive": 0, "normal": 0, "batch": 0}, 0.0, 0.0),),
    work=Work(),
    processes=(Process("gateway", 1, 1 << 28, 2.5),),
)
POINT = Point(1000.0, 5.0, 0.0, 0.0, 0.0, 0.0, None, None, documents=0, in_flight=0, limit=2, waiting=0)


class FakeObservatory:
    """`says`: may be replaced."""

    def __init__(self) -> None:
        self.says = IDLE
        self._reasons: list[Callable[[], Sequence[str]]] = []

    def state(self, *, history: bool = True) -> State:
        reasons = tuple(reason for ask in self._reasons for reason in ask())
        return replace(self.says, ready=not reasons, reasons=reasons, history=(POINT,) if history else ())

    def ask_also(self, reasons: Callable[[], Sequence[str]]) -> None:
        self._reasons.append(reasons)
