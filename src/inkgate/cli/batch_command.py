"""A run of `inkgate batch`: what is asked for, what was read, and the progress shown."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from inkgate.batch.plan import BatchPlan, ShardLimits
from inkgate.batch.rows import RowFormat
from inkgate.batch.shards import BatchEvent
from inkgate.cli.batch_child import BatchOrder
from inkgate.cli.messages import say
from inkgate.settings import Settings

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
        servers: URLs of services; empty: the engine of the machine that reads.
        ray: address of a cluster; empty: this machine reads.
        actors: of Ray, at most; None: one for each node.
        actor_cpus: that each takes; None: of a node, or with servers one.
    """

    settings: Settings
    source: str
    results: str
    rows: RowFormat
    part: tuple[int, int] = (0, 1)
    again: bool = False
    at_once: int = 4
    limits: ShardLimits = field(default_factory=ShardLimits)
    servers: tuple[str, ...] = ()
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
            servers=self.servers,
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


def scratch_folder(plan: BatchPlan, results: str) -> Path:
    """The folder of journals on this machine."""
    if results.startswith("file://"):
        return Path(results.removeprefix("file://"), "_inkgate", "work")
    named = Path(os.environ.get("XDG_STATE_HOME", ""))  # noqa: TID251 - where it keeps things, as jobs do
    base = named if named.is_absolute() else Path.home() / ".local" / "state"
    return base / "inkgate" / "batch" / plan.token


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
