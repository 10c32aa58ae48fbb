"""The commands of `inkgate demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
INTO = Path("inkgate-demo")


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
    from inkgate.cli.demo.folder import claimed
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
    from inkgate.cli.demo.folder import claimed
    from inkgate.cli.demo.service import DemoRun
    from inkgate.cli.inputs import collect

    with claimed(into, "contracts") as folder:
        folder.copy_samples("contracts")
        run_contracts(DemoRun(folder, port, once), collect([str(folder.documents)]).sources)
