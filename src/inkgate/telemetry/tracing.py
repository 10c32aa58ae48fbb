"""Traces, as far as the rest of telemetry needs them."""

from __future__ import annotations


def current_trace_id() -> str | None:
    """The trace that what is done now belongs to, in 32 hexadecimal digits; None outside of any."""
    return None
