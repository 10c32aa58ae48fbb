"""Takes from each process that has this folder in PYTHONPATH what the system named by OTHER_SYSTEM lacks.

Libraries keep what they took at their import: those that need some of it on Linux are imported before.
"""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import signal
import socket
import sys
from typing import Any

_MACOS = ("memfd_create", "pidfd_open", "sched_getaffinity", "sched_setaffinity")
_WINDOWS = ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "sysconf", "fork", "killpg")
_LINUX_FILES = ("/proc/self/", "/proc/pressure", "/proc/cpuinfo", "/sys/fs/cgroup")  # psutil reads more
_real_open = builtins.open
_real_symbol = ctypes.CDLL.__getattr__


def _open(file: Any, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - as open
    if str(file).startswith(_LINUX_FILES):
        raise FileNotFoundError(2, "No such file or directory", file)
    return _real_open(file, *arguments, **named)


def _symbol(library: ctypes.CDLL, name: str) -> Any:  # noqa: ANN401 - as there
    if name == "prctl":
        raise AttributeError(name)
    return _real_symbol(library, name)


def become_macos() -> None:
    import fcntl

    for name in _MACOS:
        delattr(os, name)
    for name in ("F_ADD_SEALS", "F_SETPIPE_SZ"):
        delattr(fcntl, name)
    ctypes.CDLL.__getattr__ = _symbol  # type: ignore[method-assign]
    builtins.open = io.open = _open


def become_windows() -> None:
    for library in ("aiohttp", "anyio._backends._asyncio", "multiprocessing.util", "psutil", "rich.console", "uvloop"):
        __import__(library)
    become_macos()
    for name in _WINDOWS:
        delattr(os, name)
    for name in ("fcntl", "resource", "termios", "pwd", "grp"):
        sys.modules[name] = None  # type: ignore[assignment]
    for name in ("send_fds", "recv_fds"):
        delattr(socket, name)
    for name in ("SIGHUP", "SIGKILL"):
        delattr(signal, name)


if os.environ.get("OTHER_SYSTEM") == "macOS":
    become_macos()
elif os.environ.get("OTHER_SYSTEM") == "Windows":
    become_windows()
