"""What stands in for calls of Linux, without those calls; tests/e2e/test_other_systems.py reads without them."""

from __future__ import annotations

import mmap
import os
import resource
import select
import signal
import subprocess
import sys
from io import FileIO
from pathlib import Path

import pytest

from inkgate import operating_system
from inkgate.operating_system import ProcessEnd, lock, open_folder, place_of, raise_file_limit, seal, shared_file

SIMULATION = Path(__file__).parents[1] / "support" / "other_system"
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def no_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("memfd_create", "pidfd_open", "sched_getaffinity", "sched_setaffinity"):
        monkeypatch.delattr(os, name)
    for name in ("F_ADD_SEALS", "F_SETPIPE_SZ"):
        monkeypatch.delattr(f"fcntl.{name}")


def readable(file: FileIO, timeout_s: float) -> bool:
    return bool(select.select([file], [], [], timeout_s)[0])


def test_a_sealed_file_can_neither_shrink_nor_be_written() -> None:
    with shared_file("test") as file:
        file.write(b"text")
        seal(file, readonly=True)
        with pytest.raises(PermissionError):
            file.truncate(1)
        with pytest.raises(PermissionError):
            file.write(b"more")


def test_on_linux_a_limit_of_memory_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_proc(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(operating_system, "open", no_proc, raising=False)
    with pytest.raises(FileNotFoundError):
        operating_system.limit_memory(2**30)


def test_without_memfds_a_shared_file_has_no_name_and_can_be_mapped(no_linux: None) -> None:
    with shared_file("test") as file:
        file.write(b"text")
        seal(file, readonly=True)
        assert os.fstat(file.fileno()).st_nlink == 0
        with mmap.mmap(file.fileno(), 4, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as mapped:
            assert mapped[:] == b"text"


@pytest.mark.parametrize("pidfds", [True, False])
def test_the_end_of_a_child_is_seen_and_nobody_elses(pidfds: bool, request: pytest.FixtureRequest) -> None:
    if not pidfds:
        request.getfixturevalue("no_linux")
    children: list[tuple[subprocess.Popen[bytes], FileIO]] = []
    for _ in range(2):
        with ProcessEnd() as end:
            child = subprocess.Popen(SLEEP, pass_fds=end.inherited)
            children.append((child, end.file(child.pid)))
    (first, first_end), (_, second_end) = children
    try:
        assert not readable(first_end, 0)
        first.kill()
        assert readable(first_end, 30)
        assert not readable(second_end, 0)
    finally:
        for child, file in children:
            child.kill()
            child.wait()
            file.close()


def test_a_child_that_was_not_started_leaves_no_file_open(no_linux: None) -> None:
    with pytest.raises(FileNotFoundError), ProcessEnd() as end:
        left = end._pipe
        subprocess.Popen(["/no/such/program"], pass_fds=end.inherited)
    for descriptor in left:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


@pytest.mark.parametrize("system", ["Linux", "macOS"])
def test_a_worker_ends_with_its_parent(system: str) -> None:
    worker = (
        "import time; from inkgate.operating_system import end_with_parent; end_with_parent({}); print(1); "
        "time.sleep(3600)"
    )
    program = (
        "import os, subprocess, sys, time; code = sys.argv[1].format(os.getpid()); "
        "subprocess.Popen([sys.executable, '-c', code]); time.sleep(3600)"
    )
    path = os.pathsep.join([str(SIMULATION), *sys.path])
    environment = {**os.environ, "OTHER_SYSTEM": system, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, "-c", program, worker], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"1\n"
        parent.kill()
        assert parent.stdout.read() == b""  # once the worker has ended, too


def test_a_lock_is_exclusive_until_its_file_is_closed(tmp_path: Path) -> None:
    first, second = open_folder(tmp_path), open_folder(tmp_path)
    lock(first)
    with pytest.raises(BlockingIOError):
        lock(second, shared=True, wait=False)
    os.close(first)
    lock(second, shared=True, wait=False)
    os.close(second)


def test_a_limit_of_files_that_is_high_enough_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, resource.RLIM_INFINITY))
    raise_file_limit(500)
    raise_file_limit(4000)
    raise_file_limit()
    assert asked == [(4000, resource.RLIM_INFINITY), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)]


def test_the_place_of_an_open_file_is_where_it_was_moved(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    with (tmp_path / "a").open() as file:
        (tmp_path / "a").rename(tmp_path / "b")
        assert place_of(file.fileno(), tmp_path / "a") == (tmp_path / "b").resolve()


def test_stop_signals_are_those_that_the_system_has() -> None:
    assert operating_system.STOP_SIGNALS == (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
