"""`inkgate doctor`: what holds a service back, and what to set."""

from __future__ import annotations

import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from inkgate.cli.configure import ConfigOption, configured
from inkgate.cli.messages import misuse, say

if TYPE_CHECKING:
    from inkgate.doctor.findings import Finding
    from inkgate.telemetry.state import State

FOUND = 1
NOT_ASKED = 3
"""Exit statuses: it is held back; the service could not be asked. 2 is misuse, as with every command."""


def doctor(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="A running service, such as http://127.0.0.1:7860.")
    ] = None,
    *,
    key: Annotated[
        str, typer.Option(envvar="INKGATE_API_KEY", help="An API key of the service, where it asks for one.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Say what holds a running service back and what to set, the most important first, and by which numbers.

    Without URL: what is wrong with the settings and with this machine, before it is started.

    The exit status is 0 where nothing is worse than a note, 1 where something is critical or a warning, 3 where the
    service can't be asked. docs/operations/doctor.md lists all that is looked for.
    """
    state, findings = _running(url, key) if url is not None else _unstarted(config)
    where = f"at {url}" if url is not None else "on this machine, not started"
    _print(state, findings, where, json=json, running=url is not None)
    raise typer.Exit(FOUND if any(finding.severity != "note" for finding in findings) else 0)


def _running(url: str, key: str) -> tuple[State, tuple[Finding, ...]]:
    from inkgate.client import InkgateClient, ServiceError
    from inkgate.doctor.judge import judge

    if not _is_address(url):
        raise misuse(f"{url!r} is no address: give one such as http://127.0.0.1:7860.")
    try:
        with InkgateClient(url, key) as client:
            state = client.state()
    except ServiceError as error:
        say(str(error))
        raise typer.Exit(NOT_ASKED) from error
    return state, judge(state)


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"} and bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _unstarted(config: ConfigOption) -> tuple[State, tuple[Finding, ...]]:
    from inkgate.doctor.judge import judge
    from inkgate.doctor.machine import cant_start, unstarted

    settings = configured(config)
    state = unstarted(settings)
    hopeless = cant_start(settings)
    return state, (*([] if hopeless is None else [hopeless]), *judge(state))


def _print(state: State, findings: tuple[Finding, ...], where: str, *, json: bool, running: bool) -> None:
    from inkgate.doctor.report import as_json, text

    if json:
        found = as_json(state, findings, where, running=running)
        print(jsonlib.dumps(found, ensure_ascii=False, indent=2))
    else:
        sys.stdout.write(text(state, findings, where, running=running) + "\n")
