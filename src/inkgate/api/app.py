"""The HTTP application: routes and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from opentelemetry.trace import Tracer
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from inkgate import __version__
from inkgate.api import (
    routes_chat,
    routes_files,
    routes_health,
    routes_home,
    routes_layout_parsing,
    routes_mistral,
    routes_models,
    routes_ocr,
    routes_pictures,
    routes_state,
)
from inkgate.api.access_log import AccessLog
from inkgate.api.auth import DOCS_FILES, ApiKeys, Authenticate
from inkgate.api.chat_images import image_limits
from inkgate.api.context import Context, Service
from inkgate.api.cors import Cors
from inkgate.api.decoding import BodyThreads
from inkgate.api.drain import Drain, RefuseWhenDraining
from inkgate.api.fetch import Fetcher
from inkgate.api.files import FileStore
from inkgate.api.guide import LinkHelp, add_guide, guide_url
from inkgate.api.leaving import EarlyBodies
from inkgate.api.measure import Measure
from inkgate.api.openapi import DESCRIPTION, openapi_of
from inkgate.api.origins import CheckOrigin, Origins
from inkgate.api.problems import Problems, http_error, validation_error
from inkgate.api.proxies import BehindProxies, UnderRoot
from inkgate.api.ratelimit import LimitRate, RateLimiter, build_rate_limiter
from inkgate.api.request_id import RequestId
from inkgate.api.served import ServedModels
from inkgate.api.sources import Sources
from inkgate.api.trace import Trace
from inkgate.api.webpage import ServeWebPage, WebPage
from inkgate.concurrency import Threads
from inkgate.settings import Settings
from inkgate.settings.extensions import load_extension
from inkgate.telemetry.tracing import NOT_RECORDING

_BODY_THREADS = 4
"""Concurrent threads for decoding bodies and for rendering responses: both are short, and more threads would only take
cores from the engine."""
_EARLY_BYTES = 64_000_000
"""Memory for bodies whose requests wait for admission: 200 page images of 300 KB."""


_READERS = (routes_chat, routes_ocr, routes_mistral, routes_layout_parsing)
ROUTES = (*_READERS, routes_files, routes_pictures, routes_models, routes_health, routes_state, routes_home)
"""The router searches them in this order: the most used come first."""


def create_app(
    service: Service,
    settings: Settings,
    fetcher: Fetcher | None = None,
    page: WebPage | None = None,
    tracer: Tracer = NOT_RECORDING,
) -> FastAPI:
    """The application in front of a running `service`. `fetcher`: by default, as the settings say. `page`: holds the
    web page once it is loaded. `tracer`: records requests.

    Raises:
        ValueError: the settings' rate limit is invalid.
        InputRejected: "extension_invalid": a wire format of `server.formats` can't be imported.
    """
    max_bytes = int(settings.limits.max_body_mb * 1_000_000)
    drain = Drain()
    files = FileStore()
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
        exception_handlers={HTTPException: http_error, RequestValidationError: validation_error},
        lifespan=_lifespan(rate_limiter),
    )
    service.observatory.ask_also(drain.reasons)
    app.state.context = Context(
        service=service,
        settings=settings,
        drain=drain,
        files=files,
        sources=Sources(files, fetcher or Fetcher(settings.fetch, max_bytes), bodies),
        served=ServedModels(service.upstream),
        threads=threads,
        bodies=bodies,
        early_bodies=EarlyBodies(_EARLY_BYTES),
        image_limits=image_limits(settings.engine),
        page=page or WebPage(),
    )
    # Outermost, because requests for the web page need none of the API's middleware.
    app.add_middleware(
        ServeWebPage, page=app.state.context.page, origins=Origins(settings), root_path=settings.server.root_path
    )
    app.add_middleware(BehindProxies, settings=settings.server)
    for routes in ROUTES:
        app.include_router(routes.router)
    for name in settings.server.formats:
        app.include_router(load_extension(name, "server.formats"))
    add_guide(app)
    measure.add_routes([*app.routes, *(route for routes in ROUTES for route in routes.router.routes)])
    # FastAPI's documented way to extend the schema is to replace the method of the instance.
    app.openapi = openapi_of(app, keys_needed=bool(settings.auth.key_hashes))  # type: ignore[method-assign]
    return app


def _middleware(
    settings: Settings, drain: Drain, rate_limiter: RateLimiter | None, observers: list[Middleware]
) -> list[Middleware]:
    """Outermost first. Requests are refused before a byte of the body is read where possible."""
    stack = [Middleware(RequestId), *observers, Middleware(LinkHelp, base=guide_url(settings))]
    if settings.server.cors_origins:
        stack.append(Middleware(Cors, origins=settings.server.cors_origins))
    stack += [
        Middleware(Problems),
        Middleware(CheckOrigin, origins=Origins(settings)),
        Middleware(RefuseWhenDraining, drain=drain),
        Middleware(Authenticate, keys=ApiKeys(settings.auth.key_hashes)),
    ]
    if rate_limiter is not None:
        stack.append(Middleware(LimitRate, limiter=rate_limiter))
    stack += [Middleware(routes_chat.AnswerChat), Middleware(UnderRoot, root_path=settings.server.root_path)]
    return stack


def _lifespan(rate_limiter: RateLimiter | None) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if rate_limiter is not None:
            await rate_limiter.close()

    return lifespan
