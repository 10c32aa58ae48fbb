"""HTTP errors: the table from error code to status, and RFC 9457 problem documents."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import orjson
from starlette.requests import Request
from starlette.responses import Response

from inkgate.errors import EngineFailed, InkgateError, Overloaded

PROBLEM_TYPE = "application/problem+json"

STATUSES: dict[str, int] = {
    "request_malformed": 400,
    "json_invalid": 400,
    "body_too_complex": 413,
    "base64_invalid": 400,
    "file_missing": 400,
    "options_invalid": 422,
    "pages_invalid": 422,
    "document_empty": 400,
    "type_unsupported": 415,
    "image_corrupt": 422,
    "image_too_large": 413,
    "image_too_narrow": 422,
    "pdf_corrupt": 422,
    "pdf_encrypted": 422,
    "pdf_password_wrong": 422,
    "pdf_empty": 422,
    "page_broken": 422,
    "page_memory": 422,
    "too_many_pages": 413,
    "body_too_large": 413,
    "body_timeout": 408,
    "head_too_large": 431,
    "head_timeout": 408,
    "http_invalid": 400,
    "media_type_unsupported": 415,
    "not_acceptable": 406,
    "url_forbidden": 403,
    "url_unreachable": 422,
    "content_quarantined": 422,
    "task_unsupported": 422,
    "engine_incomplete": 422,
    "upstream_rejected": 422,
    "engine_unknown": 404,
    "extension_invalid": 422,
    "feature_unavailable": 501,
    "file_unknown": 404,
    "unauthenticated": 401,
    "host_forbidden": 403,
    "origin_forbidden": 403,
    "deadline_exceeded": 408,
    "route_unknown": 404,
    "method_not_allowed": 405,
    "rate_limited": 429,
    "service_full": 503,
    "engine_breaker_open": 503,
    "share_exceeded": 429,
    "draining": 503,
    "engine_failed": 502,
    "service_timeout": 504,
    "page_timeout": 504,
    "engine_output_invalid": 502,
    "engine_unavailable": 503,
    "engine_not_installed": 503,
    "weights_missing": 503,
    "layout_model_unusable": 503,
    "provider_unavailable": 503,
    "model_unusable": 503,
    "upstream_unreachable": 502,
    "upstream_denied": 502,
    "upstream_busy": 503,
    "upstream_failed": 502,
    "upstream_garbled": 502,
    "upstream_cut_off": 502,
    "upstream_stalled": 504,
    "model_unknown": 502,
    "output_truncated": 502,
    "output_repeats": 502,
    "elements_failed": 502,
    "internal": 500,
}
"""The HTTP status of every error code. A test checks that it is complete."""
TRANSIENT_S = {
    "engine_unavailable": 10,
    "upstream_unreachable": 10,
    "upstream_busy": 2,
    "upstream_failed": 5,
    "upstream_cut_off": 5,
    "upstream_stalled": 30,
}
"""Temporary failures, and after how many seconds to retry: a dead server is restarted, a stalled one must be detected
first. Faults that the same page would cause again are not listed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error response for a client."""

    code: str
    status: int
    title: str
    detail: str
    remedy: str
    request_id: str
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: InkgateError, request_id: str) -> Problem:
        """The problem for `error`, with its headers."""
        headers: dict[str, str] = {}
        if isinstance(error, Overloaded):
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
        elif error.code in TRANSIENT_S:
            headers["Retry-After"] = str(TRANSIENT_S[error.code])
        if error.code == "unauthenticated":
            headers["WWW-Authenticate"] = "Bearer"
        status = STATUSES[error.code]
        return cls(error.code, status, error.title, error.detail, error.remedy, request_id, headers)

    def as_dict(self) -> dict[str, object]:
        """The members of the problem document. `type` is a stable name, not an address to open."""
        return {
            "type": f"urn:inkgate:error:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "remedy": self.remedy,
            "request_id": self.request_id,
        }

    def response(self) -> Response:
        body = orjson.dumps(self.as_dict())
        return Response(body, self.status, headers=self.headers, media_type=PROBLEM_TYPE)


def describe(errors: list[dict[str, object]]) -> str:
    """Describes pydantic's errors: which values are invalid and why, without repeating the values."""
    parts = []
    for error in errors[:5]:
        location = error["loc"]
        place = ".".join(str(step) for step in location) if isinstance(location, tuple) else ""
        parts.append(f"{place}: {error['msg']}" if place else str(error["msg"]))
    return "; ".join(parts) + "."


def internal_error() -> EngineFailed:
    """The error that a client gets for an unexpected exception: it reveals nothing internal."""
    return EngineFailed("internal", "An unexpected error ended this request; it is in the log under its request ID.")


def request_id_of(request: Request) -> str:
    """The request's ID, set by request_id.py."""
    return str(request.scope.get("state", {}).get("request_id", ""))
