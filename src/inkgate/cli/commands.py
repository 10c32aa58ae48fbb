"""The commands: where each is, and under which heading `inkgate --help` lists it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Final

import typer

from inkgate import __version__

_READING: Final = "Read documents"
_SERVING: Final = "Run a service"
_MEASURING: Final = "Measure and tune"


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """`module` in inkgate.cli has the function `function`, or a typer.Typer of this name for `group`.

    `explain`: without arguments, the command shows its help.
    """

    module: str
    function: str
    panel: str
    explain: bool = False
    group: bool = False


COMMANDS: Final = {
    "demo": CommandPlace("demo.command", "demo", _READING, group=True),
    "read": CommandPlace("read", "read", _READING, explain=True),
    "extract": CommandPlace("extract", "extract", _READING, explain=True),
    "verify": CommandPlace("extract", "verify", _READING, explain=True),
    "types": CommandPlace("extract", "types", _READING),
    "watch": CommandPlace("watch", "watch", _READING, explain=True),
    "batch": CommandPlace("batch", "batch", _READING, explain=True),
    "notion": CommandPlace("notion", "notion", _READING, explain=True),
    "serve": CommandPlace("serve", "serve", _SERVING),
    "work": CommandPlace("work", "work", _SERVING),
    "jobs": CommandPlace("jobs", "jobs", _SERVING, group=True),
    "key": CommandPlace("key", "key", _SERVING),
    "doctor": CommandPlace("doctor", "doctor", _SERVING),
    "mcp": CommandPlace("mcp", "mcp", _SERVING),
    "feishu": CommandPlace("feishu", "feishu", _SERVING),
    "eval": CommandPlace("eval", "evaluate", _MEASURING, explain=True),
    "compare-engines": CommandPlace("compare_engines", "compare_engines", _MEASURING, explain=True),
    "loadtest": CommandPlace("loadtest", "loadtest", _MEASURING, explain=True),
    "tune": CommandPlace("tune", "tune", _MEASURING, explain=True),
    "report": CommandPlace("report", "report", _MEASURING, explain=True),
}
_EPILOG: Final = (
    "Start with one of these: `inkgate demo receipts` shows a complete example; `inkgate read page.png` "
    "prints the text of a page; `inkgate extract receipt.jpg` finds its fields; `inkgate serve` starts the service "
    "and its web page. "
    "The documentation is in docs/ of the repository, and at /docs/guide/ of a running service."
)


def build(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands, whose modules are imported."""
    app = typer.Typer(
        name="inkgate",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,  # tracebacks with local variables could show documents and keys
    )
    app.callback(epilog=_EPILOG)(_inkgate)
    for name in names:
        place = COMMANDS[name]
        found = getattr(import_module(f"inkgate.cli.{place.module}"), place.function)
        if place.group:
            app.add_typer(found, name=name, rich_help_panel=place.panel)
        else:
            app.command(name, no_args_is_help=place.explain, rich_help_panel=place.panel)(found)
    return app


def _version(*, wanted: bool) -> None:
    if wanted:
        print(f"inkgate {__version__}")
        raise typer.Exit


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
