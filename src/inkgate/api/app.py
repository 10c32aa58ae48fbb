"""The HTTP application: routes and middleware."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from opentelemetry.trace import Tracer
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from inkgate import __version__
from inkgate.api import (
    docling,
    docling_requests,
    document_intelligence,
    events,
    extract,
    files,
    health,
    layout_parsing,
    mineru,
    mineru_v1,
    mistral,
    models,
    ocr,
    paddleocr_jobs,
    website,
)
from inkgate.api.chat import route as chat
from inkgate.api.chat.images import image_limits
from inkgate.api.guide import add_guide, guide_url
from inkgate.api.http.auth import DOCS_FILES, PADDLEOCR_JOBS, ApiKeys, is_public, is_signed, key_of
from inkgate.api.http.context import Context, ServiceView
from inkgate.api.http.costs import STATIC, RouteCost, route_costs
from inkgate.api.http.decoding import BodyThreads
from inkgate.api.http.drain import ALWAYS_ANSWERED, Drain
from inkgate.api.http.errors import (
    ErrorForm,
    ErrorResponses,
    Places,
    Problems,
    openai_error,
    problem_with_openai_error,
    problem_with_remedy,
)
from inkgate.api.http.leaving import EarlyBodies
from inkgate.api.http.observability import Measure, Observe
from inkgate.api.http.openapi import DESCRIPTION, openapi_of, serve_openapi
from inkgate.api.http.options import OcrOptions
from inkgate.api.http.origins import BehindProxies, Cors, Origins, as_client_sees
from inkgate.api.http.ratelimit import RateLimiter, build_rate_limiter
from inkgate.api.http.served import ModelNames, ServedModels
from inkgate.api.http.sources import SignedUrls, Sources
from inkgate.api.jobs import fields as job_fields
from inkgate.api.jobs import route as jobs
from inkgate.api.jobs.fields import CorrectionBody
from inkgate.api.jobs.request import JobRequest
from inkgate.api.jobs.watches import JobWatches, Pace
from inkgate.api.mistral_batch import route as mistral_batch
from inkgate.api.mistral_batch.lines import MistralBatchRequest
from inkgate.api.mistral_response import MistralRequest
from inkgate.api.paddlex import PaddlexRequest, paddlex_error
from inkgate.api.paddlex_layout import LayoutParsingRequest
from inkgate.api.website import UI_PATH, ServeWebPage
from inkgate.errors import InputRejected
from inkgate.serving.sending import SendingRoom
from inkgate.serving.threads import FairThreads
from inkgate.settings import Settings
from inkgate.settings.extensions import FORMATS, load_extension
from inkgate.storage.fetch import Fetcher
from inkgate.storage.files import FileStore, MemoryFiles
from inkgate.telemetry.tracing import NOT_RECORDING

_BODY_THREADS = 4
"""Concurrent threads for decoding bodies and for rendering responses: both are short, and more threads would only take
cores from the engine."""

ROUTES = (
    chat,
    ocr,
    mistral,
    layout_parsing,
    jobs,
    job_fields,
    events,
    mistral_batch,
    mineru_v1,
    files,
    extract,
    docling,
    mineru,
    paddleocr_jobs,
    document_intelligence,
    models,
    health,
    website,
)
"""The router searches them in this order: the most used come first, and `mistral_batch` and `mineru_v1` have paths
that `files` would take.
"""
REQUESTS = (
    OcrOptions,
    PaddlexRequest,
    LayoutParsingRequest,
    MistralRequest,
    JobRequest,
    CorrectionBody,
    docling_requests.DoclingChunkRequest,
    docling_requests.DoclingRequest,
    mineru_v1.V1Upload,
    mineru_v1.V1JobRequest,
    paddleocr_jobs.PaddleocrJobRequest,
    document_intelligence.AnalyzeRequest,
    MistralBatchRequest,
)
"""Models of requests that routes take raw, for OpenAPI."""


_OWN_V1 = re.compile("/v1/(ocr|models|events|health|tiers|(files|jobs|batch|uploads|parse)(/.*)?)", re.DOTALL)
"""Paths below /v1 whose errors are problem documents; only OpenAI's clients use all others."""
_DETAIL = re.compile("/v1/(convert|status|result|chunk|clear)/.*|/file_parse|/tasks(/.*)?", re.DOTALL)
"""Paths of docling and MinerU."""


def error_form(path: str) -> ErrorForm | None:
    """The form of errors that clients of `path` expect; None: problem documents."""
    if path == layout_parsing.PATH:
        return paddlex_error
    if path.startswith(document_intelligence.PREFIXES):
        return document_intelligence.azure_error
    if path.startswith(PADDLEOCR_JOBS):
        return paddleocr_jobs.paddleocr_error
    if _DETAIL.fullmatch(path):
        return problem_with_remedy
    if not path.startswith("/v1/"):
        return None
    return problem_with_openai_error if _OWN_V1.fullmatch(path) else openai_error


_ERRORS = ErrorResponses(error_form)
_DOWNLOADS = frozenset({"GET", "HEAD"})


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
        TypeError: a route of this package declares no class of cost.
    """
    max_bytes = int(settings.limits.max_body_mb * 1_000_000)
    drain = Drain()
    shared = None if service.jobs is None else service.jobs.files
    store: FileStore = MemoryFiles() if shared is None else shared
    scheduling = settings.serving.scheduling
    threads = FairThreads(_BODY_THREADS, scheduling)
    bodies = BodyThreads(threads, FairThreads(1, scheduling))
    room = SendingRoom.of(settings.serving)
    rate_limiter = build_rate_limiter(settings.rate_limit)
    measure = Measure(service.observer)
    places = Places(service.gateway.limiter.slot_s)
    app = FastAPIOffline(
        static_url=DOCS_FILES,
        title="inkgate",
        version=__version__,
        description=DESCRIPTION,
        middleware=_middleware(
            settings, drain, store, rate_limiter, Middleware(Observe, tracer=tracer, ended=measure), places
        ),
        exception_handlers={HTTPException: _ERRORS.http_error, RequestValidationError: _ERRORS.validation_error},
        lifespan=_lifespan(rate_limiter),
    )
    service.observatory.add_reasons(drain.reasons)
    service.observatory.watch_results(room.limiter)
    app.state.context = Context(
        service=service,
        settings=settings,
        drain=drain,
        files=store,
        sources=Sources(store, fetcher or Fetcher(settings.fetch, max_bytes), bodies),
        served=ServedModels(service.upstream, model=ModelNames.of(settings.engine, service.engine.name)),
        threads=threads,
        bodies=bodies,
        early_bodies=EarlyBodies(service.gateway.limiter.line.early_bytes),
        image_limits=image_limits(settings.engine),
        room=room,
        has_page=page is not None,
    )
    app.state.job_watches = _job_watches(service, threads, room)
    if page is not None:  # outside, because requests for the web page need none of the API's middleware
        root = settings.server.root_path
        app.add_middleware(ServeWebPage, page=page, origins=Origins(settings), root_path=root)
    app.add_middleware(BehindProxies, settings=settings.server)  # outermost: all others see the client's address
    for routes in ROUTES:
        app.include_router(routes.router)
    for name in settings.server.formats:
        app.include_router(_router(name))
    add_guide(app)
    serve_openapi(app)
    measure.add_routes([*app.routes, *_own_routes()])
    app.state.costs = _costs_of(app, has_page=page is not None)
    # FastAPI's documented way to extend the schema is to replace the method of the instance.
    app.openapi = openapi_of(app, REQUESTS, keys_needed=bool(settings.auth.key_hashes))  # type: ignore[method-assign]
    return app


def _job_watches(service: ServiceView, threads: FairThreads, room: SendingRoom) -> JobWatches | None:
    if service.jobs is None:
        return None
    settings = service.jobs.settings
    return JobWatches(service.jobs.store, threads, settings.max_streams, Pace(settings.poll_s), room)


def _own_routes() -> list[BaseRoute]:
    return [route for routes in ROUTES for route in routes.router.routes]


def _costs_of(app: FastAPI, *, has_page: bool) -> tuple[RouteCost, ...]:
    """The class of each route: of the web page, of the framework and the documentation, and of inkgate's own. What
    `server.formats` adds is not known. Raises TypeError if a route of inkgate declares none.
    """
    page = (UI_PATH, f"{UI_PATH}/{{page:path}}") if has_page else ()
    folders = [route.path for route in app.routes if isinstance(route, Mount)]
    served: list[tuple[str, Sequence[str]]]
    served = [(path, ("GET", "HEAD")) for path in (*folders, *(f"{folder}/{{page:path}}" for folder in folders), *page)]
    served += [(route.path, sorted(route.methods or ())) for route in app.routes if isinstance(route, Route)]
    static = (RouteCost(method, path, STATIC) for path, methods in served for method in methods)
    return (*route_costs(_own_routes()), *static)


def _router(name: str) -> APIRouter:
    """The wire format `name`. Raises InputRejected("extension_invalid")."""
    router = load_extension(name, "server.formats", FORMATS)
    if not isinstance(router, APIRouter):
        raise InputRejected("extension_invalid", f"`server.formats`: {name} is no FastAPI router.")
    return router


def _middleware(
    settings: Settings,
    drain: Drain,
    files: FileStore,
    rate_limiter: RateLimiter | None,
    observe: Middleware,
    places: Places,
) -> list[Middleware]:
    """What a request passes inside BehindProxies and ServeWebPage, outermost first."""
    stack = [observe]  # outside all that refuses requests, so that each has an ID and a line in the log
    if settings.server.cors_origins:
        stack.append(Middleware(Cors, origins=settings.server.cors_origins))  # errors, too, are for pages to read
    origins, keys = Origins(settings), ApiKeys(settings.auth.key_hashes)
    return [
        *stack,
        # answers the errors of those inside
        Middleware(Problems, responses=_ERRORS, guide_url=guide_url(settings), places=places),
        Middleware(
            CheckAccess,
            origins=origins,
            drain=drain,
            keys=keys,
            signed_urls=SignedUrls(files),
            rate_limiter=rate_limiter,
        ),
        Middleware(CallRoutes, root_path=settings.server.root_path),
    ]


class CheckAccess:
    """Refuses requests before a byte of their body is read: of foreign web pages, while draining, without a valid key
    or a signed URL, or over the caller's rate. Notes the caller.
    """

    def __init__(
        self,
        app: ASGIApp,
        origins: Origins,
        drain: Drain,
        keys: ApiKeys,
        signed_urls: SignedUrls,
        rate_limiter: RateLimiter | None,
    ) -> None:
        self._app = app
        self._origins = origins
        self._drain = drain
        self._keys = keys
        self._signed_urls = signed_urls
        self._rate_limiter = rate_limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._origins.check(scope)
        async with nullcontext() if scope["path"] in ALWAYS_ANSWERED else self._drain.count():
            if not is_public(scope["path"]):
                caller = await self._caller(scope)
                scope["state"]["caller"] = caller
                if self._rate_limiter is not None:
                    await self._rate_limiter.count(caller)
            await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> str:
        """Raises InputRejected: the request has no valid key, or its signed URL has expired."""
        if scope["method"] in _DOWNLOADS:
            owner = await self._signed_urls.owner(scope["path"], scope["query_string"].decode("latin-1"))
            if owner is not None:
                return owner
        address = scope["client"][0] if scope.get("client") else "unknown"
        if scope["method"] in _DOWNLOADS and is_signed(scope["path"]):
            return f"address:{address}"
        return self._keys.caller(key_of(Headers(scope=scope)), address)


class CallRoutes:
    """Innermost: gives routes the service's address as the client sees it. Calls the route of chat completions itself,
    because the router would add a sixth to the gateway's time per request. The router still describes them in OpenAPI.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http":
            if scope["path"] == chat.PATH and scope["method"] == "POST":
                answer = await chat.complete(Request(scope, receive))
            else:
                scope = as_client_sees(scope, self._root_path)
        await answer(scope, receive, send)


def _lifespan(rate_limiter: RateLimiter | None) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if rate_limiter is not None:
            await rate_limiter.close()

    return lifespan
