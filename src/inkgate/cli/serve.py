"""`inkgate serve`: runs the HTTP service."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import find_spec
from typing import Annotated

import typer

from inkgate.cli.configure import ConfigOption, EngineOption, VllmModelOption, VllmUrlOption, configured, engine_flags
from inkgate.cli.messages import INTERRUPTED, failure, misuse, say, start_errors
from inkgate.installation import install_extra
from inkgate.settings import USUAL_METRICS_PORT, Settings
from inkgate.systemd import ServiceManager, UnusableSocket, service_manager

_SWITCH_S = 0.0005
"""Interpreter switch interval: how long a thread computing in Python blocks the event loop. Each request needs the
interpreter several times, so Python's default of 5 ms slows every refusal while the embedded engine is busy."""


def serve(
    *,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. Default: 127.0.0.1, this machine only.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Port to listen on, or 0 for any free port. Default: 7860."
        ),
    ] = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Start the HTTP service. Ctrl-C, SIGTERM or SIGHUP stops it once responses in flight are sent.

    Send documents to /ocr. The interactive API documentation is at /docs. /readyz is the readiness probe.
    """
    settings = configured(
        config, {"server": {"host": host, "port": port}, "engine": engine_flags(engine, vllm_url, vllm_model)}
    )
    manager = _manager()
    if manager.listener is not None:
        address, bound_port = manager.listener.getsockname()[:2]
        server = settings.server.model_copy(update={"host": address, "port": bound_port})
        settings = settings.model_copy(update={"server": server})
    refuse_open_service(settings)
    if manager.listener is None:
        check_address(settings.server.host, settings.server.port)
    check_metrics_address(settings)
    check_redis(settings)
    if settings.jobs.enabled:
        check_jobs(settings, folders="folder" in settings.jobs.model_fields_set)
    _run(settings, manager)


def _manager() -> ServiceManager:
    """Raises typer.Exit: with status 2, the service manager passed a socket that can't be used."""
    try:
        return service_manager()
    except UnusableSocket as error:
        raise misuse(f"From systemd: {error}") from error


def _run(settings: Settings, manager: ServiceManager) -> None:
    from inkgate import bootstrap
    from inkgate.operating_system import raise_file_limit

    raise_file_limit()
    run_until_stopped(settings, partial(bootstrap.serve, settings, _greet, manager))


def run_until_stopped(settings: Settings, main: Callable[[], Awaitable[None]]) -> None:
    """Runs a service until a signal ends it. `main`: starts and runs it.

    Raises:
        typer.Exit: with status 2 for an unknown engine, 1 if the service could not start.
    """
    import anyio

    from inkgate.engines.workers.shares import usable_cpus
    from inkgate.runtimes.memory import limit_arenas
    from inkgate.telemetry.logs import configure_logs
    from inkgate.telemetry.tracing import TracingUnavailable

    configure_logs(settings.log)
    sys.setswitchinterval(_SWITCH_S)
    limit_arenas(len(usable_cpus()))
    try:
        with start_errors():
            anyio.run(main, backend_options={"use_uvloop": True})
    except TracingUnavailable as error:
        raise misuse(str(error)) from error
    except KeyboardInterrupt as error:  # before the signals are handled
        raise typer.Exit(INTERRUPTED) from error


def _greet(url: str) -> None:
    """Prints the URL at a terminal; otherwise the log has it."""
    if sys.stderr.isatty():
        say(f"Serving on {url} (documentation: {url}/docs). Ctrl-C stops it.")


def refuse_open_service(settings: Settings) -> None:
    """Refuses to start a service that is open to the network by mistake.

    Raises:
        typer.Exit: with status 2: the address is not loopback, and neither a key nor `auth.allow_open` is set.
    """
    host = settings.server.host
    if settings.auth.key_hashes or settings.auth.allow_open or is_loopback(host):
        return
    raise misuse(
        f"{host} can be reached from the network and no API key is set: anyone could use the service.",
        "Create a key with `inkgate key`, listen on 127.0.0.1, or set auth.allow_open if something else protects it.",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service on `host`. Names other than localhost count as public."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_metrics_address(settings: Settings) -> None:
    """Checks the address of /metrics like check_address. If only the default port is in use, the service runs without
    metrics.

    Raises:
        typer.Exit: with status 1; 2 if the API uses the same port.
    """
    metrics = settings.metrics
    if not metrics.enabled or metrics.port == USUAL_METRICS_PORT:
        return
    if metrics.port and metrics.port == settings.server.port:
        raise misuse(f"server.port and metrics.port are both {metrics.port}. Change one of them.")
    check_address(metrics.host, metrics.port, "Choose another with metrics.port.")


def check_redis(settings: Settings) -> None:
    """Refuses settings that name a Redis server if the Redis client is not installed.

    Raises:
        typer.Exit: with status 2.
    """
    counts, keeps = settings.rate_limit, settings.cache
    named = {
        "rate_limit.storage_url": bool(counts.per_key) and counts.storage_url.startswith("redis"),
        "cache.redis_url": keeps.enabled and bool(keeps.redis_url.get_secret_value()),
    }
    setting = next((setting for setting, names_one in named.items() if names_one), None)
    if setting is not None and find_spec("redis") is None:
        raise misuse(
            f"{setting} names a Redis server, but the Redis client is not installed.",
            f"Install it: {install_extra('redis')}; or remove {setting}, and each instance keeps its own.",
        )


def check_jobs(settings: Settings, *, folders: bool) -> None:
    """Refuses settings of jobs that can never work. `folders`: those that can't be written, too; a service whose user
    named none reads documents without jobs.

    Raises:
        typer.Exit: with status 2.
    """
    from inkgate.jobs.machine import missing_packages, unwritable_folders

    if wrong := (*missing_packages(settings), *(unwritable_folders(settings) if folders else ())):
        raise misuse(*wrong)


def check_address(host: str, port: int, remedy: str = "Choose another with --port.") -> None:
    """Checks that the address is available, before models are loaded.

    Raises:
        typer.Exit: with status 1.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise failure(f"This machine has no address {host!r}: {error.strerror or error}.") from error
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            probe.listen()
        except OSError as error:
            raise failure(f"Can't listen on {host}, port {port}: {error.strerror}. {remedy}") from error
