"""`inkgate tune`: the settings under which a service answers most on this machine, and why."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from inkgate.cli.configure import ConfigOption, EngineOption, configured, engine_flags
from inkgate.cli.durations import duration, share
from inkgate.cli.messages import FAILED, INTERRUPTED, failure, misuse, say

if TYPE_CHECKING:
    from inkgate.bench.tune.results import TuneReport
    from inkgate.cli.tune_run import Asked


def tune(  # noqa: PLR0913  # one parameter for each option of the command
    pages: Annotated[
        Path, typer.Option(metavar="DIR", help="Images and PDFs as they are to be read; a folder, or one file.")
    ],
    *,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Until when an answer is in time.")
    ] = 5.0,
    max_error: Annotated[
        float, typer.Option(parser=share, metavar="SHARE", help="Of requests that may fail; refused ones don't count.")
    ] = 0.001,
    minutes: Annotated[float, typer.Option(help="For everything; what a search that is resumed took counts.")] = 15.0,
    objective: Annotated[str, typer.Option(help="pages: most of them in time; cost: most for the money.")] = "pages",
    price: Annotated[
        float | None, typer.Option(help="Of this machine for an hour, where the objective is cost.")
    ] = None,
    dials: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="What is searched: max_num_seqs,max_pixels or max_num_seqs=8/16/32; else what matters most.",
        ),
    ] = "",
    rate: Annotated[
        float | None, typer.Option(help="Requests a second in each trial; else found, and raised where too little.")
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ground truth (docs/guides/accuracy.md) for the accuracy of trials."),
    ] = None,
    least_accuracy: Annotated[
        float | None,
        typer.Option(parser=share, metavar="SHARE", help="Of characters right; else 0.5 % under the current one."),
    ] = None,
    heaviest: Annotated[
        bool, typer.Option(help="Show that what is recommended stays up under the heaviest images allowed.")
    ] = True,
    engine: EngineOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Where results go. Default: tune-DATE-TIME.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="trials.jsonl of a search that was ended early: it goes on.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is tried first, and of arrivals.")] = 1,
    config: ConfigOption = None,
) -> None:
    """Find the settings with which most pages are read in time here: the service is started and loaded with many.

    Nothing else should run on the machine. Ctrl-C ends it early with a report of what there is. What was found is a
    fragment for inkgate.toml, with the reasons; docs/guides/tuning.md says how it is found.

    The exit status is 0 when settings can be recommended, 1 when not, 2 when the command was wrong, 130 when it was
    ended early. Why there is no recommendation is the last thing said.
    """
    if objective not in {"pages", "cost"} or (objective == "cost" and not price):
        raise misuse("The objective is `pages`, or `cost` with --price.")
    settings = configured(config, {"engine": engine_flags(engine, None, None)})
    from inkgate.cli.tune_run import Asked, CantTune, run

    began = datetime.now(UTC)
    fallback = Path(f"tune-{began:%Y%m%d-%H%M%S}")
    asked = Asked(
        pages=pages,
        deadline_s=deadline,
        max_error=max_error,
        budget_s=minutes * 60,
        objective=objective,
        price=price,
        parameters=tuple(name.strip() for name in dials.split(",") if name.strip()),
        rate=rate,
        rises=rate is None,
        manifest=manifest,
        least_accuracy=least_accuracy,
        heaviest=heaviest,
        engine=engine,
        output=output or (fallback if resume is None else resume.parent),
        resume=resume,
        seed=seed,
        config=config,
        began=began.isoformat(timespec="seconds"),
    )
    try:
        report = anyio.run(run, asked, settings, backend_options={"use_uvloop": True})
    except CantTune as error:
        raise (misuse if error.misuse else failure)(str(error)) from error
    _tell(report, asked)
    raise typer.Exit(INTERRUPTED if report.partial else FAILED if report.chosen is None else 0)


def _tell(report: TuneReport, asked: Asked) -> None:
    """The fragment on standard output, all else on standard error."""
    if report.chosen is not None:
        print(report.fragment)
    say(*report.reasons, *([report.loses] if report.loses else []), *report.notes)
    if report.partial and asked.journal.exists():
        say(f"Ended early: `inkgate tune --pages {asked.pages} --resume {asked.journal}` goes on.")
    say(f"Everything is in {asked.output}.")
