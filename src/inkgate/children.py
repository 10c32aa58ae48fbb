"""Child processes that live exactly as long as this process, and pauses between their restarts."""

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
    """The command line of a process that runs `main()` of `module`, from one of `roots` or next to this package.

    -P excludes the current directory, whose modules are not trusted.
    """
    paths = [str(root) for root in (*roots, Path(__file__).parents[1])]
    return (sys.executable, "-P", "-c", f"import sys; sys.path += {paths!r}; from {module} import main; main()")


def start_child(command: Sequence[str], fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """Starts a process that inherits `fds` under the same numbers. Takes 2 ms. Raises OSError.

    Call it on a thread that lives as long as the process may: the kernel kills a child that called `live_with` when the
    *thread* that started it ends. The child has its own session, so Ctrl-C at a terminal doesn't reach it.
    """
    return subprocess.Popen(  # noqa: S603 - our own interpreter
        list(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=fds, start_new_session=True
    )


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and reaps it. Blocks for milliseconds."""
    process.kill()
    process.wait()


def live_with(parent: int) -> None:
    """Makes this process end with the process `parent`, which started it, and not before.

    Ignores SIGINT, SIGTERM and SIGHUP, which a supervisor may send to all processes of a service: the parent needs its
    children to finish its work, and then ends them.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before prctl
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Pauses:
    """Pauses in seconds before restarts: doubled each time, reset after a stable run."""

    def __init__(self, first_s: float, most_s: float, stable_s: float) -> None:
        self._first_s = self._next_s = first_s
        self._most_s = most_s
        self._stable_s = stable_s

    def after(self, served_s: float) -> float:
        """The pause after a run of `served_s`."""
        if served_s >= self._stable_s:
            self._next_s = self._first_s
        pause = min(self._next_s, self._most_s)
        self._next_s = pause * 2
        return pause
