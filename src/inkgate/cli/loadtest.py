"""`inkgate loadtest`: load on a running service, and what it shows."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from inkgate.cli.durations import duration, share
from inkgate.cli.loadtest_plan import Wanted, plan_of
from inkgate.cli.loadtest_run import Course, measure, steps_of
from inkgate.cli.messages import FAILED, INTERRUPTED, misuse, say

if TYPE_CHECKING:
    from inkgate.bench.load.pages import LoadPage
    from inkgate.bench.load.plan import Plan
    from inkgate.bench.load.results import LoadReport
    from inkgate.bench.load.target import Target

NOT_ASKED = 3
"""Exit status: the service could not be asked, as with `inkgate doctor`."""


@dataclass(frozen=True, slots=True)
class _Where:
    """What the options say of the service."""

    url: str
    key: str
    protocol: str | None
    model: str
    prompt: str
    max_tokens: int | None


def loadtest(  # noqa: PLR0913  # one parameter for each option of the command
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="The service, such as http://127.0.0.1:7860, or http://host:8000/v1.")],
    *,
    pages: Annotated[Path, typer.Option(metavar="DIR", help="Images and PDFs to send; a folder, or one file.")],
    clients: Annotated[int | None, typer.Option("--clients", "-c", min=1, help="A closed loop of N clients.")] = None,
    rate: Annotated[float | None, typer.Option(help="An open loop of so many requests a second.")] = None,
    steps: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="One after the other so many clients: 1,2,4,8; or auto.")
    ] = None,
    rate_steps: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="So many requests a second: 5,10,20; or auto.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each step is made, in rounds.")] = 1,
    ramp: Annotated[str | None, typer.Option(metavar="FROM:TO", help="An open loop whose rate rises: 1:100.")] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="Requests when recorded ones came.")] = None,
    speed: Annotated[float, typer.Option(help="Of a replay: 2 is twice as fast as it was.")] = 1.0,
    seconds: Annotated[
        float, typer.Option("--duration", "-z", parser=duration, metavar="TIME", help="For how long requests count.")
    ] = 60.0,
    warm: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="How long load is put on before requests count.")
    ] = 5.0,
    deadline: Annotated[
        float, typer.Option(parser=duration, metavar="TIME", help="Until when an answer is in time.")
    ] = 5.0,
    timeout: Annotated[float, typer.Option(parser=duration, metavar="TIME", help="When a client leaves.")] = 60.0,
    max_error: Annotated[
        float, typer.Option(parser=share, metavar="SHARE", help="Of requests that may go unanswered: 0.1%.")
    ] = 0.001,
    arrivals: Annotated[str, typer.Option(help="Of an open loop: poisson, or constant.")] = "poisson",
    key: Annotated[
        list[str] | None, typer.Option(envvar="INKGATE_API_KEY", help="An API key. Several are so many tenants.")
    ] = None,
    priorities: Annotated[
        str, typer.Option(metavar="MIX", help="Classes of requests and their weights: interactive=3,batch=1.")
    ] = "",
    protocol: Annotated[str | None, typer.Option(help="ocr, simple or chat; else it is found out.")] = None,
    model: Annotated[str, typer.Option(help="Of a chat completion; else the first that the service lists.")] = "",
    prompt: Annotated[str, typer.Option(help="Of a chat completion.")] = "OCR:",
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Of a chat completion's answer.")] = None,
    tell_deadline: Annotated[
        bool, typer.Option("--tell-deadline", help="Say the deadline to the service (X-Inkgate-Timeout).")
    ] = False,
    insist: Annotated[
        bool, typer.Option("--insist", help="Clients that were refused don't wait as Retry-After says.")
    ] = False,
    cached: Annotated[bool, typer.Option("--cached", help="Let inkgate answer from its cache of pages.")] = False,
    max_in_flight: Annotated[int, typer.Option(min=1, help="Requests of an open loop on their way at most.")] = 20_000,
    processes: Annotated[int, typer.Option(min=1, help="Processes that send, where one does not suffice.")] = 1,
    seed: Annotated[int, typer.Option(help="Of arrivals and of the order of pages.")] = 1,
    metrics_url: Annotated[
        str, typer.Option(metavar="URL", help="A vLLM behind the service, to read its /metrics.")
    ] = "",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all figures there.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Write points.csv and seconds.csv there.")] = None,
) -> None:
    """Put load on an OCR service: inkgate, JSON {"image": ...}, or OpenAI's chat completions.

    Latency counts from the moment at which a request was due, so that a service that stands still shows as latency
    and not as fewer requests. In steps it finds the knee: from where on more load buys nothing. Ctrl-C ends it early
    and shows what there is. docs/guides/load-testing.md explains the figures.

    The exit status is 0 when it was measured; 1 when nothing was answered, or this load generator was the bottleneck;
    3 when the service could not be asked.
    """
    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.pages import load_pages
    from inkgate.bench.load.plan import Plan
    from inkgate.bench.load.results import Axis

    wanted = Wanted(clients, rate, ramp, replay, speed, arrivals, priorities, tuple(key or ()))
    where = _Where(url, (key or [""])[0], protocol, model, prompt, max_tokens)
    try:
        common = Plan(
            Axis.CONCURRENCY,
            1.0,
            seconds,
            warm_s=warm,
            deadline_s=deadline,
            timeout_s=timeout,
            max_in_flight=max_in_flight,
            seed=seed,
            tells_deadline=tell_deadline,
            waits_when_refused=not insist,
            takes_kept=cached,
        )
        taken, plan = steps_of(steps, rate_steps, repeats, plan_of(wanted, common))
        found = load_pages(pages)
    except LoadImpossible as error:
        raise misuse(str(error)) from error
    _more_files(plan)
    try:
        course = Course(taken, max_error, metrics_url, _asked(context), processes)
        uvloop = {"use_uvloop": sys.platform != "win32"}
        report = anyio.run(_measure, where, found, plan, course, backend_options=uvloop)
    except LoadImpossible as error:
        say(str(error))
        raise typer.Exit(NOT_ASKED) from error
    _end(report, json, csv)


def _more_files(plan: Plan) -> None:
    """As many open files as this process may have: each request on its way is one."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * plan.max_in_flight + 100
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _asked(context: typer.Context) -> dict[str, str]:
    """The options as they were given, but for what may hold a secret."""

    def given(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name != "DEFAULT" and name not in {"key", "url", "metrics_url"}

    return {name: str(value) for name, value in context.params.items() if value is not None and given(name)}


async def _measure(where: _Where, pages: tuple[LoadPage, ...], plan: Plan, course: Course) -> LoadReport:
    from inkgate.bench.load.plan import Load
    from inkgate.bench.load.preflight import try_once

    load = Load(await _target(where), pages, plan)
    await try_once(load)
    return await measure(load, course)


async def _target(where: _Where) -> Target:
    from dataclasses import replace

    from inkgate.bench.load.impossible import LoadImpossible
    from inkgate.bench.load.target import ProtocolName, detect

    names = [str(name) for name in ProtocolName]
    if where.protocol is not None and where.protocol not in names:
        raise LoadImpossible(f"There is no protocol {where.protocol!r}: it is one of {', '.join(names)}.")
    spoken = None if where.protocol is None else ProtocolName(where.protocol)
    target = await detect(where.url, where.key, protocol=spoken, model=where.model)
    return replace(target, prompt=where.prompt, max_tokens=where.max_tokens)


def _end(report: LoadReport, json: Path | None, csv: Path | None) -> None:
    """Writes the report, shows it, and ends with the status that it deserves."""
    from inkgate.bench.load.files import write_json, write_points_csv, write_seconds_csv
    from inkgate.bench.load.text import shown

    if json is not None:
        write_json(report, json)
    if csv is not None:
        write_points_csv(report, csv / "points.csv")
        write_seconds_csv(report, csv / "seconds.csv")
    print(shown(report))
    if report.partial:
        raise typer.Exit(INTERRUPTED)
    nothing = not any(run.answered for point in report.points for run in point.runs)
    raise typer.Exit(FAILED if nothing or report.own.bottleneck else 0)
