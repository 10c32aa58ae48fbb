"""`inkgate watch`: reads what is put into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.configure import (
    ConfigOption,
    EngineOption,
    VllmModelOption,
    VllmUrlOption,
    engine_flags,
    logs_of_command,
)
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say, start_errors
from inkgate.cli.read import KeyFileOption, ServerOption, service_or_settings
from inkgate.settings import Settings

if TYPE_CHECKING:
    from inkgate.cli.read_remote import ServiceAddress
    from inkgate.cli.watched_folder import WatchJournal
    from inkgate.cli.watching import WatchCommand, WatchTally

FOUND_TYPE = "auto"


def watch(  # noqa: PLR0913 - one parameter for each option of the command
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="The folder, with sub-folders.", exists=True, file_okay=False, show_default=False
        ),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of the results.", show_default=False)],
    *,
    format: Annotated[  # noqa: A002 - the option's name
        list[str] | None,
        typer.Option(
            "--format", "-f", metavar="FORMATS", help="As of `inkgate read`. Default: markdown.", show_default=False
        ),
    ] = None,
    fields: Annotated[
        str,
        typer.Option(
            "--type",
            metavar="NAME|auto",
            help="Find the fields of this document type, too; auto: of the type that is found.",
            show_default=False,
        ),
    ] = "",
    jobs: Annotated[int, typer.Option("-j", min=1, max=64, help="How many documents to read at once.")] = 2,
    poll_s: Annotated[
        float, typer.Option("--poll", min=0.1, max=3600.0, metavar="SECONDS", help="Between two looks at the folder.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there is read.")] = False,
    server: ServerOption = "",
    key_file: KeyFileOption = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Read the documents that are put into a folder, until it is stopped.

    `inkgate watch scans/ text/ -f markdown,text` writes text/NAME.md and text/NAME.txt for every image and PDF that
    appears in scans/, and again when one is replaced. With --type, NAME.fields.json has its fields. A document is read
    once it did not change between two looks. One that can't be read has a NAME.error.txt.

    OUT/.inkgate-watch.jsonl says what was read, so that nothing is read twice after a restart. Originals are not
    touched. Ctrl-C finishes the documents that are being read; a second one stops at once.

    With `--server URL`, a running service reads them, with the same results. It is waited for while it is away.

    Exit status: 0, 1 if a document could not be read, 2 if the arguments are wrong.
    """
    from inkgate.cli.read import chosen_formats

    flags = engine_flags(engine, vllm_url, vllm_model)
    reader = service_or_settings(server, key_file, config, flags, given=bool(engine or vllm_url or vllm_model))
    formats = chosen_formats(format or ["markdown"])
    if output.resolve() == folder.resolve():
        raise misuse("IN and OUT are the same folder. Results would be beside the documents.")
    from inkgate.cli.watched_folder import FolderInUse, WatchedFolder, WatchJournal, owned
    from inkgate.cli.watching import WatchCommand

    wanted = ("" if fields == FOUND_TYPE else fields) if fields else None
    order = WatchCommand(WatchedFolder(folder, output), formats, wanted, jobs, poll_s, once)
    try:
        with owned(output):
            journal = WatchJournal(output)
            if isinstance(reader, Settings):
                tally = _run_here(reader, order, journal)
            else:
                tally = _run_there(reader, order, journal)
    except FolderInUse as error:
        raise misuse(f"Another `inkgate watch` writes into {output}.") from error
    except OSError as error:
        raise failure(f"{error.filename or output}: {error.strerror or error}.") from error
    say(f"{tally.read} read; {tally.failed} failed.")
    if tally.failed:
        raise typer.Exit(FAILED)


def _run_there(address: ServiceAddress, order: WatchCommand, journal: WatchJournal) -> WatchTally:
    """Raises typer.Exit: an argument is wrong, the service can't be used, or Ctrl-C was pressed; OSError."""
    import anyio

    from inkgate.cli.watch_remote import ServiceReader
    from inkgate.cli.watching import FolderWatch, ReaderAway
    from inkgate.client import AsyncInkgateClient, ServiceError
    from inkgate.concurrency import single_error

    async def run() -> WatchTally:
        async with AsyncInkgateClient(address.url, address.key) as client:
            types = await client.document_types()  # says at once that the service is gone or wants another key
            if order.fields and order.fields not in types:
                raise misuse(f"The service has no document type {order.fields!r}: {', '.join(sorted(types))}.")
            _say_watching(order)
            return await FolderWatch(ServiceReader(client), order, journal).run()

    try:
        with single_error():
            return anyio.run(run)
    except (ServiceError, ReaderAway) as error:
        raise failure(str(error)) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error


def _say_watching(order: WatchCommand) -> None:
    if not order.once:
        say(f"Watching {order.watched.folder}. Ctrl-C stops.")


def _run_here(settings: Settings, order: WatchCommand, journal: WatchJournal) -> WatchTally:
    """Raises typer.Exit: an argument is wrong, the engine did not start, or Ctrl-C was pressed; OSError."""
    import anyio

    from inkgate.cli.watch_here import EngineReader
    from inkgate.cli.watching import FolderWatch
    from inkgate.concurrency import single_error
    from inkgate.extraction.finder import field_finder
    from inkgate.extraction.wanted import wanted_fields
    from inkgate.library import AsyncOcr, field_request
    from inkgate.telemetry.logs import configure_logs

    configure_logs(logs_of_command(settings))

    async def run() -> WatchTally:
        async with AsyncOcr(settings) as ocr:
            _say_watching(order)
            return await FolderWatch(EngineReader(ocr), order, journal).run()

    try:
        with start_errors(), single_error():
            if order.fields is not None:
                wanted_fields(field_request(None, {"type": order.fields}), field_finder(settings).types)
            return anyio.run(run)
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
