"""The commands: where each is, and under which heading `inkgate --help` lists it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from inkgate import __version__
from inkgate.installation import install_package

READING: Final = "Read documents"
SERVING: Final = "Run a service"
MEASURING: Final = "Measure and tune"
OTHERS: Final = "Commands of other packages"
NOT_INSTALLED: Final = "Not installed"


@dataclass(frozen=True, slots=True)
class Command:
    """A command: a function that typer can run, or a typer.Typer with several commands.

    An entry point in the group `inkgate.commands` names one. It may also name the function or the typer.Typer itself.

    Attributes:
        panel: the heading under which `inkgate --help` lists it.
        explain: without arguments, the command shows its help.
    """

    run: Callable[..., Any] | typer.Typer
    panel: str = OTHERS
    explain: bool = False


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """The place of a command of inkgate: `module` in inkgate.cli has the function, or the typer.Typer, `name`."""

    module: str
    name: str
    panel: str
    explain: bool = False


COMMANDS: Final = {
    "demo": CommandPlace("demo.command", "demo", READING),
    "read": CommandPlace("read", "read", READING, explain=True),
    "extract": CommandPlace("extract", "extract", READING, explain=True),
    "verify": CommandPlace("extract", "verify", READING, explain=True),
    "types": CommandPlace("extract", "types", READING),
    "watch": CommandPlace("watch", "watch", READING, explain=True),
    "batch": CommandPlace("batch", "batch", READING, explain=True),
    "serve": CommandPlace("serve", "serve", SERVING),
    "work": CommandPlace("work", "work", SERVING),
    "jobs": CommandPlace("jobs", "jobs", SERVING),
    "key": CommandPlace("key", "key", SERVING),
    "doctor": CommandPlace("doctor", "doctor", SERVING),
    "mcp": CommandPlace("mcp", "mcp", SERVING),
}
PACKAGES: Final[Mapping[str, str]] = {
    "compare-engines": "inkgate-bench",
    "eval": "inkgate-bench",
    "feishu": "inkgate-feishu",
    "loadtest": "inkgate-bench",
    "notion": "inkgate-notion",
    "report": "inkgate-bench",
    "tune": "inkgate-bench",
}
"""Commands that packages of inkgate's repository add, and in which package each is."""

_EPILOG: Final = (
    "Start with one of these: `inkgate demo receipts` shows a complete example; `inkgate read page.png` "
    "prints the text of a page; `inkgate extract receipt.jpg` finds its fields; `inkgate serve` starts the service "
    "and its web page. "
    "The documentation is in docs/ of the repository, and at /docs/guide/ of a running service."
)


def is_command(name: str) -> bool:
    """Whether there is a command of this name, in inkgate or in a package that may be installed beside it."""
    return name in COMMANDS or name in PACKAGES or name in _registered()


def run(names: Iterable[str] = ()) -> None:
    """Runs the command line with these commands, or with all."""
    command = get_command(build(names))
    name_values(command)
    command(prog_name="inkgate")


def name_values(command: object, parent: typer.Context | None = None) -> None:
    """Has `--help` of a command of typer show values by their metavars alone, such as FILE, without the types that
    typer adds to them.
    """
    if not isinstance(command, TyperCommand | TyperGroup):
        return
    context = typer.Context(command, parent=parent, **command.context_settings)
    with context:
        for each in command.get_params(context):
            if isinstance(each, TyperOption) and each.is_flag:
                each.metavar = ""
            elif isinstance(each, TyperArgument):
                each.display_type_rich = lambda ctx: None  # type: ignore[method-assign]  # noqa: ARG005
        for inner in command.commands.values() if isinstance(command, TyperGroup) else ():
            name_values(inner, context)


def build(names: Iterable[str] = ()) -> typer.Typer:
    """The command line with these commands, or with all. Only their modules are imported."""
    app = typer.Typer(
        name="inkgate",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,  # tracebacks with local variables could show documents and keys
    )
    app.callback(epilog=_EPILOG)(_inkgate)
    for name in names or dict.fromkeys((*COMMANDS, *_registered(), *PACKAGES)):
        _add(app, name)
    return app


def _add(app: typer.Typer, name: str) -> None:
    if name not in COMMANDS and name not in _registered():
        whole: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
        app.command(name, rich_help_panel=NOT_INSTALLED, context_settings=whole)(_not_installed(name))
        return
    command = _command(name)
    if isinstance(command.run, typer.Typer):
        app.add_typer(command.run, name=name, rich_help_panel=command.panel)
    else:
        app.command(name, no_args_is_help=command.explain, rich_help_panel=command.panel)(command.run)


def _command(name: str) -> Command:
    if name in COMMANDS:
        place = COMMANDS[name]
        return Command(getattr(import_module(f"inkgate.cli.{place.module}"), place.name), place.panel, place.explain)
    point = _registered()[name]
    try:
        found = point.load()
        command = found if isinstance(found, Command) else Command(found)
        _build_alone(command)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever another package raises: other commands work
        return Command(_not_loaded(name, point, error))
    return command


def _build_alone(command: Command) -> None:
    """Raises what typer raises if it can't run the command, such as TypeError if it is no function."""
    app = typer.Typer()
    if isinstance(command.run, typer.Typer):
        app.add_typer(command.run, name="command")
    else:
        app.command("command")(command.run)
    get_command(app)


@cache
def _registered() -> Mapping[str, EntryPoint]:
    """The commands of installed packages by name, without those that inkgate has itself."""
    found = sorted(entry_points(group="inkgate.commands"), key=lambda point: point.name)
    return {point.name: point for point in found if point.name not in COMMANDS}


def _not_installed(name: str) -> Callable[[], None]:
    package = PACKAGES[name]

    def command() -> None:
        from inkgate.cli.messages import misuse

        raise misuse(f"inkgate {name} needs the package {package}: {install_package(package)}.")

    command.__doc__ = f"Needs the package {package}."
    return command


def _not_loaded(name: str, point: EntryPoint, error: BaseException) -> Callable[[], None]:
    why = f"{point.value} can't be loaded: {type(error).__name__}: {error}"

    def command() -> None:
        from inkgate.cli.messages import failure

        raise failure(f"inkgate {name}: {why}") from error

    command.__doc__ = f"Broken: {why}"
    return command


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
