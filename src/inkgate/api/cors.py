"""CORS: what pages of the origins in `server.cors_origins` may send and see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from inkgate.api.document_response import STATUS_HEADER
from inkgate.api.head import PRIORITY_HEADER, TIMEOUT_HEADER, WAIT_HEADER
from inkgate.api.request_id import HEADER as REQUEST_ID_HEADER
from inkgate.api.stream import PAGES_HEADER
from inkgate.engines.vllm.protocol import IGNORED_HEADER

_HEADERS = (
    *("Authorization", "X-API-Key", "Content-Type", "Cache-Control", "Idempotency-Key", "User-Agent"),
    *(REQUEST_ID_HEADER, PRIORITY_HEADER, TIMEOUT_HEADER, WAIT_HEADER, "OpenAI-Organization", "OpenAI-Project"),
)
"""Request headers of browser clients of this service, OpenAI and Mistral."""
_OF_CLIENT = re.compile("x-stainless-[a-z-]{1,60}")
_ASKED = "access-control-request-headers"
_ALLOWED = "Access-Control-Allow-Headers"


class Cors(CORSMiddleware):
    """Answers preflight requests, and lists the response headers that pages may read."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=_HEADERS,
            expose_headers=[REQUEST_ID_HEADER, STATUS_HEADER, PAGES_HEADER, IGNORED_HEADER, "Retry-After"],
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Also allows the headers of OpenAI's clients, whose names differ by version."""
        asked = [name.strip().lower() for name in request_headers.get(_ASKED, "").split(",")]
        of_client = [name for name in asked if _OF_CLIENT.fullmatch(name)]
        if not of_client:
            return super().preflight_response(request_headers)
        others = ", ".join(name for name in asked if name not in of_client)
        kept = {name: value for name, value in request_headers.items() if name != _ASKED}
        answer = super().preflight_response(Headers(kept | ({_ASKED: others} if others else {})))
        allowed = answer.headers[_ALLOWED]
        answer.headers[_ALLOWED] = ", ".join([allowed, *of_client])
        return answer
