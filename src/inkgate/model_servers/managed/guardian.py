"""The process between inkgate and vLLM: ends vLLM and everything vLLM started, even if inkgate is killed.

Run as a separate file, by `python -I -S guardian.py FD GRACE_S COMMAND...`, without importing inkgate. FD is one end of
a socket; only the gateway holds the other. If the other end is closed or shut down, the guardian stops vLLM: SIGTERM,
then SIGKILL after GRACE_S seconds. The kernel closes it even if the gateway is killed, which no signal handler could
do.

vLLM has processes of its own (EngineCore, workers), which hold the GPU. Processes whose parent dies become this
process's children (PR_SET_CHILD_SUBREAPER), so that none escapes. Messages on FD: "pid N" once vLLM has been started as
the leader of process group N, and "exit STATUS" (negative: the signal) after the last process has ended.
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
"""A process that survives SIGKILL for this many seconds hangs in a driver; nothing here can end it."""
_TIDY_S = 2.0
_TIDIES = b"multiprocessing.resource_tracker"
"""Python's resource tracker: unlinks the shared memory of killed Python processes (hundreds of MB of vLLM's), then
ends."""
_STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_libc = ctypes.CDLL(None)


def main() -> None:
    """Starts the command, waits for its end or for the request to stop, and leaves no process behind."""
    lifeline = socket.socket(fileno=int(sys.argv[1]))
    lifeline.set_inheritable(False)
    grace_s, command = float(sys.argv[2]), sys.argv[3:]
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signals = _signals()
    pid = start_command(command)
    notify(lifeline, f"pid {pid}\n")
    status = wait(pid, lifeline, signals, grace_s)
    end_all(time.monotonic())
    notify(lifeline, f"exit {status}\n")


def _signals() -> int:
    """A descriptor on which each signal arrives as one byte."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (*_STOPPING, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return readable


def start_command(command: list[str]) -> int:
    """The started process. It leads its own process group and dies with this one."""
    ours = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)  # blocked until the child has its own handlers
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
    """How process `pid` ended. On a request to stop it gets SIGTERM, and SIGKILL `grace_s` later."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(signals, select.POLLIN)
    kill_at: float | None = None
    while (status := reap(pid)) is None:
        timeout_ms = None if kill_at is None else max(0.0, kill_at - time.monotonic()) * 1000
        ready = {descriptor for descriptor, _ in poll.poll(timeout_ms)}
        stop_requested = lifeline.fileno() in ready
        if signals in ready:
            stop_requested = stop_requested or not _STOPPING.isdisjoint(os.read(signals, 64))
        if stop_requested and kill_at is None:
            poll.unregister(lifeline)
            kill_at = time.monotonic() + grace_s
            os.kill(pid, signal.SIGTERM)
        if kill_at is not None and time.monotonic() >= kill_at:
            os.kill(pid, signal.SIGKILL)
            kill_at = time.monotonic() + _GONE_S
    return status


def reap(pid: int) -> int | None:
    """The status of `pid`; None while it runs. Also reaps every other process that has ended."""
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
    """Kills all descendants of this process until none is left or one does not end for too long.

    Resource trackers get a little time to clean up. `now`: the monotonic clock.
    """
    while time.monotonic() < now + _GONE_S:
        for pid in descendants(os.getpid()):
            if time.monotonic() < now + _TIDY_S and is_resource_tracker(pid):
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


def is_resource_tracker(pid: int) -> bool:
    """Whether a process is a resource tracker, which only waits to clean up after others."""
    try:
        return _TIDIES in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


def descendants(root: int) -> list[int]:
    """All processes below `root`, from /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name, in parentheses, may contain anything; state and parent follow it.
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


def notify(lifeline: socket.socket, message: str) -> None:
    """Sends `message` to the gateway if it still runs."""
    try:
        lifeline.sendall(message.encode())
    except OSError:  # the gateway is gone, which is why the guardian exists
        return


if __name__ == "__main__":
    main()
