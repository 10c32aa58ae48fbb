"""How busy the processors are: of the machine's times, a container's quota, and this machine itself."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest

from inkgate.telemetry.processes import Processors, quota, stalled_s


class Times(NamedTuple):
    """Of one processor, in seconds, as psutil has them."""

    user: float = 0.0
    system: float = 0.0
    idle: float = 0.0
    iowait: float = 0.0
    steal: float = 0.0
    guest: float = 0.0


@dataclass
class Machine:
    """Four processors, of which `usable` are ours, and their container."""

    cgroup: Path
    usable: set[int] = field(default_factory=lambda: {0, 1, 2, 3})
    times: list[Times] = field(default_factory=lambda: [Times()] * 4)
    now: float = 0.0
    failing: bool = False

    def watched(self) -> Processors:
        return Processors(self.told, lambda: self.usable, self.cgroup, lambda: self.now)

    def told(self) -> list[Times]:
        if self.failing:
            raise OSError(errno.EMFILE, "too many open files")
        return self.times

    def used(self, microseconds: int, cpu_max: str) -> None:
        (self.cgroup / "cpu.stat").write_text(f"usage_usec {microseconds}\nuser_usec 1\n")
        (self.cgroup / "cpu.max").write_text(cpu_max)


def test_what_is_used_counts_whoever_used_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    processors = machine.watched()
    assert processors.busy == 0
    machine.now = 1.0
    half = Times(user=0.2, system=0.1, idle=0.3, iowait=0.2, steal=0.2, guest=0.2)
    machine.times = [Times(idle=1), Times(user=1), half, half]
    processors.look()
    assert processors.busy == pytest.approx(0.5)
    processors.look()  # no time went by
    assert processors.busy == 0


def test_only_our_processors_count(tmp_path: Path) -> None:
    machine = Machine(tmp_path, usable={1, 2})
    processors = machine.watched()
    machine.times = [Times(idle=1), Times(user=1), Times(user=0.5, idle=0.5), Times(idle=1)]
    processors.look()
    assert processors.busy == pytest.approx(0.75)


def test_numbers_that_the_system_does_not_tell_of_are_left_out(tmp_path: Path) -> None:
    machine = Machine(tmp_path, usable={9})
    processors = machine.watched()
    machine.times = [Times(user=1)] * 4
    processors.look()
    assert processors.busy == 1


def test_a_container_is_full_where_its_quota_is_used_up(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.used(1_000_000, "150000 100000\n")
    processors = machine.watched()
    machine.now = 2.0
    machine.times = [Times(user=1, idle=1), Times(idle=2), Times(idle=2), Times(user=1.7, idle=0.3)]
    machine.used(3_700_000, "150000 100000\n")
    processors.look()
    assert processors.busy == pytest.approx(2.7 / 3)
    machine.used(3_700_000, "max 100000\n")
    assert quota(tmp_path) is None
    assert quota(tmp_path / "none") is None


def test_what_is_known_stays_while_nothing_can_be_read(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    processors = machine.watched()
    machine.times = [Times(user=1)] * 4
    processors.look()
    machine.failing = True
    processors.look()
    assert processors.busy == 1
    machine.failing, machine.times = False, [Times(user=1, idle=1)] * 4
    processors.look()
    assert processors.busy == 0


def test_this_machine_is_busy_while_something_computes() -> None:
    processors, over = Processors(), Event()

    def compute() -> None:
        while not over.is_set():
            sum(range(1000))

    thread = Thread(target=compute)
    thread.start()
    try:
        for _ in range(600):
            over.wait(0.1)
            processors.look()
            if processors.busy > 0:
                break
    finally:
        over.set()
        thread.join()
    assert 0 < processors.busy <= 1


def test_time_in_which_something_waited_is_as_the_kernel_has_it(tmp_path: Path) -> None:
    path = tmp_path / "cpu"
    path.write_text("some avg10=24.38 avg60=44.99 avg300=38.72 total=273113149\nfull avg10=0.00 total=0\n")
    assert stalled_s(path) == 273.113149
    path.write_text("")
    assert stalled_s(path) is None
    assert stalled_s(tmp_path / "none") is None
