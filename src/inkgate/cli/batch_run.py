"""Runs `inkgate batch`: makes the plan, and lets a process of this machine read it, or actors of Ray."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import orjson

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
from inkgate_client.reading import RemoteReader


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


async def _has_failed(folder: BatchFolder, shard: int) -> bool:
    marker = orjson.loads(await folder.objects.get(folder.done_marker(shard), max_bytes=1_000_000))
    return bool(marker.get("failed"))


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
