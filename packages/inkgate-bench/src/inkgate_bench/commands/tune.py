"""`inkgate tune`: finds the settings with which a service answers most on this machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import anyio
import typer

from inkgate.cli.commands import MEASURING, Command
from inkgate.cli.configure import ConfigOption, EngineOption, configured, engine_flags
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say
from inkgate_bench.commands.durations import duration, share

if TYPE_CHECKING:
    from inkgate_bench.commands.tune_run import TuneOptions
    from inkgate_bench.tune.results import TuneReport


def tune(  # noqa: PLR0913  # one parameter for each option of the command
    pages: Annotated[
        Path, typer.Option(metavar="DIR", help="Images and PDFs like those the service will read; a folder or a file.")
    ],
    *,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Latency target: slower responses don't count.")
    ] = 5.0,
    max_error: Annotated[
        float,
        typer.Option(parser=share, metavar="SHARE", help="Maximum error rate, e.g. 0.1%. Refusals are no errors."),
    ] = 0.001,
    minutes: Annotated[
        float, typer.Option(metavar="N", help="Time limit of the whole search, including earlier runs with --resume.")
    ] = 15.0,
    objective: Annotated[
        str, typer.Option(metavar="pages|cost", help="pages: most pages a second; cost: most pages for the money.")
    ] = "pages",
    price: Annotated[
        float | None, typer.Option(metavar="AMOUNT", help="Price of this machine for an hour, for --objective cost.")
    ] = None,
    parameters: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Settings to search, e.g. max_num_seqs,max_pixels or max_num_seqs=8/16/32. "
            "Default: the most important ones.",
        ),
    ] = "",
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="N", help="Requests a second in each trial. Default: measured, and raised if it is too low."
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ground truth of some documents: measures the accuracy of each setting."),
    ] = None,
    least_accuracy: Annotated[
        float | None,
        typer.Option(
            parser=share,
            metavar="SHARE",
            help="Minimum share of correct characters. Default: 0.5 % less than with the current settings.",
        ),
    ] = None,
    heaviest: Annotated[
        bool, typer.Option(help="Check that the recommended settings stay up under the heaviest images allowed.")
    ] = True,
    engine: EngineOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for results. Default: tune-DATE-TIME.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Continue an interrupted search: its trials.jsonl.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the load.")] = 1,
    config: ConfigOption = None,
) -> None:
    """Find the settings with which this machine reads most pages in time.

    inkgate starts the service with different settings, puts load on each, and recommends the best as a fragment for
    inkgate.toml, with reasons. Run nothing else on the machine. Ctrl-C ends the search early with a report.

    Exit status: 0 with a recommendation, 1 without one, 2 for wrong options, 130 if interrupted.
    """
    if objective not in {"pages", "cost"} or (objective == "cost" and not price):
        raise misuse("The objective is `pages`, or `cost` with --price.")
    settings = configured(config, {"engine": engine_flags(engine, None, None)})
    from inkgate_bench.commands.tune_run import TuneFailed, TuneOptions, run
    from inkgate_bench.tune.results import Targets

    began = datetime.now(UTC)
    fallback = Path(f"tune-{began:%Y%m%d-%H%M%S}")
    options = TuneOptions(
        pages=pages,
        targets=Targets(deadline, max_error, objective, price, least_accuracy),
        budget_s=minutes * 60,
        parameters=tuple(name.strip() for name in parameters.split(",") if name.strip()),
        rate=rate,
        manifest=manifest,
        heaviest=heaviest,
        engine=engine,
        output=output or (fallback if resume is None else resume.parent),
        resume=resume,
        seed=seed,
        config=config,
        began=began.isoformat(timespec="seconds"),
    )
    try:
        report = anyio.run(run, options, settings, backend_options={"use_uvloop": True})
    except TuneFailed as error:
        raise (misuse if error.misuse else failure)(str(error)) from error
    _print_result(report, options)
    raise typer.Exit(INTERRUPTED if report.partial else FAILED if report.chosen is None else 0)


def _print_result(report: TuneReport, options: TuneOptions) -> None:
    """The fragment on standard output, all else on standard error."""
    if report.chosen is not None:
        print(report.fragment)
    say(*report.reasons, *([report.loses] if report.loses else []), *report.notes)
    if report.partial and options.journal.exists():
        say(f"Interrupted. To continue: inkgate tune --pages {options.pages} --resume {options.journal}")
    say(f"The results are in {options.output}.")


COMMAND: Final = Command(tune, MEASURING, explain=True)
