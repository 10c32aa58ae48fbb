"""Runs `inkgate batch`: makes the plan, and lets a process of this machine read it, or actors of Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from inkgate.batch.plan import BatchFolder, BatchInvalid, BatchPlan, ShardLimits, list_documents
from inkgate.batch.rows import RowFormat, check_format
from inkgate.batch.shards import BatchEvent
from inkgate.cli.batch_child import BatchOrder
from inkgate.cli.batch_process import BatchStopped, ReadingProcess
from inkgate.cli.inputs import SUFFIXES
from inkgate.cli.messages import failure, say
from inkgate.settings import Settings
from inkgate.storage.objects import Objects

CHILD = "inkgate.cli.batch_child"
"""The module of the process that reads."""
_SAYS_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class BatchCommand:
    """What is read, and how.

    Attributes:
        source, results: URLs of folders.
        part: which shards: those whose index divided by `part[1]` leaves `part[0]`.
        again: failed documents of shards that are done, and nothing else.
        gateways: URLs of services; empty: the engine of the machine that reads.
        ray: address of a cluster; empty: this machine reads.
        actors: of Ray, at most; None: one for each node.
        actor_cpus: that each takes; None: of a node, or with gateways one.
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
    ray: str = ""
    actors: int | None = None
    actor_cpus: float | None = None

    def order(self, plan: BatchPlan) -> BatchOrder:
        """The order for the process that reads."""
        return BatchOrder(
            settings=_picklable(self.settings),
            folder=self.results,
            plan=plan,
            scratch=scratch_folder(plan, self.results),
            at_once=self.at_once,
            max_bytes=int(self.settings.limits.max_body_mb * 1_000_000),
            again=self.again,
            gateways=self.gateways,
            key=self.key,
        )


@dataclass(slots=True)
class BatchTally:
    """Counts of one run. `taken`: shards that another process reads."""

    read: int = 0
    failed: int = 0
    pages: int = 0
    shards: int = 0
    taken: int = 0

    def add(self, event: BatchEvent) -> None:
        """Counts an event."""
        if event.document:
            self.pages += event.pages
            self.read += event.pages > 0
            self.failed += event.pages == 0
        else:
            self.shards += event.status == "done"
            self.taken += event.status == "taken"

    def include(self, other: BatchTally) -> None:
        """Adds the counts of another one."""
        for name in ("read", "failed", "pages", "shards", "taken"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


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
    """Reads shards. Blocking.

    Raises:
        BatchInvalid: the cluster can't be used.
        typer.Exit: it can't go on; why was said.
        KeyboardInterrupt: the process was stopped.
    """
    tally = BatchTally()
    with batch_progress(round(plan.documents * len(wanted) / max(1, plan.shards)), len(wanted)) as progress:
        try:
            if command.ray:
                from inkgate.cli.batch_ray import read_on_ray

                read_on_ray(command, plan, wanted, tally, progress)
            else:
                _read_here(command.order(plan), wanted, tally, progress)
        except BatchStopped as error:
            say(str(error))
            raise failure(f"Stopped after {tally.read} documents. Run the same command again to go on.") from error
    return tally


def _read_here(order: BatchOrder, wanted: Sequence[int], tally: BatchTally, progress: BatchProgress) -> None:
    process = ReadingProcess(
        order, CHILD, lambda how: say(f"The process that reads died ({how}). It is started again.")
    )
    try:
        for event in process.read(wanted):
            tally.add(event)
            progress.show(event.shard, tally)
        process.close()
    finally:
        process.kill()


def _picklable(settings: Settings) -> Settings:
    """The same; the class of loaded settings is a local one."""
    return Settings.model_construct(**{name: getattr(settings, name) for name in Settings.model_fields})


class BatchProgress:
    """A bar on a terminal; otherwise a line a minute."""

    def __init__(self, bar: Progress, documents: int, shards: int) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=documents)
        self._shards = shards
        self._shown = self._begun = time.monotonic()

    def show(self, shard: int, tally: BatchTally) -> None:
        """Takes the counts, and the shard that changed them last."""
        rate = tally.pages / max(1e-3, time.monotonic() - self._begun)
        text = f"{tally.pages} pages, {rate:.1f}/s, {tally.failed} failed"
        self._bar.update(self._task, completed=tally.read + tally.failed, description=text)
        if self._bar.disable and time.monotonic() - self._shown >= _SAYS_EVERY_S:
            self._shown = time.monotonic()
            done = f"{tally.shards} of {self._shards} shards"
            say(f"{done}; {tally.read} documents read, {text}; shard {shard}{self._left()}.")

    def _left(self) -> str:
        left_s = self._bar.tasks[0].time_remaining
        return f"; about {timedelta(seconds=round(left_s))} left" if left_s else ""


@contextmanager
def batch_progress(documents: int, shards: int) -> Iterator[BatchProgress]:
    """Shows how far a run is on standard error."""
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
