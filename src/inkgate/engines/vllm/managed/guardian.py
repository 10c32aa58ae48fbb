"""The process between us and vLLM: it ends vLLM and all that vLLM started, whatever happens to us.

Run as a file of its own, by `python -I -S guardian.py FD GRACE_S COMMAND...`, without anything of inkgate. FD is one
end of a socket whose other end only the gateway holds: its end, or its shutdown, means "stop" (SIGTERM, and SIGKILL
after GRACE_S seconds). A gateway that is killed closes it too, which no signal handler of its own could promise.

vLLM has processes of its own (EngineCore, workers), which hold the GPU; what they leave behind when their parent dies
becomes this process's child (PR_SET_CHILD_SUBREAPER), so that none escapes. What is told on FD: "pid N", once vLLM has
been started as the leader of process group N, and "exit STATUS" (negative: the signal) after the last process is gone.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127
_GONE_S = 30.0
"""A process that outlives a SIGKILL for so long hangs in a driver; nothing here can end it."""
_TIDY_S = 2.0
_TIDIES = b"multiprocessing.resource_tracker"
"""Unlinks the shared memory of killed Python processes (hundreds of MB of vLLM's), once they are gone, and ends."""
_STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_libc = ctypes.CDLL(None)


def main() -> None:
    """Starts the command, waits for its end or for the order to end it, and leaves nothing behind."""
    lifeline = socket.socket(fileno=int(sys.argv[1]))
    lifeline.set_inheritable(False)
    grace_s, command = float(sys.argv[2]), sys.argv[3:]
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signals = _signals()
    pid = started(command)
    tell(lifeline, f"pid {pid}\n")
    status = wait(pid, lifeline, signals, grace_s)
    end_all(time.monotonic())
    tell(lifeline, f"exit {status}\n")


def _signals() -> int:
    """A descriptor on which each signal arrives as one byte."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (*_STOPPING, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return readable


def started(command: list[str]) -> int:
    """The process, which leads a process group of its own and dies with this one."""
    ours = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)  # one that comes before the child has its own handlers waits
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        return pid
    try:
        os.setpgid(0, 0)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (*_STOPPING, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
        if os.getppid() == ours:
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{command[0]} can't be started: {error.strerror}\n".encode())
    os._exit(_NOT_STARTED)


def wait(pid: int, lifeline: socket.socket, signals: int, grace_s: float) -> int:
    """How process `pid` ended. SIGTERM is passed on to it when we are to stop; `grace_s` later it is killed."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(signals, select.POLLIN)
    kill_at: float | None = None
    while (status := reaped(pid)) is None:
        timeout_ms = None if kill_at is None else max(0.0, kill_at - time.monotonic()) * 1000
        ready = {descriptor for descriptor, _ in poll.poll(timeout_ms)}
        asked = lifeline.fileno() in ready
        if signals in ready:
            asked = asked or not _STOPPING.isdisjoint(os.read(signals, 64))
        if asked and kill_at is None:
            poll.unregister(lifeline)
            kill_at = time.monotonic() + grace_s
            os.kill(pid, signal.SIGTERM)
        if kill_at is not None and time.monotonic() >= kill_at:
            os.kill(pid, signal.SIGKILL)
            kill_at = time.monotonic() + _GONE_S
    return status


def reaped(pid: int) -> int | None:
    """The status of `pid`; None while it runs. Collects every other process that has ended, too."""
    found = None
    try:
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if not ended:
                return found
            if ended == pid:
                found = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        return found


def end_all(now: float) -> None:
    """Kills all that descends from this process, until nothing is left or a process doesn't end for too long.

    What tidies up after the others is left a little time to do so. `now`: by the monotonic clock.
    """
    while time.monotonic() < now + _GONE_S:
        for pid in descendants(os.getpid()):
            if time.monotonic() < now + _TIDY_S and tidies(pid):
                continue
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:  # ended by itself
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


def tidies(pid: int) -> bool:
    """Whether a process only waits for the end of others, to remove what they leave."""
    try:
        return _TIDIES in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def descendants(root: int) -> list[int]:
    """Every process below `root`, as /proc has them now."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name, in parentheses, may hold anything; state and parent follow it.
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    upcoming = [root]
    while upcoming:
        below = children.get(upcoming.pop(), [])
        found += below
        upcoming += below
    return found


def tell(lifeline: socket.socket, message: str) -> None:
    """Sends `message` to the gateway, if it still is there."""
    try:
        lifeline.sendall(message.encode())
    except OSError:  # it is gone, which is what we are here for
        return


if __name__ == "__main__":
    main()
