"""What pages of other origins may send and see, where `server.cors_origins` lets them in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp

from inkgate.api.asking import PRIORITY_HEADER, TIMEOUT_HEADER, WAIT_HEADER
from inkgate.api.exchange import STATUS_HEADER
from inkgate.api.request_id import HEADER as REQUEST_ID_HEADER
from inkgate.api.stream import PAGES_HEADER
from inkgate.engines.vllm.wire import IGNORED_HEADER

_HEADERS = (
    *("Authorization", "X-API-Key", "Content-Type", "Cache-Control", "Idempotency-Key", "User-Agent"),
    *(REQUEST_ID_HEADER, PRIORITY_HEADER, TIMEOUT_HEADER, WAIT_HEADER, "OpenAI-Organization", "OpenAI-Project"),
)
"""What clients that run in a browser send: those of this service, of OpenAI and of Mistral."""
_OF_CLIENT = re.compile("x-stainless-[a-z-]{1,60}")
_ASKED = "access-control-request-headers"
_ALLOWED = "Access-Control-Allow-Headers"


class Cors(CORSMiddleware):
    """Answers preflights, and tells pages which headers of answers they may look at."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=_HEADERS,
            expose_headers=[REQUEST_ID_HEADER, STATUS_HEADER, PAGES_HEADER, IGNORED_HEADER, "Retry-After"],
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Allows the headers of OpenAI's clients too, whose names differ from version to version."""
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
