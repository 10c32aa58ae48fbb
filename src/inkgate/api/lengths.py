"""The announced length of a request's body."""

from __future__ import annotations

_DIGITS = 15
"""Digits of an announced length that are parsed: no body is longer, and Python parses at most 4,300."""


def announced_bytes(text: str) -> int | None:
    """Parses a Content-Length, in bytes; None if it is missing or impossible."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
