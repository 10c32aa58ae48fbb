"""Runs `inkgate batch`: makes the plan, and lets a process of this machine read it, or actors of Ray."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from inkgate.batch.plan import BatchFolder, BatchInvalid, BatchPlan, list_documents
from inkgate.batch.rows import check_format
from inkgate.cli import batch_command
from inkgate.cli.batch_child import BatchOrder
from inkgate.cli.batch_command import BatchCommand, BatchProgress, BatchTally, batch_progress, scratch_folder
from inkgate.cli.batch_process import BatchStopped, ReadingProcess
from inkgate.cli.batch_ray import read_on_ray
from inkgate.cli.inputs import SUFFIXES
from inkgate.cli.messages import failure, say
from inkgate.cli.readers import say_gone
from inkgate.storage.objects import Objects
from inkgate_client.concurrency import Threads
from inkgate_client.many import read_many
from inkgate_client.reading import RemoteReader

MAX_REASONS: Final = 10
"""Documents of which the end of a run says why they failed."""
_MAX_MARKERS: Final = 5_000
_MARKERS_AT_ONCE: Final = 16


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
        markers = await _markers(folder, wanted)
        wanted = [shard for shard, marker in markers.items() if marker.get("failed")]
    return plan, wanted


@dataclass(frozen=True, slots=True)
class BatchStanding:
    """What the runs until now have read of a plan, or of a part of it.

    Attributes:
        documents, pages: that were read, of shards that are done.
        failed: documents that could not be read. `reasons`: why, of the first of them, a line each.
    """

    documents: int
    pages: int
    failed: int
    reasons: tuple[str, ...]


async def standing(command: BatchCommand, plan: BatchPlan) -> BatchStanding | None:
    """Returns how far this part of the plan is; None if it is so large that its markers take minutes to load.

    Raises:
        InkgateError: a store can't be reached.
    """
    folder = BatchFolder(Objects(command.settings.storage), command.results)
    index, count = command.part
    done = sorted(shard for shard in await folder.done() if shard % count == index and shard < plan.shards)
    if len(done) > _MAX_MARKERS:
        return None
    markers = await _markers(folder, done)
    failed = {shard: marker["failed"] for shard, marker in markers.items() if marker.get("failed")}
    reasons: list[str] = []
    for shard, rows in failed.items():
        data = await folder.objects.get(folder.data(shard, command.rows.suffix), max_bytes=2**31)
        found = await Threads("batch_rows", 1).run(command.rows.load, data)
        reasons += [
            f"{row.document}: {row.error or row.status} ({row.error_code})" for row in map(found.__getitem__, rows)
        ]
        if len(reasons) >= MAX_REASONS:
            break
    total, failures = sum(marker["documents"] for marker in markers.values()), sum(map(len, failed.values()))
    pages = sum(marker["pages"] for marker in markers.values())
    return BatchStanding(total - failures, pages, failures, tuple(reasons[:MAX_REASONS]))


async def _markers(folder: BatchFolder, shards: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What is known of shards that are done."""
    async with read_many(folder.done_shard, shards, _MARKERS_AT_ONCE) as outcomes:
        return {outcome.source: outcome.result async for outcome in outcomes}


async def check_servers(command: BatchCommand) -> None:
    """Prints which services can't be used. Raises ServiceError: none can."""
    if command.servers:
        async with RemoteReader.of(command.servers, command.key) as reader:
            _types, gone = await reader.check()
        say_gone(gone)


def _forget(scratch: Path, done: Collection[int]) -> None:
    """Deletes journals of shards that are done: a run was killed before it could. Blocking."""
    for shard in done:
        (scratch / f"{shard:05}.jsonl").unlink(missing_ok=True)


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
                read_on_ray(command, plan, wanted, tally, progress)
            else:
                _read_here(command.order(plan), wanted, tally, progress)
        except BatchStopped as error:
            say(str(error))
            raise failure(f"Stopped after {tally.read} documents. Run the same command again to go on.") from error
    return tally


def _read_here(order: BatchOrder, wanted: Sequence[int], tally: BatchTally, progress: BatchProgress) -> None:
    process = ReadingProcess(
        order, batch_command.CHILD, lambda how: say(f"The process that reads died ({how}). It is started again.")
    )
    try:
        for event in process.read(wanted):
            tally.add(event)
            progress.show(event.shard, tally)
        process.close()
    finally:
        process.kill()
