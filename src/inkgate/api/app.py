"""The HTTP application: routes and middleware."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from opentelemetry.trace import Tracer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from inkgate import __version__
from inkgate.api import (
    docling,
    docling_convert,
    document_intelligence,
    events,
    extract,
    files,
    health,
    layout_parsing,
    mineru,
    mineru_parse,
    mistral,
    models,
    ocr,
    webpage,
    website,
)
from inkgate.api.chat import route as chat
from inkgate.api.chat.images import image_limits
from inkgate.api.http.auth import DOCS_FILES, ApiKeys, Authenticate
from inkgate.api.http.context import Context, ServiceView
from inkgate.api.http.decoding import BodyThreads
from inkgate.api.http.drain import Drain, RefuseWhenDraining
from inkgate.api.http.errors import ErrorForm, ErrorResponses, Problems, openai_error
from inkgate.api.http.leaving import EarlyBodies
from inkgate.api.http.observability import AccessLog, Measure, RequestId, Trace
from inkgate.api.http.openapi import DESCRIPTION, openapi_of
from inkgate.api.http.options import OcrOptions
from inkgate.api.http.origins import BehindProxies, CheckOrigin, Cors, Origins, UnderRoot
from inkgate.api.http.ratelimit import LimitRate, RateLimiter, build_rate_limiter
from inkgate.api.http.served import ServedModels
from inkgate.api.http.sources import FileStore, Sources
from inkgate.api.jobs import fields as job_fields
from inkgate.api.jobs import route as jobs
from inkgate.api.jobs.fields import CorrectionBody
from inkgate.api.jobs.request import JobRequest
from inkgate.api.jobs.watches import JobWatches, Pace
from inkgate.api.layout_parsing import LayoutParsingRequest
from inkgate.api.mistral_batch import route as mistral_batch
from inkgate.api.mistral_batch.lines import MistralBatchRequest
from inkgate.api.mistral_response import MistralRequest
from inkgate.api.paddlex import PaddlexRequest, paddlex_error
from inkgate.api.website import LinkHelp, ServeWebPage, add_guide, guide_url
from inkgate.concurrency import Threads
from inkgate.errors import InputRejected
from inkgate.settings import Settings
from inkgate.settings.extensions import load_extension
from inkgate.storage.fetch import Fetcher
from inkgate.telemetry.tracing import NOT_RECORDING

_BODY_THREADS = 4
"""Concurrent threads for decoding bodies and for rendering responses: both are short, and more threads would only take
cores from the engine."""
_EARLY_BYTES = 64_000_000
"""Memory for bodies whose requests wait for admission: 200 page images of 300 KB."""

ROUTES = (
    chat,
    ocr,
    mistral,
    layout_parsing,
    jobs,
    job_fields,
    events,
    mistral_batch,
    files,
    extract,
    docling,
    docling_convert,
    mineru,
    mineru_parse,
    document_intelligence,
    models,
    health,
    webpage,
    website,
)
"""The router searches them in this order: the most used come first, and `mistral_batch` has paths that `files` would
take.
"""
REQUESTS = (
    OcrOptions,
    PaddlexRequest,
    LayoutParsingRequest,
    MistralRequest,
    JobRequest,
    CorrectionBody,
    docling.DoclingRequest,
    document_intelligence.AnalyzeRequest,
    MistralBatchRequest,
)
"""Models of requests that routes take raw, for OpenAPI."""


_OWN_V1 = re.compile("/v1/(ocr|models|events|(files|jobs|batch|convert|status|result)(/.*)?)", re.DOTALL)
"""Paths below /v1 whose errors are problem documents; OpenAI clients use all others."""


def error_form(path: str) -> ErrorForm | None:
    """The form of errors that clients of `path` expect; None: problem documents."""
    if path == layout_parsing.PATH:
        return paddlex_error
    return openai_error if path.startswith("/v1/") and not _OWN_V1.fullmatch(path) else None


_ERRORS = ErrorResponses(error_form)


def create_app(
    service: ServiceView,
    settings: Settings,
    fetcher: Fetcher | None = None,
    page: ASGIApp | None = None,
    tracer: Tracer = NOT_RECORDING,
) -> FastAPI:
    """The application in front of a running `service`. `fetcher`: by default, as the settings say. `page`: the
    web page, below `UI_PATH`. `tracer`: records requests.

    Raises:
        ValueError: the settings' rate limit is invalid.
        InputRejected: "extension_invalid": a wire format of `server.formats` can't be imported, or is no router.
    """
    max_bytes = int(settings.limits.max_body_mb * 1_000_000)
    drain = Drain()
    store = FileStore()
    threads = Threads("http_bodies", _BODY_THREADS)
    bodies = BodyThreads(threads, Threads("http_large_bodies", 1))
    rate_limiter = build_rate_limiter(settings.rate_limit)
    measure = Measure(service.observer)
    app = FastAPIOffline(
        static_url=DOCS_FILES,
        title="inkgate",
        version=__version__,
        description=DESCRIPTION,
        middleware=_middleware(
            settings, drain, rate_limiter, [Middleware(Trace, tracer=tracer), Middleware(AccessLog, ended=measure)]
        ),
        exception_handlers={HTTPException: _ERRORS.http_error, RequestValidationError: _ERRORS.validation_error},
        lifespan=_lifespan(rate_limiter),
    )
    service.observatory.ask_also(drain.reasons)
    app.state.context = Context(
        service=service,
        settings=settings,
        drain=drain,
        files=store,
        sources=Sources(store, fetcher or Fetcher(settings.fetch, max_bytes), bodies),
        served=ServedModels(service.upstream),
        threads=threads,
        bodies=bodies,
        early_bodies=EarlyBodies(_EARLY_BYTES),
        image_limits=image_limits(settings.engine),
        has_page=page is not None,
    )
    app.state.job_watches = _job_watches(service, threads)
    # Outermost, because requests for the web page need none of the API's middleware.
    if page is not None:
        root = settings.server.root_path
        app.add_middleware(ServeWebPage, page=page, origins=Origins(settings), root_path=root)
    app.add_middleware(BehindProxies, settings=settings.server)
    for routes in ROUTES:
        app.include_router(routes.router)
    for name in settings.server.formats:
        app.include_router(_router(name))
    add_guide(app)
    measure.add_routes([*app.routes, *(route for routes in ROUTES for route in routes.router.routes)])
    # FastAPI's documented way to extend the schema is to replace the method of the instance.
    app.openapi = openapi_of(app, REQUESTS, keys_needed=bool(settings.auth.key_hashes))  # type: ignore[method-assign]
    return app


def _job_watches(service: ServiceView, threads: Threads) -> JobWatches | None:
    if service.jobs is None:
        return None
    settings = service.jobs.settings
    return JobWatches(service.jobs.store, threads, settings.max_streams, Pace(settings.poll_s))


def _router(name: str) -> APIRouter:
    """The wire format `name`. Raises InputRejected("extension_invalid")."""
    router = load_extension(name, "server.formats")
    if not isinstance(router, APIRouter):
        raise InputRejected("extension_invalid", f"`server.formats`: {name} is no FastAPI router.")
    return router


def _middleware(
    settings: Settings, drain: Drain, rate_limiter: RateLimiter | None, observers: list[Middleware]
) -> list[Middleware]:
    """Outermost first. Requests are refused before a byte of the body is read where possible."""
    stack = [Middleware(RequestId), *observers, Middleware(LinkHelp, base=guide_url(settings))]
    if settings.server.cors_origins:
        stack.append(Middleware(Cors, origins=settings.server.cors_origins))
    stack += [
        Middleware(Problems, responses=_ERRORS),
        Middleware(CheckOrigin, origins=Origins(settings)),
        Middleware(RefuseWhenDraining, drain=drain),
        Middleware(Authenticate, keys=ApiKeys(settings.auth.key_hashes)),
    ]
    if rate_limiter is not None:
        stack.append(Middleware(LimitRate, limiter=rate_limiter))
    stack += [Middleware(chat.AnswerChat), Middleware(UnderRoot, root_path=settings.server.root_path)]
    return stack


def _lifespan(rate_limiter: RateLimiter | None) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if rate_limiter is not None:
            await rate_limiter.close()

    return lifespan
