"""Processes and their shared memory, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path


def children() -> set[int]:
    """Our child processes, including zombies."""
    return children_of(os.getpid())


def children_of(pid: int) -> set[int]:
    """As `children`, of another process."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == pid:
                found.add(int(entry.name))
    return found


def shared_memory() -> list[str]:
    """The memfds that this process has open or mapped."""
    found = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    maps = Path("/proc/self/maps").read_text().splitlines()
    return [name for name in [*found, *maps] if "memfd:inkgate" in name]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def mapped_memory(pid: int) -> list[int]:
    """The sizes in bytes of the memfds that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    ends = [line.split()[0].split("-") for line in lines if "memfd:inkgate" in line]
    return [int(end, 16) - int(start, 16) for start, end in ends]


def all_ended(pids: Iterable[int], within_s: float = 20.0) -> bool:
    """Whether all of them ended within `within_s`."""
    give_up = time.monotonic() + within_s
    while any(is_running(pid) for pid in pids):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True
