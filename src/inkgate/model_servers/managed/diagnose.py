"""What vLLM's log says: lines with levels, the progress of loading, and, with its exit status and the kernel's count of
killed processes, why it has ended.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_LONGEST = 4000
"""Maximum bytes of a line; more are dropped. vLLM's longest, its settings at start, has about 3000."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROCESS = r"(?:\([^)]{1,60}\)\s*)?"
_LEVEL = re.compile(_PROCESS + r"(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_PREFIX = re.compile("^" + _PROCESS + r"(?:[A-Z]+ \S+ \S+ \[[^\]]*\] )?")
_TRACEBACK = re.compile(_PROCESS + r"Traceback \(most recent call last\)")
_STAGES = (
    (re.compile(r"Fetching \d+ files:\s*(\d+)%"), "download"),
    (re.compile(r"Loading \S+ checkpoint shards[^:]*:\s*(\d+)%"), "weights"),
    (re.compile(r"Capturing CUDA graphs?[^:]*:\s*(\d+)%"), "graphs"),
)
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|(?:CUDA|HIP|XPU) out of memory|CUDA error: out of memory|cudaErrorMemoryAllocation"
    r"|CUBLAS_STATUS_ALLOC_FAILED|No available memory for the cache blocks"
    r"|larger than the available KV cache memory|can't allocate memory|std::bad_alloc|^MemoryError\b"
)
_SECOND_HAND = re.compile(r"See root cause above|EngineDeadError|died unexpectedly|Failed core proc\(s\)")
"""What the API server logs when its engine process is gone. It may exit with status 0 after that."""
_FIRST_HAND = re.compile(r"\w*(?:Error|Exception)\b: \S|\berror: \S|No module named|can't be started|^Fatal ")
_QUIET = re.compile(r"(?:\([^)]*\)\s*)?(?:DEBUG|INFO|WARNING)\b")


class LogLines:
    """Splits bytes that arrive in chunks into lines. A carriage return ends a line, too: progress bars use them."""

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that `chunk` completes, without empty ones."""
        *whole, self._open = re.split(rb"[\r\n]+", self._open + chunk)
        self._open = self._open[:_LONGEST]
        yield from (text for line in whole if (text := _text(line)))

    def rest(self) -> Iterator[str]:
        """The text after the last line end."""
        text, self._open = _text(self._open), b""
        if text:
            yield text


def message_of(line: str) -> str:
    """A line's message, without the process, level, time and source that vLLM puts before it."""
    return _PREFIX.sub("", line, count=1).strip()


class LogLevels:
    """Finds the level of each line; a line without one has that of the line before it."""

    def __init__(self) -> None:
        self._last = "info"

    def of(self, line: str) -> str:
        """`debug`, `info`, `warning` or `error`."""
        found = _LEVEL.match(line)
        if found is not None:
            self._last = {"CRITICAL": "error"}.get(found[1], found[1].lower())
        elif _TRACEBACK.match(line):
            self._last = "error"
        return self._last


@dataclass(frozen=True, slots=True)
class StartProgress:
    """Progress of vLLM's start.

    Attributes:
        stage: `download`, `weights`, `compile`, `graphs`, `kv_cache` or `listening`, mostly in this order.
        percent: of the stage, 0 to 100; None if vLLM does not report it.
    """

    stage: str
    percent: int | None = None


_MOMENTS = (
    (re.compile(r"Starting to load model"), StartProgress("weights", 0)),
    (re.compile(r"(?:Loading weights|Model loading) took"), StartProgress("weights", 100)),
    (re.compile(r"Dynamo bytecode transform time|Compiling a graph for|torch\.compile took"), StartProgress("compile")),
    (re.compile(r"KV cache size: [\d,]+ tokens"), StartProgress("kv_cache")),
    (re.compile(r"Graph capturing finished"), StartProgress("graphs", 100)),
    (re.compile(r"Application startup complete"), StartProgress("listening")),
)


def progress_of(line: str) -> StartProgress | None:
    """The progress that a line reports; None for all others. Matches the messages of vLLM 0.32."""
    for pattern, stage in _STAGES:
        found = pattern.search(line)
        if found is not None:
            return StartProgress(stage, min(100, int(found[1])))
    return next((progress for pattern, progress in _MOMENTS if pattern.search(line)), None)


def is_progress_bar(line: str) -> bool:
    """Whether a line is one state of a progress bar and nothing else."""
    return any(pattern.search(line) for pattern, _ in _STAGES)


def _text(line: bytes) -> str:
    return _COLOURS.sub("", line[:_LONGEST].decode("utf-8", errors="replace")).rstrip()


class DeathCause(StrEnum):
    """The reason why a model server has ended.

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


def diagnose(status: int | None, lines: Sequence[str], oom_kills: int | None = 0) -> Death:
    """Why vLLM ended with `status`. `lines`: its last ones; `oom_kills`: by the kernel while it ran, None: not known.

    A message about memory in its log decides, whatever the status: the API server exits with 1 whatever the engine
    process died of. Processes that were killed or ended without a message count as killed by the kernel unless the
    kernel reports no kill.
    """
    out_of_memory = next((found for line in reversed(lines) if _OUT_OF_MEMORY.search(found := message_of(line))), None)
    if out_of_memory is not None:
        return Death(DeathCause.OUT_OF_MEMORY, status, out_of_memory)
    loud = [message_of(line) for line in lines if not _QUIET.match(line)]
    second_hand = [line for line in loud if _SECOND_HAND.search(line)]
    first_hand = [line for line in loud if _FIRST_HAND.search(line) and line not in second_hand]
    killed = status in (None, -signal.SIGKILL)
    if oom_kills != 0 and (killed or (second_hand and not first_hand)):
        return Death(DeathCause.OUT_OF_MEMORY, status, "Out of memory: the kernel killed the process.")
    if killed:
        return Death(DeathCause.KILLED, status, "")
    messages = first_hand or second_hand or loud or [message_of(line) for line in lines] or [""]
    return Death(DeathCause.EXIT if status == 0 and not second_hand else DeathCause.CRASH, status, messages[-1])


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
