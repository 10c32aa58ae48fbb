"""How long a request's body is said to be, before any of it is here."""

from __future__ import annotations

_DIGITS = 15
"""Of an announced length that are read: no body is as long, and Python reads no more than 4,300."""


def announced_bytes(text: str) -> int | None:
    """The bytes that a Content-Length says; None where it says none, or what no body can have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
