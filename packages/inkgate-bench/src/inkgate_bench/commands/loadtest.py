"""`inkgate loadtest`: puts load on a running service and reports what it can take."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import anyio
import typer

from inkgate.cli.commands import MEASURING, Command
from inkgate.cli.interrupts import stop_on_signal
from inkgate.cli.messages import FAILED, INTERRUPTED, check_outputs, misuse, say, writing_outputs
from inkgate.operating_system import raise_file_limit
from inkgate_bench.commands.durations import duration, share

if TYPE_CHECKING:
    from inkgate_bench.load.knee import Steps
    from inkgate_bench.load.live import LiveView, PlainLines
    from inkgate_bench.load.pages import LoadPage
    from inkgate_bench.load.plan import CallerShare, Load, Plan
    from inkgate_bench.load.results import Axis, LoadReport
    from inkgate_bench.load.target import TargetOptions


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options that say how much load, of which kind, and from whom."""

    clients: int | None
    rate: float | None
    ramp: str | None
    replay: Path | None
    speed: float
    arrivals: str
    priorities: str
    keys: tuple[str, ...]


def plan_of(options: LoadOptions, common: Plan) -> Plan:
    """The plan; `common` holds what is the same for every kind of load. Without any load option: one client.

    Raises:
        LoadImpossible: the options contradict each other, or make no sense.
    """
    from inkgate_bench.load import LoadImpossible
    from inkgate_bench.load.results import Axis

    loads = {"--clients": options.clients, "--rate": options.rate, "--ramp": options.ramp, "--replay": options.replay}
    given = [name for name, value in loads.items() if value is not None]
    if len(given) > 1:
        raise LoadImpossible(f"Give only one of {' and '.join(given)}.")
    mixed = replace(common, mix=mix_of(options.priorities, options.keys))
    if options.clients is not None or not given:
        plan = replace(mixed, axis=Axis.CONCURRENCY, level=float(options.clients or 1))
    else:
        plan = _open_loop(options, replace(mixed, axis=Axis.RATE))
    plan.check()
    return plan


def _open_loop(options: LoadOptions, plan: Plan) -> Plan:
    from inkgate_bench.load.arrivals import read_recording
    from inkgate_bench.load.plan import Arrivals, CallerShare

    if options.ramp is not None:
        first, last = _ramp_rates(options.ramp)
        return replace(plan, level=first, until_level=last, arrivals=Arrivals.RAMP)
    if options.replay is not None:
        recorded = read_recording(options.replay, options.speed)
        missing = {request.priority for request in recorded} - {share.priority for share in plan.mix}
        keys = dict.fromkeys(share.key for share in plan.mix)
        more = tuple(CallerShare(priority, key, 0.0) for key in keys for priority in sorted(missing))
        plan = replace(plan, arrivals=Arrivals.REPLAY, replay=recorded, mix=plan.mix + more)
        return replace(plan, level=len(recorded) / plan.window_s)
    return replace(plan, level=options.rate or 0.0, arrivals=Arrivals(options.arrivals))


def _ramp_rates(ramp: str) -> tuple[float, float]:
    from inkgate_bench.load import LoadImpossible

    first, _, last = ramp.partition(":")
    try:
        return float(first), float(last)
    except ValueError as error:
        raise LoadImpossible(f"--ramp takes two rates, such as 1:100, not {ramp!r}.") from error


def mix_of(priorities: str, keys: tuple[str, ...]) -> tuple[CallerShare, ...]:
    """The callers: all keys equally often, each with the priorities by their weights.

    Raises:
        LoadImpossible: `priorities` can't be parsed.
    """
    from inkgate_bench.load import LoadImpossible
    from inkgate_bench.load.plan import CallerShare

    weights: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in priorities.split(","))):
        name, _, weight = part.partition("=")
        try:
            weights[name.strip()] = float(weight or 1)
        except ValueError as error:
            raise LoadImpossible(f"--priorities looks like interactive=3,batch=1, not {priorities!r}.") from error
    senders: tuple[str | None, ...] = keys or (None,)
    return tuple(CallerShare(name, key, weight) for key in senders for name, weight in (weights or {"": 1.0}).items())


def steps_of(levels: str | None, rates: str | None, repeats: int | None, plan: Plan) -> tuple[Steps | None, Plan]:
    """The steps of `--steps` and `--rate-steps`, None without them, and the plan along their axis.

    Raises:
        LoadImpossible: they contradict each other or the plan, or can't be parsed.
    """
    from inkgate_bench.load import LoadImpossible
    from inkgate_bench.load.knee import Steps, parse_steps
    from inkgate_bench.load.plan import Arrivals
    from inkgate_bench.load.results import Axis
    from inkgate_bench.statistics import MIN_REPEATS

    if levels is None and rates is None:
        if repeats is not None:
            raise LoadImpossible("--repeats needs --steps or --rate-steps.")
        return None, plan
    if levels is not None and rates is not None:
        raise LoadImpossible("Give only one of --steps and --rate-steps.")
    if plan.arrivals in {Arrivals.RAMP, Arrivals.REPLAY}:
        raise LoadImpossible("A ramp or a replay can't be run in steps.")
    axis = Axis.CONCURRENCY if levels is not None else Axis.RATE
    parsed = parse_steps(levels or rates or "", axis)
    first = plan.level if plan.axis is axis else 1.0
    steps = Steps(parsed, MIN_REPEATS if repeats is None else repeats, first)
    return steps, replace(plan, axis=axis, level=parsed[0] if parsed else first)


_LOAD: Final = "How much load"
_REQUESTS: Final = "What is sent, and how"
UNREACHABLE = 3
"""Exit status: the service could not be reached, as with `inkgate doctor`."""


@dataclass(frozen=True, slots=True)
class _LoadTest:
    """What the command line describes. `steps`: None for a single load; `asked`: all options, for the report."""

    url: str
    target: TargetOptions
    pages: tuple[LoadPage, ...]
    plan: Plan
    steps: Steps | None
    metrics_url: str
    asked: Mapping[str, str]


def loadtest(  # noqa: PLR0913  # one parameter for each option of the command
    context: typer.Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Service to test, e.g. http://127.0.0.1:7860 or http://host:8000/v1.")
    ],
    *,
    pages: Annotated[Path, typer.Option(metavar="PATH", help="Images and PDFs to send: a folder or a file.")],
    clients: Annotated[
        int | None,
        typer.Option(
            "--clients",
            "-c",
            min=1,
            metavar="N",
            rich_help_panel=_LOAD,
            help="Closed loop: this many clients, one request each.",
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="N", rich_help_panel=_LOAD, help="Open loop: this many requests per second.")
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            metavar="LEVELS", rich_help_panel=_LOAD, help="Numbers of clients to test, e.g. 1,2,4,8, or auto."
        ),
    ] = None,
    rate_steps: Annotated[
        str | None,
        typer.Option(metavar="LEVELS", rich_help_panel=_LOAD, help="Request rates to test, e.g. 5,10,20, or auto."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", rich_help_panel=_LOAD, help="Runs of each step. Default: 3, which the knee needs."
        ),
    ] = None,
    ramp: Annotated[
        str | None,
        typer.Option(metavar="FROM:TO", rich_help_panel=_LOAD, help="Open loop at a changing rate, e.g. 1:100."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", rich_help_panel=_LOAD, help="Replay recorded requests, e.g. inkgate's JSON log."),
    ] = None,
    speed: Annotated[
        float,
        typer.Option(metavar="N", rich_help_panel=_LOAD, help="Speed of the replay; 2 is twice as fast as recorded."),
    ] = 1.0,
    seconds: Annotated[
        float,
        typer.Option(
            "--duration",
            "-z",
            parser=duration,
            metavar="TIME",
            rich_help_panel=_LOAD,
            help="Length of each run, e.g. 2m.",
        ),
    ] = 60.0,
    warm: Annotated[
        float,
        typer.Option(
            parser=duration, metavar="TIME", rich_help_panel=_LOAD, help="Warm-up before each run; not counted."
        ),
    ] = 5.0,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Latency target: slower responses don't count.")
    ] = 5.0,
    timeout: Annotated[
        float,
        typer.Option(
            parser=duration, metavar="TIME", rich_help_panel=_REQUESTS, help="How long a client waits for a response."
        ),
    ] = 60.0,
    max_error: Annotated[
        float, typer.Option(parser=share, metavar="SHARE", help="Maximum error rate at the knee, e.g. 0.1%.")
    ] = 0.001,
    arrivals: Annotated[
        Literal["poisson", "constant"],
        typer.Option(metavar="poisson|constant", rich_help_panel=_LOAD, help="Arrivals of an open loop."),
    ] = "poisson",
    key: Annotated[
        list[str] | None,
        typer.Option(
            envvar="INKGATE_API_KEY",
            metavar="KEY",
            rich_help_panel=_REQUESTS,
            help="API key. Repeat it to send as several tenants.",
        ),
    ] = None,
    priorities: Annotated[
        str,
        typer.Option(
            metavar="MIX", rich_help_panel=_REQUESTS, help="Priorities and their weights, e.g. interactive=3,batch=1."
        ),
    ] = "",
    protocol: Annotated[
        Literal["ocr", "simple", "chat"] | None,
        typer.Option(
            metavar="ocr|simple|chat", rich_help_panel=_REQUESTS, help="Protocol of the service. Default: detected."
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", rich_help_panel=_REQUESTS, help="Model for the chat protocol. Default: the first listed."
        ),
    ] = "",
    prompt: Annotated[
        str, typer.Option(metavar="PROMPT", rich_help_panel=_REQUESTS, help="Prompt for the chat protocol.")
    ] = "OCR:",
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", rich_help_panel=_REQUESTS, help="Token limit for the chat protocol."),
    ] = None,
    tell_deadline: Annotated[
        bool,
        typer.Option(
            "--tell-deadline", rich_help_panel=_REQUESTS, help="Send the latency target as X-Inkgate-Timeout."
        ),
    ] = False,
    insist: Annotated[
        bool,
        typer.Option(
            "--insist", rich_help_panel=_REQUESTS, help="Refused clients retry at once, ignoring Retry-After."
        ),
    ] = False,
    cached: Annotated[
        bool, typer.Option("--cached", rich_help_panel=_REQUESTS, help="Allow responses from inkgate's page cache.")
    ] = False,
    max_in_flight: Annotated[
        int, typer.Option(min=1, metavar="N", rich_help_panel=_LOAD, help="Maximum requests in flight in an open loop.")
    ] = 20_000,
    seed: Annotated[
        int, typer.Option(metavar="N", rich_help_panel=_LOAD, help="Random seed for arrivals and page order.")
    ] = 1,
    metrics_url: Annotated[
        str, typer.Option(metavar="URL", help="vLLM server behind the service, to read its /metrics.")
    ] = "",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all figures as JSON.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Write points.csv and seconds.csv.")] = None,
) -> None:
    """Load-test an OCR service: inkgate, JSON {"image": ...}, or OpenAI chat completions.

    Latency counts from when a request was due, so a stalled service shows as latency, not as fewer requests. Steps
    find the knee: the smallest load with nearly the best goodput. Ctrl-C ends the test early and reports what it has.
    See docs/guides/load-testing.md.

    Exit status: 0 measured; 1 no response, or this load generator was the bottleneck; 3 service unreachable.
    """
    from inkgate_bench.load import LoadImpossible
    from inkgate_bench.load.pages import load_pages
    from inkgate_bench.load.plan import Plan
    from inkgate_bench.load.results import Axis
    from inkgate_bench.load.target import ProtocolName, TargetOptions

    load_options = LoadOptions(clients, rate, ramp, replay, speed, arrivals, priorities, tuple(key or ()))
    spoken = None if protocol is None else ProtocolName(protocol)
    target = TargetOptions((key or [""])[0], spoken, model, prompt, max_tokens)
    try:
        common = Plan(
            Axis.CONCURRENCY,
            1.0,
            seconds,
            warm_s=warm,
            deadline_s=deadline,
            max_error=max_error,
            timeout_s=timeout,
            max_in_flight=max_in_flight,
            seed=seed,
            tells_deadline=tell_deadline,
            waits_when_refused=not insist,
            takes_kept=cached,
        )
        found_steps, plan = steps_of(steps, rate_steps, repeats, plan_of(load_options, common))
        test = _LoadTest(url, target, load_pages(pages), plan, found_steps, metrics_url, _given_options(context))
    except LoadImpossible as error:
        raise misuse(str(error)) from error
    check_outputs(*([json] if json else []), *([csv / "points.csv", csv / "seconds.csv"] if csv else []))
    raise_file_limit(2 * plan.max_in_flight + 100)  # each request in flight needs an open file
    try:
        report = anyio.run(_measure, test, backend_options={"use_uvloop": sys.platform != "win32"})
    except LoadImpossible as error:
        say(str(error))
        raise typer.Exit(UNREACHABLE) from error
    _finish(report, json, csv)


def _given_options(context: typer.Context) -> dict[str, str]:
    """The options that were given, except those that may hold a secret."""

    def given(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name != "DEFAULT" and name not in {"key", "url", "metrics_url"}

    return {name: str(value) for name, value in context.params.items() if value is not None and given(name)}


async def _measure(test: _LoadTest) -> LoadReport:
    """Runs the load test, shown while it runs, until its end or an interrupt."""
    from inkgate_bench.load.plan import Load
    from inkgate_bench.load.readings import Scraper, reading_sources
    from inkgate_bench.load.report import assemble
    from inkgate_bench.load.run import run
    from inkgate_bench.load.sender import try_once
    from inkgate_bench.load.steps import LoadInstruments, run_steps
    from inkgate_bench.load.target import detect

    load = Load(await detect(test.url, test.target), test.pages, test.plan)
    await try_once(load)
    began = datetime.now(UTC)
    stop = anyio.Event()
    with ExitStack() as stack:
        sources = stack.enter_context(reading_sources(load.target.origin, load.target.key, test.metrics_url))
        instruments = LoadInstruments(run, Scraper(sources), _view(load, stack), stop)
        async with anyio.create_task_group() as tasks:
            await tasks.start(stop_on_signal, stop)
            results = await run_steps(load, test.steps, instruments)
            tasks.cancel_scope.cancel()
    return assemble(load, results, began, test.asked)


def _view(load: Load, stack: ExitStack) -> LiveView | PlainLines:
    from rich.console import Console

    from inkgate_bench.load.live import LiveView, PlainLines

    console = Console(stderr=True)
    axis: Axis = load.plan.axis
    # The report goes to standard output: where that is a file, the live view still has a terminal.
    title = f"{load.target.url} ({load.target.protocol})"
    if console.is_terminal:
        return stack.enter_context(LiveView(title, axis, console))
    return PlainLines(axis, console)


def _finish(report: LoadReport, json: Path | None, csv: Path | None) -> None:
    """Prints the report, writes it, and exits with its status."""
    from inkgate_bench.load.report import report_text, write_json, write_points_csv, write_seconds_csv

    print(report_text(report))
    with writing_outputs():
        if json is not None:
            write_json(report, json)
        if csv is not None:
            write_points_csv(report, csv / "points.csv")
            write_seconds_csv(report, csv / "seconds.csv")
    if report.partial:
        raise typer.Exit(INTERRUPTED)
    nothing = not any(run.answered for point in report.points for run in point.runs)
    raise typer.Exit(FAILED if nothing or report.own.bottleneck else 0)


COMMAND: Final = Command(loadtest, MEASURING, explain=True)
