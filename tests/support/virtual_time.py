"""An event loop whose clock jumps to the next timer when nothing else is to be done: a sleep takes no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.simulate.clock import VirtualLoop

Backend = tuple[str, Mapping[str, Any]]

VIRTUAL_TIME: Backend = ("asyncio", {"loop_factory": VirtualLoop})
"""What the fixture `anyio_backend` returns in a module whose tests run in virtual time."""
