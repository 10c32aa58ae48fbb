"""`inkgate compare-engines`: several engines on the same pages and the same machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from inkgate.cli.commands import MEASURING, Command
from inkgate.cli.interrupts import stop_on_signal
from inkgate.cli.messages import FAILED, INTERRUPTED, check_outputs, misuse, say, writing_outputs
from inkgate_bench.commands.durations import duration
from inkgate_bench.statistics import MIN_REPEATS

if TYPE_CHECKING:
    from inkgate_bench.compare.contenders import Contender
    from inkgate_bench.compare.results import EngineComparison
    from inkgate_bench.compare.run import ComparisonPlan

PIPED_WIDTH = 240
"""Width of a table that goes to a file or a pipe."""
_STOPPING = "Stopping; partial results follow."


def compare_engines(  # noqa: PLR0913  # one parameter for each option of the command
    engines: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]ENGINE",
            help="Engines to compare: an engine name (ppocr, transformers, paddleocr-vl), ENGINE@URL for an engine "
            "with a running model server, a settings file (FILE.toml), or the address of any OCR or "
            "OpenAI-compatible service.",
        ),
    ],
    *,
    pages: Annotated[
        Path,
        typer.Option(
            exists=True,
            metavar="PATH",
            help="Images and PDFs: a folder (PAGE.txt beside PAGE.png is its text), a file, or a manifest "
            "(docs/guides/accuracy.md).",
        ),
    ],
    clients: Annotated[
        int, typer.Option("-c", "--clients", min=1, metavar="N", help="Number of clients, one request each.")
    ] = 8,
    seconds: Annotated[
        float, typer.Option("-z", "--duration", parser=duration, metavar="TIME", help="Length of each run, e.g. 2m.")
    ] = 30.0,
    warm_up: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Warm-up before each run; not counted.")
    ] = 5.0,
    rounds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each engine; at least 3 to tell which is faster.")
    ] = MIN_REPEATS,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Latency target: slower responses don't count.")
    ] = 5.0,
    timeout: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="How long a client waits for a response.")
    ] = 120.0,
    output: Annotated[
        list[Path] | None,
        typer.Option("-o", "--output", metavar="FILE", help="Also write to a .json, .csv or .md file; repeatable."),
    ] = None,
    key: Annotated[
        str, typer.Option(envvar="INKGATE_API_KEY", metavar="KEY", help="API key for engines given as addresses.")
    ] = "",
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Model for chat services. Default: the first listed.")
    ] = "",
    prompt: Annotated[str, typer.Option(metavar="PROMPT", help="Prompt for chat services.")] = "OCR:",
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Token limit for chat services.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(envvar="INKGATE_CONFIG", metavar="FILE", help="Settings (TOML) for engines given by name."),
    ] = None,
) -> None:
    """Compare the speed, memory and accuracy of OCR engines on this machine, with your pages.

    Engines are started one after the other, read each document once (where its text is known), take the same load, and
    are stopped. Ctrl-C ends the comparison early and shows what it has. See docs/guides/comparing-engines.md.

    Exit status: 0 all measured; 1 an engine could not be measured.
    """
    from inkgate_bench.accuracy.manifest import ManifestInvalid
    from inkgate_bench.compare.contenders import ContenderInvalid, documents, parse
    from inkgate_bench.compare.results import FORMS
    from inkgate_bench.compare.run import ComparisonPlan
    from inkgate_bench.load import LoadImpossible
    from inkgate_bench.load.plan import Plan
    from inkgate_bench.load.results import Axis
    from inkgate_bench.load.target import TargetOptions

    for file in output or ():
        if file.suffix not in FORMS:
            raise misuse(f"{file} must end in {', '.join(FORMS)}.")
    check_outputs(*(output or ()))
    target = TargetOptions(key, model=model, prompt=prompt, max_tokens=max_tokens)
    plan = Plan(Axis.CONCURRENCY, clients, seconds, warm_s=warm_up, deadline_s=deadline, timeout_s=timeout)
    try:
        contenders = parse(engines, config)
        entries = documents(pages)
        comparison_plan = ComparisonPlan(entries, plan, rounds, target)
        comparison = anyio.run(
            _compare, contenders, comparison_plan, backend_options={"use_uvloop": sys.platform != "win32"}
        )
    except (ContenderInvalid, ManifestInvalid, LoadImpossible) as error:
        raise misuse(str(error)) from error
    _show(comparison, output or ())
    if comparison.partial:
        raise typer.Exit(INTERRUPTED)
    if any(engine.why_not for engine in comparison.engines):
        raise typer.Exit(FAILED)


async def _compare(contenders: Sequence[Contender], plan: ComparisonPlan) -> EngineComparison:
    from inkgate_bench.compare.run import compare, gpu_reader
    from inkgate_bench.load.report import this_machine
    from inkgate_client.concurrency import single_error

    stop = anyio.Event()
    with ExitStack() as stack, single_error():
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_on_signal, stop, _STOPPING)
            gpus = gpu_reader(stack)
            comparison = await compare(contenders, plan, this_machine(), gpus, stop, say)
            tasks.cancel_scope.cancel()
    return comparison


def _show(comparison: EngineComparison, files: Sequence[Path]) -> None:
    from rich.console import Console

    from inkgate_bench.compare.results import FORMS, as_table

    console = Console()
    if not sys.stdout.isatty():
        console.width = PIPED_WIDTH
    console.print(as_table(comparison))
    with writing_outputs():
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(FORMS[file.suffix](comparison))


COMMAND: Final = Command(compare_engines, MEASURING, explain=True)
