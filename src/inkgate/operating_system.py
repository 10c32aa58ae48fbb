"""Calls that not every system has, and what stands in for them. No other module makes them (ruff checks it).

Linux has them all. macOS has no memfds, pidfds, prctl, CPU affinity or /proc: workers then share files without a name,
which can't be sealed, and pipes say when they end. Windows can't pass open files between processes, so it has no
workers: documents are read by a service elsewhere. Worker processes import this module, so it imports little.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import signal
import socket
import struct
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self

try:
    import fcntl
    import resource
    import termios
except ImportError:  # Windows
    _HAS_UNIX = False
else:
    _HAS_UNIX = True

HAS_WORKERS: Final = _HAS_UNIX and hasattr(socket, "send_fds")
"""Whether processes can be given open files, as workers need."""
CAN_AWAIT_SIGNALS: Final = _HAS_UNIX
"""Whether event loops can wait for signals; where not, Ctrl-C raises KeyboardInterrupt."""
STOP_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_MANY_FILES: Final = 10_240
"""The most that macOS allows where it says that there is no limit (OPEN_MAX)."""


def shared_file(name: str) -> FileIO:
    """Returns a file without a name that disappears with its last user. Raises OSError.

    A memfd where there are any: it counts neither as a file nor against /dev/shm, can be sealed, and has its name in
    /proc.
    """
    if hasattr(os, "memfd_create"):
        return FileIO(os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+")
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix=f"{name}-")
    Path(path).unlink()
    return FileIO(descriptor, "r+")


def seal(file: FileIO, *, readonly: bool) -> None:
    """Has the system refuse that a process resizes a shared file, or writes it. Raises OSError."""
    if hasattr(fcntl, "F_ADD_SEALS"):
        seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | (fcntl.F_SEAL_WRITE if readonly else 0)
        # F_SEAL_SEAL: a hijacked worker must not seal it against writing, or this process could not map it.
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)


class ProcessEnd:
    """Says when a child process has ended, by a file that can be read then: a pidfd, or a pipe of which only the child
    has the other end.

    Attributes:
        inherited: descriptors that the child must inherit.
    """

    def __init__(self) -> None:
        self._pipe = () if hasattr(os, "pidfd_open") else os.pipe()
        self.inherited = self._pipe[1:]

    def file(self, pid: int) -> FileIO:
        """The file, which the caller closes. Once, after the child was started. Raises OSError."""
        if not self._pipe:
            return FileIO(os.pidfd_open(pid))
        (readable, writable), self._pipe = self._pipe, ()
        os.close(writable)
        return FileIO(readable)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in self._pipe:
            os.close(descriptor)


def end_with_parent(parent: int) -> None:
    """Makes this process end with the process `parent`, which started it: at once on Linux, else within a second."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    else:
        from threading import Thread

        Thread(target=_await_end_of, args=(parent,), name="parent", daemon=True).start()
    if os.getppid() != parent:  # the parent died before
        os._exit(0)


def _await_end_of(parent: int) -> None:
    from time import sleep

    while os.getppid() == parent:
        sleep(1)
    os._exit(0)


def limit_memory(more_bytes: int) -> None:
    """Limits the address space of this process to `more_bytes` above what it has; only Linux can. Raises OSError."""
    if _statm() is not None:
        limit = memory_bytes()[0] + more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def write_no_core_dumps() -> None:
    """Keeps documents out of core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def memory_bytes() -> tuple[int, int, int]:
    """This process's address space, resident memory, and the shared part of it where that is known."""
    if (pages := _statm()) is not None:
        size, resident, shared = (int(each) * mmap.PAGESIZE for each in pages.split()[:3])
        return size, resident, shared
    import psutil

    memory = psutil.Process().memory_info()
    return memory.vms, memory.rss, 0


def _statm() -> str | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - once a call, and pathlib is slower
            return file.read()
    except FileNotFoundError:
        if hasattr(os, "memfd_create"):  # Linux, where no limit may be dropped for want of /proc
            raise
        return None


def usable_cpus() -> set[int]:
    """The numbers of the CPUs that this process may run on."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def use_cpus(cpus: set[int]) -> None:
    """Runs this process on these CPUs, where the system lets it choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> None:
    """Locks an open file or folder until it is closed; Windows locks nothing.

    Raises:
        BlockingIOError: another process has it, and `wait` is not set.
        OSError: its file system has no locks.
    """
    if _HAS_UNIX:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


def open_folder(path: str | Path, *, below: int | None = None, follow: bool = True) -> int:
    """The descriptor of a folder, for calls relative to it. Raises OSError, also on Windows, which has none."""
    if not _HAS_UNIX:
        raise OSError(errno.ENOSYS, f"{platform.system()} can't open folders: use Linux, macOS or WSL 2", str(path))
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return os.open(path, flags if follow else flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=below)


def place_of(descriptor: int, path: Path) -> Path:
    """Where an open file lies now. `path`: by which it was opened, for systems that don't know."""
    if hasattr(fcntl, "F_GETPATH"):  # macOS
        return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
    named = Path(f"/proc/self/fd/{descriptor}")
    return named.resolve() if named.is_symlink() else path.resolve()


def unsent_bytes(descriptor: int) -> int:
    """Bytes that a socket's peer has not acknowledged; 0 if the system doesn't say."""
    try:
        found: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4)))[0]
    except OSError:
        return 0
    return found


def enlarge_pipe(descriptor: int, size: int) -> None:
    """Has a pipe hold this many bytes, where the system allows it."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)


def raise_file_limit(wanted: int | None = None) -> None:
    """Raises the limit of open files of this process, which children started later inherit: to `wanted`, or as far as
    the system allows.
    """
    if not _HAS_UNIX:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    most = hard if wanted is None else wanted if hard == unlimited else min(wanted, hard)
    if soft in {unlimited, most} or (most != unlimited and most < soft):
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (ValueError, OSError):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _MANY_FILES), hard))


def file_limit() -> int | None:
    """How many files this process may open; None if there is no limit."""
    if not _HAS_UNIX:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
