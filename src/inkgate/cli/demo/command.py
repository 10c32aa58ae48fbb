"""The commands of `inkgate demo`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from inkgate.cli.demo.folder import INTO, DemoFolder, claimed

demo = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Complete examples with sample documents, on this machine: start with `inkgate demo receipts`.",
)

IntoOption = Annotated[
    Path,
    typer.Option("--into", metavar="FOLDER", help="Everything is written below this folder.", file_okay=False),
]
PortOption = Annotated[
    int,
    typer.Option(metavar="PORT", min=0, max=65535, help="Port of the service on this machine. 0: any that is free."),
]
OnceOption = Annotated[bool, typer.Option("--once", help="End after the summary, instead of running until Ctrl-C.")]


@demo.command("receipts")
def receipts(
    *,
    own: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Read the images and PDFs of this folder, instead of the samples.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ] = None,
    into: IntoOption = INTO,
    port: PortOption = 0,
    once: OnceOption = False,
) -> None:
    """Photos and PDFs of receipts become rows of a table; doubtful ones are listed with the reason.

    Starts a service with jobs and a pipeline into an SQLite table, adds the receipts as jobs, and prints the table,
    what a person should look at, and the commands that do the same by hand. Nothing leaves this machine.
    """
    from inkgate.cli.demo.receipts import run_receipts
    from inkgate.cli.demo.service import DemoRun
    from inkgate.cli.inputs import collect

    with claimed(into, "receipts" if own is None else "own-receipts") as folder:
        if own is None:
            folder.copy_samples("receipts")
        run_receipts(DemoRun(folder, port, once), collect([str(own or folder.documents)]).sources)


@demo.command("contracts")
def contracts(*, into: IntoOption = INTO, port: PortOption = 0, once: OnceOption = False) -> None:
    """Contracts become searchable PDFs, Markdown and fields; a figure that changed in the signed version is found.

    Reads four contracts as jobs, with fields by a JSON Schema. Looks up the values of a draft in the version that came
    back signed, and compares both texts. Nothing leaves this machine.
    """
    from inkgate.cli.demo.contracts import run_contracts
    from inkgate.cli.demo.service import DemoRun
    from inkgate.cli.inputs import collect

    with claimed(into, "contracts") as folder:
        folder.copy_samples("contracts")
        run_contracts(DemoRun(folder, port, once), collect([str(folder.documents)]).sources)


@demo.command("archive")
def archive(*, into: IntoOption = INTO, port: PortOption = 0, once: OnceOption = False) -> None:
    """Scans that are dropped into a folder become searchable PDFs and text, and can be searched page by page.

    Watches the folder `scans`, into which it drops some documents itself, has the service read what appears there, and
    keeps an index of all pages, which `inkgate demo search` asks. Nothing leaves this machine.
    """
    from inkgate.cli.demo.archive import run_archive
    from inkgate.cli.demo.service import DemoRun

    with claimed(into, "archive") as folder:
        run_archive(DemoRun(folder, port, once))


@demo.command("search", no_args_is_help=True)
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="All of them are on the page.")],
    *,
    into: IntoOption = INTO,
) -> None:
    """Search the pages that `inkgate demo archive` has read, also while it runs.

    Exit status: 0 if a page has the words, 1 if none has, 2 if there is no archive.
    """
    from inkgate.cli.demo.archive import Archive, print_hits
    from inkgate.cli.messages import FAILED, failure, misuse, say

    archive = Archive(DemoFolder(into.absolute() / "archive", str(into / "archive")))
    if not archive.folder.is_own or not archive.results.is_dir():
        raise misuse(f"There is no archive in {into}. `inkgate demo archive` makes one.")
    try:
        archive.index.update(archive.results)
        hits = archive.index.search(" ".join(words))
    except (OSError, sqlite3.Error) as error:
        raise failure(f"The index in {archive.folder.shown} can't be used: {error}.") from error
    if not hits:
        say("No page has these words.")
        raise typer.Exit(FAILED)
    print_hits(hits)
