"""`inkgate batch`: reads a whole folder or bucket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say, start_errors
from inkgate.cli.readers import ReaderOptions, reads_documents

if TYPE_CHECKING:
    from inkgate.cli.batch_command import BatchCommand, BatchTally
    from inkgate.cli.batch_run import BatchStanding

ROW_FORMATS = ("jsonl", "parquet", "markdown")


@reads_documents()
def batch(  # noqa: PLR0913 - one parameter for each option of the command
    source: Annotated[str, typer.Argument(metavar="IN", help="A folder, or a URL such as s3://bucket/scans.")],
    results: Annotated[str, typer.Argument(metavar="OUT", help="A folder or URL for the results.")],
    *,
    format: Annotated[  # noqa: A002 - the option's name
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="|".join(ROW_FORMATS),
            help="A row a document, in a file a shard; markdown: a file a document, too.",
        ),
    ] = "jsonl",
    shard: Annotated[
        str, typer.Option("--shard", metavar="I/N", help="Read every Nth shard, from the Ith (0 to N-1) on.")
    ] = "0/1",
    shard_documents: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="N", help="Documents of a shard, for a new plan.")
    ] = 256,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Read the failed documents of finished shards again, nothing else.")
    ] = False,
    ray: Annotated[
        str,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Read on this Ray cluster: HOST:6379, auto (the one of this node), or local.",
        ),
    ] = "",
    actors: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="With --ray: actors at most. Default: the cluster's nodes.", show_default=False
        ),
    ] = None,
    actor_cpus: Annotated[
        float | None,
        typer.Option(
            min=0.01,
            metavar="N",
            help="With --ray: CPUs of an actor. Default: of a node; 1 with --server.",
            show_default=False,
        ),
    ] = None,
    reader: ReaderOptions,
) -> None:
    """Read a whole folder or bucket: millions of pages, in shards that are read once each.

    The first run lists IN and writes a plan; further runs read what is not done yet, on this machine or others. Run
    the same command again after it was stopped or killed. `--shard 3/16` reads a sixteenth, for the tasks of a
    cluster's scheduler; `--ray` reads on a Ray cluster. Rows are in OUT/data/, one file a shard.

    A document that can't be read is a row with `error_code`. One that ends the process that reads it is read again
    alone, and is `quarantined` the third time.

    Exit status: 0, 1 if documents failed or it could not go on, 2 if the arguments are wrong.
    """
    if format not in ROW_FORMATS:
        raise misuse(f"{format!r} is not a format. Choose from {', '.join(ROW_FORMATS)}.")
    part = re.fullmatch(r"(\d{1,6})/(\d{1,6})", shard)
    if part is None or int(part[1]) >= int(part[2]):
        raise misuse("--shard has the form I/N, such as 0/16 to 15/16.")
    if not ray and (actors or actor_cpus):
        raise misuse("--actors and --actor-cpus are for --ray.")
    settings = reader.command_settings()  # failures are in the rows
    from inkgate.batch.plan import ShardLimits
    from inkgate.batch.rows import RowFormat
    from inkgate.cli.batch_command import BatchCommand

    command = BatchCommand(
        settings=settings,
        source=_url(source, exists=True),
        results=_url(results),
        rows=RowFormat(format),
        part=(int(part[1]), int(part[2])),
        again=retry_failed,
        at_once=reader.at_once,
        limits=ShardLimits(shard_documents),
        servers=reader.servers,
        key=reader.key,
        ray=ray,
        actors=actors,
        actor_cpus=actor_cpus,
    )
    tally = _run(command)
    if tally.failed:
        raise typer.Exit(FAILED)


def _url(place: str, *, exists: bool = False) -> str:
    from inkgate.storage.objects import file_url

    if "://" in place:
        return place.rstrip("/")
    if exists and not Path(place).is_dir():
        raise misuse(f"{place} is not a folder.")
    return file_url(Path(place))


def _run(command: BatchCommand) -> BatchTally:
    import anyio

    from inkgate.batch.plan import BatchInvalid
    from inkgate.cli.batch_run import check_servers, planned, read_planned, standing
    from inkgate.telemetry.logs import configure_logs
    from inkgate_client import ServiceError

    configure_logs(command.settings.log)
    try:
        if command.ray:
            from inkgate.cli.batch_ray import check_ray

            check_ray(command.ray)
        else:  # nodes of a cluster may reach services that this machine can't
            anyio.run(check_servers, command)
        with start_errors():
            plan, wanted = anyio.run(planned, command)
        say(f"{plan.documents} documents in {plan.shards} shards; {len(wanted)} to read.")
        tally = read_planned(command, plan, wanted)
        with start_errors():
            stands = anyio.run(standing, command, plan)
    except ServiceError as error:
        raise failure(str(error)) from error
    except BatchInvalid as error:
        raise misuse(str(error)) from error
    except OSError as error:
        raise failure(f"{error.filename or command.results}: {error.strerror or error}.") from error
    except KeyboardInterrupt as error:
        say("interrupted. Run the same command again to go on.")
        raise typer.Exit(INTERRUPTED) from error
    if tally.taken:
        say(f"{tally.taken} shards are read by another process.")
    if wanted:
        say(f"{tally.read} read ({tally.pages} pages); {tally.failed} failed; rows in {command.results}/data.")
    if stands is not None:
        _say_standing(command, tally, stands)
    return tally


def _say_standing(command: BatchCommand, tally: BatchTally, stands: BatchStanding) -> None:
    """Says what all runs have read, if there was more than this one, what failed, and why."""
    if (stands.documents, stands.failed) != (tally.read, tally.failed):
        part = "In all" if command.part == (0, 1) else f"Of part {command.part[0]}/{command.part[1]}"
        say(
            f"{part}, {stands.documents} documents are read ({stands.pages} pages) and {stands.failed} failed; "
            f"rows in {command.results}/data."
        )
    if stands.failed:
        say(*stands.reasons, *([f"and {more} more"] if (more := stands.failed - len(stands.reasons)) else []))
        say("Repeat the command with --retry-failed to read the failed documents again.")
