"""`inkgate compare-engines`: the same pages through several engines, on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from inkgate.cli.durations import duration
from inkgate.cli.interrupts import stop_when_told
from inkgate.cli.messages import FAILED, INTERRUPTED, misuse, say
from inkgate.errors import install_extra

if TYPE_CHECKING:
    from inkgate.bench.compare.contenders import Contender
    from inkgate.bench.compare.results import EngineComparison
    from inkgate.bench.compare.run import Comparing

PIPED_WIDTH = 240
"""Columns of a table that goes to a file or a pipe, which have no width of their own."""
_STOPPING = "Stopping: what was measured is shown."


def compare_engines(  # noqa: PLR0913  # one parameter for each option of the command
    engines: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]ENGINE...",
            help="What is compared: an engine (ppocr, transformers, paddleocr-vl), ENGINE@URL for one before a model "
            "server that runs, a file of settings (FILE.toml), or the address of any OCR or OpenAI-compatible service.",
        ),
    ],
    *,
    pages: Annotated[
        Path,
        typer.Option(
            exists=True,
            metavar="PATH",
            help="Images and PDFs: a folder (with PAGE.txt beside PAGE.png where the text is known), a file, or a "
            "manifest as docs/guides/accuracy.md has it.",
        ),
    ],
    clients: Annotated[int, typer.Option("-c", "--clients", min=1, help="Each asks again when it was answered.")] = 8,
    seconds: Annotated[
        float, typer.Option("-z", "--duration", parser=duration, metavar="TIME", help="Of each load, such as 2m.")
    ] = 30.0,
    warm_up: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Load before it that does not count.")
    ] = 5.0,
    rounds: Annotated[int, typer.Option(min=1, help="Loads of each, every second round in the other order.")] = 1,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="An answer is in time up to then.")
    ] = 5.0,
    timeout: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="After which a client gives up.")
    ] = 120.0,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write it there, too: .json, .csv or .md. May be repeated."
        ),
    ] = None,
    key: Annotated[str, typer.Option(envvar="INKGATE_API_KEY", help="API key of the addresses.")] = "",
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Model of chat endpoints. Default: the first listed.")
    ] = "",
    prompt: Annotated[str, typer.Option(metavar="TEXT", help="Said beside the image at chat endpoints.")] = "OCR:",
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of an answer of chat endpoints.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(envvar="INKGATE_CONFIG", metavar="FILE", help="Settings of engines that are named, as TOML."),
    ] = None,
) -> None:
    """Measure how fast, how large and how right several engines are, with your pages, on this machine.

    Each is started as a service of its own, read with (where the text of pages is known), put under the same load, and
    stopped, one after the other. Ctrl-C ends it early, with what there is. docs/guides/comparing-engines.md says what
    the figures mean.

    The exit status is 0 where all could be measured, 1 where one could not.
    """
    from inkgate.bench.accuracy.manifest import ManifestInvalid
    from inkgate.bench.compare.contenders import ContenderInvalid, parse
    from inkgate.bench.compare.documents import documents
    from inkgate.bench.compare.run import Comparing
    from inkgate.bench.compare.tables import FORMS
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.plan import Plan
    from inkgate.bench.load.results import Axis

    for file in output or ():
        if file.suffix not in FORMS:
            raise misuse(f"{file}: the name ends in one of {', '.join(FORMS)}.")
    plan = Plan(Axis.CONCURRENCY, clients, seconds, warm_s=warm_up, deadline_s=deadline, timeout_s=timeout)
    try:
        contenders = parse(engines, config)
        entries = documents(pages)
        _need_evaluation(any(entry.scored for entry in entries))
        comparing = Comparing(entries, plan, rounds, key, model, prompt, max_tokens)
        comparison = anyio.run(_compare, contenders, comparing, backend_options={"use_uvloop": sys.platform != "win32"})
    except (ContenderInvalid, ManifestInvalid, LoadImpossible) as error:
        raise misuse(str(error)) from error
    _show(comparison, output or ())
    if comparison.partial:
        raise typer.Exit(INTERRUPTED)
    if any(engine.why_not for engine in comparison.engines):
        raise typer.Exit(FAILED)


def _need_evaluation(wanted: bool) -> None:
    """Told before the first engine is started, not after an hour."""
    if not wanted:
        return
    try:
        import inkgate.bench.accuracy.metrics  # noqa: F401  # whether it can be
    except ModuleNotFoundError as error:
        raise misuse(f"{error.name} is not installed, which accuracy needs: {install_extra('bench')}.") from error


async def _compare(contenders: Sequence[Contender], comparing: Comparing) -> EngineComparison:
    from inkgate.bench.compare.memory import gpu_reader
    from inkgate.bench.compare.run import compare
    from inkgate.bench.load.machine import this_machine
    from inkgate.concurrency import single_error

    stop = anyio.Event()
    with ExitStack() as stack, single_error():
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_when_told, stop, _STOPPING)
            gpus = gpu_reader(stack)
            found = await compare(contenders, comparing, this_machine(), gpus, stop, say)
            tasks.cancel_scope.cancel()
    return found


def _show(comparison: EngineComparison, files: Sequence[Path]) -> None:
    from rich.console import Console

    from inkgate.bench.compare.tables import FORMS, as_table

    console = Console()
    if not sys.stdout.isatty():
        console.width = PIPED_WIDTH
    console.print(as_table(comparison))
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(FORMS[file.suffix](comparison))
