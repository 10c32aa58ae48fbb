"""Processes of our own: started so that they end with this one, however it ends, and not before; and started again."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None)


def python_command(module: str, *roots: Path) -> tuple[str, ...]:
    """The command line of a process whose `main()` is in `module`, found below one of `roots` or with this package.

    Not in the current directory (-P): what lies there is not ours.
    """
    paths = [str(root) for root in (*roots, Path(__file__).parents[1])]
    return (sys.executable, "-P", "-c", f"import sys; sys.path += {paths!r}; from {module} import main; main()")


def start_child(command: Sequence[str], fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """The process, to which `fds` are left open under their numbers. Takes 2 ms. Raises OSError.

    To be called on a thread that lives as long as the process may: the kernel ends a child that called `live_with`
    when the *thread* that started it ends. Ctrl-C at a terminal, which goes to a whole session, doesn't reach it.
    """
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        list(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=fds, start_new_session=True
    )


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Kills it, and collects it. Blocking, milliseconds."""
    process.kill()
    process.wait()


def live_with(parent: int) -> None:
    """Ties the life of this process to that of the process `parent`, which started it, and to nothing else.

    SIGINT, SIGTERM and SIGHUP, which a supervisor may send to all processes of a service, are for the parent: it
    finishes what has begun, needs its children for that, and ends them.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:  # it died before the first line
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Pauses:
    """Pauses in seconds between a death and the next start: each twice the last, anew after a time of good service."""

    def __init__(self, first_s: float, most_s: float, stable_s: float) -> None:
        self._first_s = self._next_s = first_s
        self._most_s = most_s
        self._stable_s = stable_s

    def after(self, served_s: float) -> float:
        """The pause after a life with `served_s` of service."""
        if served_s >= self._stable_s:
            self._next_s = self._first_s
        pause = min(self._next_s, self._most_s)
        self._next_s = pause * 2
        return pause
