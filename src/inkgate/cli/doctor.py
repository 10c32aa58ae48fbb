"""`inkgate doctor`: what is wrong with a service, and what to change."""

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
    from inkgate_client.telemetry.state import State

PROBLEMS = 1
UNREACHABLE = 3
"""Exit statuses. 2 is misuse, as with every command."""


def doctor(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="Address of a running service, e.g. http://127.0.0.1:7860.")
    ] = None,
    *,
    key: Annotated[
        str, typer.Option(envvar="INKGATE_API_KEY", metavar="KEY", help="API key, if the service requires one.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Check a running service: list its problems, the most important first, with evidence and remedies.

    Without URL, check the settings and this machine before the service starts.

    Exit status: 0 if there are only notes, 1 if there are warnings or critical findings, 3 if the service can't be
    reached. docs/operations/doctor.md lists all checks.
    """
    state, findings = _running(url, key) if url is not None else _not_started(config)
    _print(state, findings, url, json=json)
    raise typer.Exit(PROBLEMS if any(finding.severity != "note" for finding in findings) else 0)


def _running(url: str, key: str) -> tuple[State, tuple[Finding, ...]]:
    from inkgate.doctor.judge import judge
    from inkgate_client import InkgateClient, ServiceError

    if not is_address(url):
        raise misuse(f"{url!r} is not an address such as http://127.0.0.1:7860.")
    try:
        with InkgateClient(url, key) as client:
            state = client.state()
    except ServiceError as error:
        say(str(error))
        raise typer.Exit(UNREACHABLE) from error
    return state, judge(state)


def is_address(url: str) -> bool:
    """Whether it is an http or https address."""
    try:
        return urlsplit(url).scheme in {"http", "https"} and bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _not_started(config: ConfigOption) -> tuple[State, tuple[Finding, ...]]:
    from inkgate.doctor.judge import finding, judge
    from inkgate.doctor.machine import cant_start, unstarted

    settings = configured(config)
    state = unstarted(settings)
    diagnosis = cant_start(settings)
    return state, (*([] if diagnosis is None else [finding("cant-start", diagnosis)]), *judge(state))


def _print(state: State, findings: tuple[Finding, ...], url: str | None, *, json: bool) -> None:
    from inkgate.doctor.report import as_json, guide_of, text

    where = f"at {url}" if url is not None else "on this machine, not started"
    running = url is not None
    if json:
        print(jsonlib.dumps(as_json(state, findings, where, running=running), ensure_ascii=False, indent=2))
    else:
        guide = guide_of(state, url) if url is not None else ""
        sys.stdout.write(text(state, findings, where, running=running, guide=guide) + "\n")
