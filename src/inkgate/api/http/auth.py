"""API keys: stored as SHA-256, compared in constant time, required if at least one is set."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence

from starlette.datastructures import Headers

from inkgate.errors import InputRejected

PUBLIC = frozenset(
    {
        "/",
        "/favicon.ico",
        "/health",
        "/v1/health",
        "/livez",
        "/readyz",
        "/docs",
        "/redoc",
        "/docs/oauth2-redirect",
        "/openapi.json",
    }
)
"""Paths that need no key: probes and descriptions of the service. None of them touches a document."""
PADDLEOCR_JOBS = "/api/v2/ocr/jobs"
"""Path of PaddleOCR's jobs."""
_SIGNED = re.compile(f"{PADDLEOCR_JOBS}/[^/]+/(result[.]jsonl|images/[0-9]+/[^/]+)")
DOCS_FILES = "/docs/files"
"""Scripts and styles of /docs, as public as the page itself."""
GUIDE = "/docs/guide"
"""The documentation."""


def hash_key(key: str) -> str:
    """SHA-256 of an API key in hexadecimal, as stored in the settings.

    A fast hash is enough: keys are random and long, unlike passwords.
    """
    return hashlib.sha256(key.encode()).hexdigest()


class ApiKeys:
    """The accepted keys; if there are none, every request is accepted."""

    def __init__(self, key_hashes: Sequence[str]) -> None:
        self._hashes = tuple(stored.strip().lower().encode() for stored in key_hashes)

    def caller(self, key: str | None, address: str) -> str:
        """The caller in a form that may be logged: the first digits of the key's hash, or the address.

        Raises:
            InputRejected: "unauthenticated": keys are required and the request has no valid one.
        """
        if not self._hashes:
            return f"address:{address}"
        if not key:
            raise InputRejected("unauthenticated", "The request has no API key.")
        given = hash_key(key).encode()
        # All keys are compared, each in constant time, so that the duration reveals nothing about a key.
        matches = [hmac.compare_digest(given, stored) for stored in self._hashes]
        if not any(matches):
            raise InputRejected("unauthenticated", "This service does not know the API key.")
        return f"key:{given[:12].decode()}"


def key_of(headers: Headers) -> str | None:
    """The key sent as `Authorization: Bearer <key>` (PaddleX clients say `token <key>`), as `X-API-Key`, or as
    Azure's `Ocp-Apim-Subscription-Key`.
    """
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() in {"bearer", "token"} and key.strip():
        return key.strip()
    return headers.get("x-api-key") or headers.get("ocp-apim-subscription-key")


def is_signed(path: str) -> bool:
    """Whether the route at this path checks a signature in the query, so that it needs no key."""
    return _SIGNED.fullmatch(path) is not None


def is_public(path: str) -> bool:
    """Whether this path needs no key."""
    return path in PUBLIC or any(path == folder or path.startswith(f"{folder}/") for folder in (DOCS_FILES, GUIDE))
