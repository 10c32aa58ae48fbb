"""`inkgate watch`: reads what is put into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say
from inkgate.cli.readers import ReaderOptions, reads_documents, run_with_reader

if TYPE_CHECKING:
    from inkgate.cli.watched_folder import WatchJournal
    from inkgate.cli.watching import WatchCommand, WatchTally
    from inkgate_client.reading import DocumentReader

FOUND_TYPE = "auto"


@reads_documents()
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
    poll_s: Annotated[
        float, typer.Option("--poll", min=0.1, max=3600.0, metavar="SECONDS", help="Between two looks at the folder.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="End when everything that is there is read.")] = False,
    reader: ReaderOptions,
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

    formats = chosen_formats(format or ["markdown"])
    if output.resolve() == folder.resolve():
        raise misuse("IN and OUT are the same folder. Results would be beside the documents.")
    from inkgate.cli.watched_folder import FolderInUse, WatchedFolder, WatchJournal, owned
    from inkgate.cli.watching import WatchCommand

    wanted = ("" if fields == FOUND_TYPE else fields) if fields else None
    order = WatchCommand(WatchedFolder(folder, output), formats, wanted, reader.at_once, poll_s, once)
    try:
        with owned(output):
            tally = _run(reader, order, WatchJournal(output))
    except FolderInUse as error:
        raise misuse(f"Another `inkgate watch` writes into {output}.") from error
    except OSError as error:
        raise failure(f"{error.filename or output}: {error.strerror or error}.") from error
    say(f"{tally.read} read; {tally.failed} failed.")
    if tally.failed:
        raise typer.Exit(FAILED)


def _run(reader: ReaderOptions, order: WatchCommand, journal: WatchJournal) -> WatchTally:
    """Raises typer.Exit: an argument is wrong, the reader can't be used, or Ctrl-C was pressed; OSError."""
    from inkgate.cli.watching import FolderWatch
    from inkgate_client import WantedFields

    async def watch_folder(opened: DocumentReader) -> WatchTally:
        return await FolderWatch(opened, order, journal).run()

    try:
        return run_with_reader(reader, watch_folder, None if order.fields is None else WantedFields(order.fields))
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
