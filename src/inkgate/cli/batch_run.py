"""Runs `inkgate batch`: makes the plan, starts the process that reads, and starts it again if it dies."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from inkgate.batch.journal import note_death
from inkgate.batch.plan import BatchFolder, BatchInvalid, BatchPlan, ShardLimits, list_documents
from inkgate.batch.rows import RowFormat, check_format
from inkgate.batch.shards import BatchEvent
from inkgate.cli.batch_child import FAILED, BatchOrder
from inkgate.cli.inputs import SUFFIXES
from inkgate.cli.messages import failure, say
from inkgate.settings import Settings
from inkgate.storage.objects import Objects

CHILD = "inkgate.cli.batch_child"
"""The module of the process that reads."""
_SAYS_EVERY_S = 60.0
_DEATHS_IN_A_ROW = 5
"""A process that dies so often without having read a document would never read one."""


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """What is read, and how.

    Attributes:
        source, results: URLs of folders.
        part: which shards: those whose index divided by `part[1]` leaves `part[0]`.
        again: failed documents of shards that are done, and nothing else.
        gateways: URLs of services; empty: the engine of this machine.
    """

    settings: Settings
    source: str
    results: str
    rows: RowFormat
    part: tuple[int, int] = (0, 1)
    again: bool = False
    at_once: int = 4
    limits: ShardLimits = field(default_factory=ShardLimits)
    gateways: tuple[str, ...] = ()
    key: str = field(default="", repr=False)


@dataclass(slots=True)
class BatchTally:
    """Counts of one run."""

    read: int = 0
    failed: int = 0
    pages: int = 0
    shards: int = 0
    deaths: int = 0


async def planned(command: BatchCommand) -> tuple[BatchPlan, list[int]]:
    """The plan, which is made if there is none, and the shards that this run reads.

    Raises:
        BatchInvalid: the folder has another plan, or the format's package is missing.
        InkgateError: a store can't be reached.
    """
    check_format(command.rows)
    objects = Objects(command.settings.storage)
    folder = BatchFolder(objects, command.results)
    plan = await folder.plan()
    if plan is None:
        documents = await list_documents(objects, command.source, SUFFIXES)
        plan = await folder.make_plan(command.source, command.rows.value, documents, command.limits)
    if (plan.source, plan.format) != (command.source, command.rows.value):
        raise BatchInvalid(
            f"{command.results} has the plan of {plan.source} as {plan.format}. Give another folder for the results."
        )
    done = await folder.done()
    _forget(scratch_folder(plan, command.results), done)
    index, count = command.part
    wanted = [shard for shard in range(plan.shards) if shard % count == index and (shard in done) is command.again]
    if command.again:
        wanted = [shard for shard in wanted if await _has_failed(folder, shard)]
    return plan, wanted


def _forget(scratch: Path, done: Collection[int]) -> None:
    """Deletes journals of shards that are done: a run was killed before it could. Blocking."""
    for shard in done:
        (scratch / f"{shard:05}.jsonl").unlink(missing_ok=True)


async def _has_failed(folder: BatchFolder, shard: int) -> bool:
    marker = orjson.loads(await folder.objects.get(folder.done_marker(shard), max_bytes=1_000_000))
    return bool(marker.get("failed"))


def scratch_folder(plan: BatchPlan, results: str) -> Path:
    """The folder of journals on this machine."""
    if results.startswith("file://"):
        return Path(results.removeprefix("file://"), "_inkgate", "work")
    named = Path(os.environ.get("XDG_STATE_HOME", ""))  # noqa: TID251 - where it keeps things, as jobs do
    base = named if named.is_absolute() else Path.home() / ".local" / "state"
    return base / "inkgate" / "batch" / plan.token


def read_planned(command: BatchCommand, plan: BatchPlan, wanted: Sequence[int]) -> BatchTally:
    """Reads shards in a process of their own, and starts it again if it dies. Blocking.

    Raises:
        typer.Exit: it can't go on; why was said.
        KeyboardInterrupt: the process was stopped.
    """
    tally, left = BatchTally(), list(wanted)
    scratch, deaths = scratch_folder(plan, command.results), 0
    with _progress(_documents_in(plan, len(wanted)), len(wanted)) as progress:
        while left:
            before = tally.read + tally.failed
            order = BatchOrder(
                settings=_picklable(command.settings),
                folder=command.results,
                plan=plan,
                shards=tuple(left),
                scratch=scratch,
                at_once=command.at_once,
                max_bytes=int(command.settings.limits.max_body_mb * 1_000_000),
                again=command.again,
                gateways=command.gateways,
                key=command.key,
            )
            status = _run_child(order, tally, left, progress)
            if status == 0:
                break
            if status == FAILED:
                raise failure(f"Stopped after {tally.read} documents. Run the same command again to go on.")
            deaths = deaths + 1 if tally.read + tally.failed == before else 1
            tally.deaths += 1
            say(f"The process that reads died ({_reason(status)}). It is started again.")
            for shard in left:
                note_death(scratch / f"{shard:05}{'.again' if command.again else ''}.jsonl")
            if deaths >= _DEATHS_IN_A_ROW:
                raise failure(f"It died {deaths} times without reading a document. Its messages are above.")
    return tally


def _picklable(settings: Settings) -> Settings:
    """The same; the class of loaded settings is a local one."""
    return Settings.model_construct(**{name: getattr(settings, name) for name in Settings.model_fields})


def _documents_in(plan: BatchPlan, shards: int) -> int:
    """About how many documents so many shards have."""
    return round(plan.documents * shards / max(1, plan.shards))


def _reason(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _run_child(order: BatchOrder, tally: BatchTally, left: list[int], progress: BatchProgress) -> int:
    """Runs the child to its end; takes shards that are done out of `left`. Returns its exit status."""
    command = [sys.executable, "-m", CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # noqa: S603 - our own
        assert child.stdin is not None  # noqa: S101 - pipes, as asked for
        assert child.stdout is not None  # noqa: S101
        try:
            child.stdin.write(pickle.dumps(order))
            child.stdin.flush()
            for line in child.stdout:
                event = BatchEvent(**orjson.loads(line))
                if event.document:
                    tally.pages += event.pages
                    tally.read += event.pages > 0
                    tally.failed += event.pages == 0
                else:
                    tally.shards += 1
                    left.remove(event.shard)
                progress.show(event, tally)
            return child.wait()
        except BrokenPipeError:
            return child.wait()
        except BaseException:
            child.kill()
            raise


class BatchProgress:
    """A bar on a terminal; otherwise a line a minute."""

    def __init__(self, bar: Progress, documents: int, shards: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=documents)
        self._shards = shards
        self._shown = self._begun = time.monotonic()

    def show(self, event: BatchEvent, tally: BatchTally) -> None:
        """Takes an event, and the counts after it."""
        rate = tally.pages / max(1e-3, time.monotonic() - self._begun)
        text = f"{tally.pages} pages, {rate:.1f}/s, {tally.failed} failed"
        self._bar.update(self._task, completed=tally.read + tally.failed, description=text)
        if self._bar.disable and time.monotonic() - self._shown >= _SAYS_EVERY_S:
            self._shown = time.monotonic()
            done = f"{tally.shards} of {self._shards} shards"
            say(f"{done}; {tally.read} documents read, {text}; shard {event.shard}.")


@contextmanager
def _progress(documents: int, shards: int) -> Iterator[BatchProgress]:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield BatchProgress(bar, documents, shards)
