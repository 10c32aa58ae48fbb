"""The tables of docs/concepts/overload.md: what costs and what bounds it, by class of routes; all routes; and what runs
beside requests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import inkgate
from inkgate.api.app import create_app
from inkgate.api.http.context import ServiceView
from inkgate.api.http.costs import COSTS, Cost, RouteCost
from inkgate.settings import load_settings
from inkgate.telemetry.observer import NO_OBSERVER
from inkgate.ui.site import PageSite

PACKAGE = Path(inkgate.__file__).parent
_ELSEWHERE = {"batch", "cli", "client", "doctor", "integrations", "library"}
"""Packages that the service does not run."""
_KINDS = {"concurrency.py", "serving/threads.py"}
"""Modules of what others make threads of."""
_MADE_BY = {
    *("AdmissionLimiter", "BackgroundTask", "CapacityLimiter", "FairThreads", "ProcessPool", "Thread", "Threads"),
    *("WorkerType", "WorkQueue"),
}
"""What makes tasks, threads, processes and queues."""


@dataclass(frozen=True, slots=True)
class Activity:
    """What runs beside requests, or on behalf of several. Texts are Markdown.

    Attributes:
        made: the calls that make it, as `calls` gives them.
    """

    name: str
    uses: str
    begun_by: str
    charged_to: str
    shared: str
    bounded_by: str
    made: tuple[str, ...] = ()


_TENANTS = "class, tenant, document, deadline"
_BY_TIME = "tenant: its time"
_REQUESTS = "admitted requests"

ACTIVITIES = (
    Activity(
        "page queue, call queue",
        "a place for each waiting page or call",
        _REQUESTS,
        "tenant: pixels of pages, tokens of calls",
        _TENANTS,
        "`serving.scheduling.max_waiting`, `serving.scheduling.max_waiting_tokens`, `limits.time_s`; the engine's "
        "limit",
        (
            "AdmissionLimiter() bootstrap/stack.py",
            "WorkQueue() bootstrap/stack.py",
            "WorkQueue() model_servers/servers.py",
            "CapacityLimiter() serving/quarantine.py",
        ),
    ),
    Activity(
        "PDF workers",
        "processes that open and render PDFs; copies of files",
        _REQUESTS,
        _BY_TIME,
        _TENANTS,
        "`pdf.workers`, `pdf.worker_memory_mb`, `pdf.page_timeout_s`",
        (
            "WorkerType() documents/pdf/pool.py",
            "ProcessPool() documents/pdf/pool.py",
            "WorkQueue() documents/pdf/pool.py",
            "FairThreads() documents/pdf/pool.py",
            "Threads(pdf_copies) documents/pdf/pool.py",
            "BackgroundTask(*_worker_*) workers/pool.py",
            "Threads(*_workers) workers/pool.py",
            "Thread() operating_system.py",
        ),
    ),
    Activity(
        "writers",
        "processes that write PDF and office files and convert documents",
        _REQUESTS,
        _BY_TIME,
        f"{_TENANTS}; of three, a tenant gets two at once",
        "`pdf.write_timeout_s`, `pdf.worker_memory_mb`",
        (
            "WorkerType() documents/files/writers.py",
            "ProcessPool() documents/files/writers.py",
            "WorkQueue() documents/files/writers.py",
            "FairThreads() documents/files/writers.py",
            "Threads(writers) documents/files/writers.py",
        ),
    ),
    Activity(
        "documentation",
        "a thread that renders and searches pages of docs/",
        "requests below `/docs/guide/`",
        "nobody",
        "",
        "one thread",
        ("Threads(guide) api/guide.py",),
    ),
    Activity(
        "embedded engine",
        "threads or processes that detect and recognize",
        "pages with a turn",
        "the page's turn",
        "page queue",
        "`engine.ppocr.concurrent_pages`, `engine.ppocr.workers`, `engine.ppocr.worker_timeout_s`, "
        "`engine.ppocr.batching.parallel`",
        (
            "WorkerType() engines/workers/model.py",
            "ProcessPool() engines/workers/model.py",
            "BackgroundTask(engine_workers) bootstrap/stack.py",
            "Threads(ppocr) engines/ppocr/engine.py",
            "Threads(ppocr_detection) engines/ppocr/engine.py",
            "Threads(batches) serving/batching.py",
            "CapacityLimiter() serving/batching.py",
        ),
    ),
    Activity(
        "model in this process, images for model servers",
        "threads that run a model or encode images",
        "pages with a turn",
        "the page's turn; encoding: tenant, by time",
        "page queue; encoding: class, tenant, document, deadline",
        "`engine.vllm.encoding_threads`; one thread for a model in this process",
        (
            "BackgroundTask(transformers) engines/choose.py",
            "Threads(transformers) engines/transformers/engine.py",
            "FairThreads() engines/vlm/engine.py",
        ),
    ),
    Activity(
        "model servers",
        "processes of vLLM; requests for their health, metrics, names and addresses",
        "the service",
        "nobody",
        "",
        "`serving.adaptive.interval_s` between readings; a restart waits longer each time",
        (
            "BackgroundTask() engines/choose.py",
            "BackgroundTask(balancer) model_servers/servers.py",
            "BackgroundTask(discovery) model_servers/servers.py",
            "BackgroundTask(server_metrics) model_servers/servers.py",
            "BackgroundTask(engine_start) bootstrap/stack.py",
            "BackgroundTask(demand) bootstrap/stack.py",
            "Threads(vllm_reaper) model_servers/managed/process.py",
        ),
    ),
    Activity(
        "decoding, completing, rendering",
        "threads for images, bodies, pages, results and responses",
        _REQUESTS,
        _BY_TIME,
        _TENANTS,
        "4 threads for bodies and responses, up to 4 for images, `engine.ppocr.concurrent_pages` for pages; one each "
        "for large bodies, large images and `/openapi.json`",
        (
            "FairThreads() api/app.py",
            "Threads(openapi) api/http/openapi.py",
            "FairThreads() documents/open.py",
            "FairThreads() bootstrap/stack.py",
            "FairThreads() serving/cache.py",
            "WorkQueue() service/figures.py",
        ),
    ),
    Activity(
        "fields",
        "threads that look for values in documents; requests to a language model",
        _REQUESTS,
        _BY_TIME,
        _TENANTS,
        "2 threads; `fields.text_model.concurrent`, `fields.text_model.timeout_s`",
        ("FairThreads() extraction/finder.py",),
    ),
    Activity(
        "pages that several wait for",
        "reading, while one of them waits",
        "the first of them",
        "the one for whom it is read",
        "page queue",
        "the latest deadline of those who wait",
        ("BackgroundTask(shared_reads) bootstrap/stack.py",),
    ),
    Activity(
        "room for results",
        "results in memory until clients have taken them; threads that render them",
        "requests for results, files and pictures",
        "tenant: a result and its bytes; the time of rendering",
        _TENANTS,
        "`serving.admission.max_results`, `serving.admission.max_result_mb`, `server.min_send_kb_s`; 2 parts at once, "
        "one whole document",
        (
            "AdmissionLimiter() serving/sending.py",
            "WorkQueue() serving/sending.py",
            "FairThreads() jobs/service.py",
        ),
    ),
    Activity(
        "jobs",
        "documents in memory; pages at the engine",
        "jobs that were added",
        "tenant: pages",
        "class, tenant by places and pages, turn",
        "`jobs.at_once`, `jobs.slice_pages`, `jobs.max_pages`, `jobs.max_attempts`, `jobs.lease_s`",
        ("BackgroundTask(jobs_worker) bootstrap/jobs.py",),
    ),
    Activity(
        "deliveries",
        "connections to receivers; a result in memory each; threads of sinks",
        "jobs that ended",
        "tenant: a delivery",
        "tenant and receiver; a slow receiver pauses",
        "128 at once, 8 to a sink or of a tenant to a host; 240 s each, `webhooks.timeout_s`; 7 attempts",
        (
            "BackgroundTask(jobs_relay) bootstrap/jobs.py",
            "FairThreads() bootstrap/jobs.py",
            "Threads(sinks) jobs/sinks/build.py",
            "Threads(sink *) jobs/sinks/objects.py",
            "Threads(sink *) jobs/sinks/table.py",
        ),
    ),
    Activity(
        "database of jobs",
        "a writer and four readers; threads that pack and unpack pages; disk",
        "requests, jobs and deliveries",
        "tenant: the time of its reads, packing and unpacking",
        "by tenant; writes in order of arrival, up to 64 in a transaction",
        "65 s a statement; `jobs.max_queued_pages`, `jobs.retention_days`",
        (
            "FairThreads() jobs/store/database.py",
            "Threads(jobs_write) jobs/store/database.py",
            "FairThreads() jobs/store/__init__.py",
        ),
    ),
    Activity(
        "events from brokers",
        "a connection to each broker; rows of the database",
        "`intake`",
        "the pipeline's tenant",
        "one batch after another",
        "`jobs.max_queued_pages`",
        ("BackgroundTask(intake_*) jobs/intake/brokers.py",),
    ),
    Activity(
        "uploads and objects",
        "threads that hash and store files; disk or object storage",
        "jobs and their results",
        "nobody",
        "order of arrival",
        "8 threads for files, 2 for hashes; `storage.timeout_s`, `limits.max_body_mb`",
        ("Threads(objects) storage/objects.py", "Threads(upload_hashes) storage/uploads.py"),
    ),
    Activity(
        "removal of what has expired",
        "deletes in the database and of uploads",
        "every 10 minutes",
        "nobody",
        "",
        "200 jobs or 500 uploads at a time",
        ("BackgroundTask(jobs_purge) bootstrap/jobs.py",),
    ),
    Activity(
        "Redis",
        "a connection; a thread for its calls",
        "pages that are cached",
        "nobody",
        "order of arrival",
        "a slow one is skipped",
        ("Threads(redis) storage/redis.py",),
    ),
    Activity(
        "watching itself",
        "some milliseconds every few seconds; a test page if none was read lately",
        "the service",
        "nobody",
        "",
        "one look at a time",
        (
            "BackgroundTask(readiness) bootstrap/stack.py",
            "BackgroundTask(history) bootstrap/__init__.py",
            "BackgroundTask(memory_return) bootstrap/__init__.py",
            "BackgroundTask(watchdog) bootstrap/__init__.py",
            "BackgroundTask(processors) bootstrap/stack.py",
            "BackgroundTask(gpu_watch) bootstrap/stack.py",
            "BackgroundTask(jobs_watch) bootstrap/jobs.py",
            "Threads(gpu) serving/gpu_watch.py",
            "Threads(memory) runtimes/memory.py",
            "Threads(processors) bootstrap/stack.py",
            "Threads(jobs_disks) jobs/watch.py",
        ),
    ),
    Activity(
        "metrics: `GET /metrics` on `metrics.port`",
        "some milliseconds of the event loop",
        "whoever reaches the port",
        "nobody",
        "",
        "64 connections; by default, loopback only",
        ("BackgroundTask(metrics_server) api/http/metrics_server.py",),
    ),
    Activity(
        "traces",
        "a thread that sends spans, and one at the end",
        "requests",
        "nobody",
        "",
        "`tracing.sample_ratio`; spans that don't fit are dropped",
        ("Thread() telemetry/span_export.py",),
    ),
    Activity(
        "`inkgate mcp --http`, a process of its own",
        "bodies and the last 100 documents in memory; the engine",
        "whoever has its key",
        "the client's address",
        "admission as in the service",
        "*in flight*, *body*, `server.max_connections`, `server.head_timeout_s`, `server.send_timeout_s`",
    ),
)


def calls() -> Iterator[str]:
    """Each call in the service's code that makes a task, threads, processes or a queue, as `Threads(gpu) path`: what it
    makes, its name with `*` for a value, and the module.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        if module.parts[0] in _ELSEWHERE or module.as_posix() in _KINDS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _MADE_BY:
                made = ast.unparse(node.func).rpartition(".")[2]
                yield f"{made}({_name(node.args[0]) if node.args else ''}) {module.as_posix()}"


def _name(argument: ast.expr) -> str:
    if isinstance(argument, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in argument.values)
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""


HEAD = "| activity | costs | begun by | charged to | order | bounded by |\n| --- | --- | --- | --- | --- | --- |\n"


def activities_markdown() -> str:
    """A table of what runs beside requests."""
    rows = [
        f"| {each.name} | {each.uses} | {each.begun_by} | {each.charged_to} | {each.shared} | {each.bounded_by} |\n"
        for each in ACTIVITIES
    ]
    return HEAD + "".join(rows)


def routes_markdown() -> str:
    """A list of the routes by class."""
    return "".join(f"- {cost.name}: {_names(cost)}\n" for cost in COSTS)


def _names(cost: Cost) -> str:
    """The routes of a class, each path once with its methods."""
    methods: dict[str, list[str]] = {}
    for row in routes():
        if row.cost is cost:
            methods.setdefault(row.path, []).append(row.method)
    return ", ".join(f"`{'|'.join(names)} {path}`" for path, names in methods.items())


def routes() -> list[RouteCost]:
    """All routes of the application, by class and path."""
    # The routes don't depend on what is behind them, which would load models.
    observatory = SimpleNamespace(add_reasons=lambda _: None, watch_results=lambda _: None)
    limiter = SimpleNamespace(slot_s=lambda: 0.0, line=SimpleNamespace(early_bytes=0))
    service = SimpleNamespace(
        observer=NO_OBSERVER,
        observatory=observatory,
        gateway=SimpleNamespace(limiter=limiter),
        upstream=None,
        jobs=None,
        engine=SimpleNamespace(name=""),
    )
    app = create_app(cast("ServiceView", service), load_settings(None), page=PageSite("/ui"))
    rows: tuple[RouteCost, ...] = app.state.costs
    return sorted(rows, key=lambda row: (COSTS.index(row.cost), row.path, row.method))
