"""A load test that can't be made at all, as against one that shows a service that fails."""

from __future__ import annotations


class LoadImpossible(Exception):
    """There is nothing to send, nobody to send it to, or it may not be sent. The message says what to do."""
