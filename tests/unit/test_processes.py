"""What processes take, of real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from inkgate.telemetry.processes import Processes, ProcessSlot, tree_bytes
from support.clock import Clock

PARENT = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()']); print('there', flush=True); input()"
)
NO_MORE_FILES = """
import errno, os, resource, subprocess
from inkgate.telemetry.processes import ProcessSlot, Processes
now = [0.0]
tree = subprocess.Popen(["sh", "-c", "sleep 60 & echo there; wait"], stdout=subprocess.PIPE, start_new_session=True)
tree.stdout.readline()
processes = Processes(lambda: [ProcessSlot("vllm", tree.pid, with_children=True)], lambda: now[0])
before = processes.read()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    assert error.errno == errno.EMFILE
now[0] += 60.0
assert processes.read() == before
os.close(held.pop())
os.close(held.pop())
now[0] += 60.0
after = processes.read()
assert [each.pid for each in after] == [each.pid for each in before] and len(before) == 3
assert all(was.cpu_s <= each.cpu_s < was.cpu_s + 30 for was, each in zip(before, after))
os.killpg(tree.pid, 9)
print("read")
"""
BUSY = "sum(range(2_000_000)); print('there', flush=True); input()"


@contextmanager
def process(program: str) -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"there\n"
        yield started
        started.kill()


def test_this_process_comes_first() -> None:
    (own,) = Processes(tuple).read()
    assert (own.kind, own.pid, own.started) == ("gateway", os.getpid(), 1)
    assert own.rss_bytes > 1_000_000
    assert own.cpu_s > 0


def test_a_place_without_a_process_is_told_of() -> None:
    _, empty = Processes(lambda: [ProcessSlot("engine", 0, started=3)]).read()
    assert (empty.pid, empty.rss_bytes, empty.cpu_s, empty.started) == (0, 0, 0.0, 3)


def test_children_belong_to_who_has_some() -> None:
    with process(PARENT) as parent:
        found = Processes(lambda: [ProcessSlot("vllm", parent.pid, 2, with_children=True)]).read()
        alone = Processes(lambda: [ProcessSlot("vllm", parent.pid)]).read()
    assert [each.kind for each in found] == ["gateway", "vllm", "vllm"]
    assert [each.started for each in found] == [1, 2, 1]
    assert len({each.pid for each in found}) == 3
    assert len(alone) == 2


def test_the_time_of_those_that_are_gone_is_counted_on() -> None:
    clock, places = Clock(), list[ProcessSlot]()
    processes = Processes(lambda: places, clock)
    with process(BUSY) as first:
        places[:] = [ProcessSlot("pdf", first.pid)]
        _, read = processes.read()
    clock.goes_on(1.0)
    _, dead = processes.read()
    assert (dead.pid, dead.rss_bytes, dead.cpu_s) == (first.pid, 0, read.cpu_s)
    clock.goes_on(1.0)
    places.clear()
    _, gone = processes.read()
    assert (gone.kind, gone.pid, gone.cpu_s) == ("pdf", 0, read.cpu_s)
    with process(BUSY) as second:
        places[:] = [ProcessSlot("pdf", second.pid, 2), ProcessSlot("pdf", 0)]
        clock.goes_on(1.0)
        _, again, other = processes.read()
    assert read.cpu_s > 0
    assert again.cpu_s > read.cpu_s
    assert other.cpu_s == 0


def test_a_reading_is_good_for_half_a_second() -> None:
    clock, calls = Clock(), list[int]()

    def places() -> list[ProcessSlot]:
        calls.append(1)
        return []

    processes = Processes(places, clock)
    first = processes.read()
    clock.goes_on(0.4)
    assert processes.read() is first
    clock.goes_on(0.2)
    processes.read()
    assert len(calls) == 2


def test_a_tree_is_a_process_with_what_it_started_and_nothing_once_it_is_gone() -> None:
    assert tree_bytes(os.getpid()) > 10_000_000
    assert tree_bytes(2**22 + 1) == 0


def test_where_no_file_can_be_opened_the_last_reading_is_shown() -> None:
    ended = subprocess.run([sys.executable, "-c", NO_MORE_FILES], capture_output=True, timeout=60, check=False)
    assert (ended.stdout, ended.stderr.decode()[-2000:]) == (b"read\n", "")
