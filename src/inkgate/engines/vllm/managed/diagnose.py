"""Finds out why vLLM has ended, from its exit status, its last lines and the kernel's count of killed processes."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inkgate.engines.vllm.managed.lines import message_of


class DeathCause(StrEnum):
    """Why a model server has ended.

    `out_of_memory`: GPU or main memory; `killed`: SIGKILL from another process; `crash`: another signal or an error
    status; `exit`: status 0; `not_ready`, `stalled`: ended by us because it did not become ready in time or stalled.
    """

    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    CRASH = "crash"
    EXIT = "exit"
    NOT_READY = "not_ready"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Death:
    """The end of one run of vLLM. `status`: negative for a signal, None if unknown; `reason`: in vLLM's words."""

    cause: DeathCause
    status: int | None
    reason: str

    @property
    def kind(self) -> tuple[DeathCause, int | None, str]:
        """Equal for deaths that differ only in numbers such as times, process IDs and addresses."""
        return (self.cause, self.status, re.sub(r"[0-9a-f]*\d[0-9a-f]*", "0", self.reason))

    def __str__(self) -> str:
        how = ""
        if self.status is not None:
            how = f" (status {self.status})" if self.status >= 0 else f" ({signal.Signals(-self.status).name})"
        return f"{self.cause}{how}{': ' if self.reason else ''}{self.reason}"


_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|(?:CUDA|HIP|XPU) out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation"
    r"|CUBLAS_STATUS_ALLOC_FAILED|No available memory for the cache blocks"
    r"|larger than the available KV cache memory|can't allocate memory|std::bad_alloc|^MemoryError\b"
)
_SECOND_HAND = re.compile(r"See root cause above|EngineDeadError|died unexpectedly|Failed core proc\(s\)")
"""What the API server logs when its engine process is gone. It may exit with status 0 after that."""
_FIRST_HAND = re.compile(r"\w*(?:Error|Exception)\b: \S|\berror: \S|No module named|can't be started|^Fatal ")
_QUIET = re.compile(r"(?:\([^)]*\)\s*)?(?:DEBUG|INFO|WARNING)\b")


def diagnose(status: int | None, lines: Sequence[str], oom_kills: int | None = 0) -> Death:
    """Why vLLM ended with `status`. `lines`: its last ones; `oom_kills`: by the kernel while it ran, None: not known.

    A message about memory in its log decides, whatever the status: the API server exits with 1 whatever the engine
    process died of. Processes that were killed or ended without a message count as killed by the kernel unless the
    kernel reports no kill.
    """
    told = next((message_of(line) for line in reversed(lines) if _OUT_OF_MEMORY.search(message_of(line))), None)
    if told is not None:
        return Death(DeathCause.OUT_OF_MEMORY, status, told)
    loud = [message_of(line) for line in lines if not _QUIET.match(line)]
    second_hand = [line for line in loud if _SECOND_HAND.search(line)]
    first_hand = [line for line in loud if _FIRST_HAND.search(line) and line not in second_hand]
    killed = status in (None, -signal.SIGKILL)
    if oom_kills != 0 and (killed or (second_hand and not first_hand)):
        return Death(DeathCause.OUT_OF_MEMORY, status, "Out of memory: the kernel killed the process.")
    if killed:
        return Death(DeathCause.KILLED, status, "")
    said = first_hand or second_hand or loud or [message_of(line) for line in lines] or [""]
    return Death(DeathCause.EXIT if status == 0 and not second_hand else DeathCause.CRASH, status, said[-1])


def kernel_oom_kills(vmstat: Path = Path("/proc/vmstat"), events: Path | None = None) -> int | None:
    """Number of processes that the kernel has killed for lack of memory: in our control group if there is one, else on
    the machine.

    None if the kernel does not report it. The files have a few kilobytes and are never on a disk, so they are read on
    the event loop.
    """
    for path in (events or own_memory_events(), vmstat):
        try:
            text = path.read_text(encoding="ascii")
        except OSError:
            continue
        found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
        if found is not None:
            return int(found[1])
    return None


def own_memory_events(membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Path:
    """Path of the counters of this process's control group (version 2); the file may be missing."""
    try:
        found = re.search(r"^0::/(.*)$", membership.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return root / (found[1] if found else "") / "memory.events"
