"""`inkgate work`: runs jobs, without HTTP."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from inkgate.cli.configure import ConfigOption, EngineOption, VllmModelOption, VllmUrlOption, configured, engine_flags
from inkgate.cli.messages import say
from inkgate.cli.serve import check_jobs, run_until_stopped


def work(
    *,
    jobs_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Database of jobs, such as postgresql://host/inkgate. Default: the settings'."
        ),
    ] = None,
    engine: EngineOption = None,
    vllm_url: VllmUrlOption = None,
    vllm_model: VllmModelOption = None,
    config: ConfigOption = None,
) -> None:
    """Run jobs without serving HTTP, beside `inkgate serve` or other workers with the same database.

    Ctrl-C, SIGTERM or SIGHUP stops it. Jobs that it runs then go back to the queue; their pages are kept.
    """
    settings = configured(
        config,
        {"jobs": {"database": jobs_url, "enabled": True}, "engine": engine_flags(engine, vllm_url, vllm_model)},
    )
    check_jobs(settings, folders=True)
    from inkgate import bootstrap
    from inkgate.systemd import service_manager

    ready = partial(say, "Running jobs. Ctrl-C stops.")
    run_until_stopped(settings, partial(bootstrap.work, settings, ready, service_manager()))
