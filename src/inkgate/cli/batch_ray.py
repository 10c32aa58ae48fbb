"""`inkgate batch --ray`: the actors of a Ray Data pool read shards, each in a process as on one machine.

Only indexes of shards and counts go through Ray; actors write the rows. A shard of an actor that is lost is read by it
again once Ray has restarted it; the rest is as on one machine: markers say which shards are done.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, Final

import anyio

from inkgate import __version__
from inkgate.batch.journal import note_death
from inkgate.batch.plan import BatchInvalid, BatchPlan
from inkgate.cli import batch_command
from inkgate.cli.batch_child import BatchOrder
from inkgate.cli.batch_command import BatchCommand, BatchProgress, BatchTally, scratch_folder
from inkgate.cli.batch_process import BatchStopped, ReadingProcess
from inkgate.cli.messages import say
from inkgate.errors import InkgateError
from inkgate.installation import install_extra

_TAKEN_S: Final = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Pauses before a shard is tried again: the process of an actor that was lost may still end."""
_CHECK_S: Final = 120.0
_BLOCK_BYTES: Final = 1_000_000


def check_ray(address: str) -> None:
    """Raises BatchInvalid: Ray is not installed, or the address is none of a cluster."""
    if find_spec("ray") is None:
        raise BatchInvalid(f"--ray needs Ray: {install_extra('ray')}.")
    if address.startswith("ray://"):
        raise BatchInvalid("--ray takes no address of Ray Client (ray://). Run the command on a node of the cluster.")


@dataclass(slots=True)
class ShardReport:
    """What an actor answers for a shard. `deaths`: of processes that read; `stopped`: why it can't go on, or empty."""

    shard: int
    read: int = 0
    failed: int = 0
    pages: int = 0
    shards: int = 0
    taken: int = 0
    deaths: int = 0
    stopped: str = ""


class ShardActor:
    """Reads a shard in each call. Ray keeps one in a process of its own, and makes a new one if that is lost."""

    def __init__(self, order: BatchOrder, child: str) -> None:
        import ray

        order = replace(order, scratch=scratch_folder(order.plan, order.folder))  # of this node
        self._order = order
        self._deaths = 0
        self._process = ReadingProcess(order, child, self._note)
        self._restarted: bool = ray.get_runtime_context().was_current_actor_reconstructed

    def _note(self, how: str) -> None:
        self._deaths += 1
        logging.getLogger(__name__).warning("The process that reads died (%s). It is started again.", how)

    def __call__(self, batch: Mapping[str, Sequence[int]]) -> dict[str, list[object]]:
        """The report of the shard in the batch, as columns of one value each."""
        report = self._report(int(batch["shard"][0]))
        return {name: [value] for name, value in asdict(report).items()}

    def _report(self, shard: int) -> ShardReport:
        tally, stopped = BatchTally(), ""
        self._deaths = 0
        try:
            restarted, self._restarted = self._restarted, False
            if restarted:  # what was open when the actor was lost is a suspect: Ray may have ended it for memory
                note_death(self._order.journal(shard))
            self._read(shard, tally)
            if restarted and tally.shards:  # the lost actor told nothing of what it read
                anyio.run(count_whole, self._order, shard, tally)
        except BatchStopped as error:
            stopped = str(error)
            self._process.kill()
        except InkgateError as error:
            stopped = f"{error.title}. {error.detail} {error.remedy} ({error.code})"
        except OSError as error:
            stopped = f"{error.filename or 'The results'}: {error.strerror or error}."
        return ShardReport(shard, **asdict(tally), deaths=self._deaths, stopped=stopped)

    def _read(self, shard: int, tally: BatchTally) -> None:
        for pause_s in (*_TAKEN_S, None):
            for event in self._process.read([shard]):
                if event.status != "taken" or event.document or pause_s is None:
                    tally.add(event)
            if tally.shards or pause_s is None:
                return
            Event().wait(pause_s)


async def count_whole(order: BatchOrder, shard: int, tally: BatchTally) -> None:
    """Sets the counts to those of a whole shard that is done. Raises InkgateError: its marker can't be read."""
    marker = await order.work().folder.done_shard(shard)
    tally.failed = len(marker["failed"])
    if not order.again:
        tally.read = marker["documents"] - tally.failed
        tally.pages = marker.get("pages", tally.pages)  # none in one of an earlier version


def read_on_ray(
    command: BatchCommand, plan: BatchPlan, wanted: Sequence[int], tally: BatchTally, progress: BatchProgress
) -> None:
    """Reads shards by the actors of a cluster. Blocking.

    Raises:
        BatchInvalid: the cluster can't be used.
        BatchStopped: it can't go on.
    """
    if not wanted:
        return
    _set_environment()
    from ray.exceptions import RayError

    order = command.order(plan)
    with _connected(command.ray):
        try:
            nodes = _nodes()
            _check_nodes(nodes, order)
            for report in _reports(command, order, nodes, wanted):
                if report.deaths:
                    say(f"Shard {report.shard}: the process that reads died {report.deaths} times.")
                if report.stopped:
                    raise BatchStopped(report.stopped)
                counts = asdict(report)
                tally.include(BatchTally(**{name: counts[name] for name in asdict(tally)}))
                progress.show(report.shard, tally)
        except RayError as error:
            raise BatchStopped(f"Ray: {type(error).__name__}: {cause_of(str(error))}") from error


def cause_of(text: str) -> str:
    """The last line of Ray's text of an error, or of the error that caused it: what follows that is Ray's own."""
    lines = text.partition("\n\nThe above exception was the direct cause")[0].strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _set_environment() -> None:
    """Sets the environment of Ray, which reads it when it is imported, and hands it to what it starts."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # noqa: TID251
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # noqa: TID251 - of what Ray itself logs on standard error
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")  # noqa: TID251 - 20 tries at a cluster that is gone: 14 min


@contextmanager
def _connected(address: str) -> Iterator[None]:
    """Joins the cluster at an address; `local` starts one, and `auto` does unless one runs here."""
    import ray

    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    try:
        if address == "local":
            ray.init(address="local", include_dashboard=False, **quiet)
        else:
            try:
                ray.init(address=address, **quiet)
            except ConnectionError:
                if address != "auto":
                    raise
                ray.init(address="local", include_dashboard=False, **quiet)
    except Exception as error:
        raise BatchInvalid(f"The Ray cluster {address} can't be used: {str(error).strip()}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _nodes() -> dict[str, tuple[str, float]]:
    """Address and CPUs of each node that can have actors, by its ID."""
    import ray

    return {
        node["NodeID"]: (node["NodeManagerAddress"], node["Resources"]["CPU"])
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    }


def _check_nodes(nodes: Mapping[str, tuple[str, float]], order: BatchOrder) -> None:
    """Raises BatchInvalid: a node has another inkgate, or does not see the folders."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = [Path(url.removeprefix("file://")) for url in (order.plan.source, order.folder) if url.startswith("file://")]
    places = [str(place) for place in here]
    if order.folder.startswith("file://"):
        places.append(str(here[-1] / "_inkgate" / f"plan-{order.plan.token}"))

    def look() -> tuple[str, list[str]]:  # goes to the node as code: inkgate may be missing there
        from os.path import exists

        try:
            from inkgate import __version__ as version
        except ImportError:
            return "", []
        return version, [place for place in places if not exists(place)]  # noqa: PTH110

    asked = [
        ray.remote(look)
        .options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
        .remote()
        for node in nodes
    ]
    for (address, _), (version, missing) in zip(nodes.values(), ray.get(asked, timeout=_CHECK_S), strict=True):
        if version != __version__:
            found = f"inkgate {version}" if version else "no inkgate"
            raise BatchInvalid(f"The node {address} has {found}; all nodes need {__version__}, as this one has.")
        if missing:
            raise BatchInvalid(
                f"The node {address} does not see {missing[0]}. Use a folder that all nodes share, or an object store."
            )


def _reports(
    command: BatchCommand, order: BatchOrder, nodes: Mapping[str, tuple[str, float]], wanted: Sequence[int]
) -> Iterator[ShardReport]:
    """Yields the reports of the actors, in the order in which shards end."""
    import ray.data

    cpus = command.actor_cpus
    if cpus is None:
        cpus = 1.0 if command.servers else min((count for _, count in nodes.values()), default=1.0)
    most = min(command.actors or max(1, len(nodes)), len(wanted))
    if all(cpus > count for _, count in nodes.values()):
        say(f"No node has {cpus:g} CPUs now; waiting for one.")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = 0
    context.target_max_block_size = _BLOCK_BYTES
    shards = ray.data.from_items([{"shard": shard} for shard in wanted], override_num_blocks=len(wanted))
    done = shards.map_batches(
        ShardActor,
        batch_size=1,
        fn_constructor_args=(order, batch_command.CHILD),
        # From one on: the actor of a lost node gets the place of one that has nothing left to do.
        compute=ray.data.ActorPoolStrategy(
            min_size=1, initial_size=most, max_size=most, max_tasks_in_flight_per_actor=1
        ),
        num_cpus=cpus,
    )  # Ray Data restarts actors that are lost, and repeats their calls, without a limit
    for row in done.iter_rows():
        yield ShardReport(**row)
