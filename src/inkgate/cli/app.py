"""`inkgate`: the command line; one module per command. Each command imports slow modules only when it runs."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from inkgate import __version__
from inkgate.cli.compare_engines import compare_engines
from inkgate.cli.doctor import doctor
from inkgate.cli.eval import evaluate
from inkgate.cli.extract import extract, types, verify
from inkgate.cli.jobs import jobs
from inkgate.cli.key import key
from inkgate.cli.loadtest import loadtest
from inkgate.cli.mcp import mcp
from inkgate.cli.read import read
from inkgate.cli.report import report
from inkgate.cli.serve import serve
from inkgate.cli.tune import tune
from inkgate.cli.work import work

app = typer.Typer(
    name="inkgate",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,  # tracebacks with local variables could show documents and keys
)


def _version(*, wanted: bool) -> None:
    if wanted:
        print(f"inkgate {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Start with `inkgate read page.png`, or with `inkgate serve` and then "
    "`curl -F file=@page.png http://127.0.0.1:7860/ocr`. "
    "The documentation is in docs/ of the repository, and at /docs/guide/ of a running service."
)
def _inkgate(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda wanted: _version(wanted=wanted), is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Read the text of images and PDFs, from the command line or as an HTTP service."""


app.command("read", no_args_is_help=True)(read)
app.command("extract", no_args_is_help=True)(extract)
app.command("verify", no_args_is_help=True)(verify)
app.command("types")(types)
app.command("serve")(serve)
app.command("work")(work)
app.add_typer(jobs, name="jobs")
app.command("mcp")(mcp)
app.command("doctor")(doctor)
app.command("key")(key)
app.command("eval", no_args_is_help=True)(evaluate)
app.command("compare-engines", no_args_is_help=True)(compare_engines)
app.command("loadtest", no_args_is_help=True)(loadtest)
app.command("tune", no_args_is_help=True)(tune)
app.command("report", no_args_is_help=True)(report)


def main() -> NoReturn:
    """Runs the command line; ends the process with its exit status."""
    app()
    sys.exit(0)
