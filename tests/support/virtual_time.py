"""An event loop whose clock jumps to the next timer when it is idle: sleeping takes no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.simulate.clock import VirtualLoop

Backend = tuple[str, Mapping[str, Any]]

VIRTUAL_TIME: Backend = ("asyncio", {"loop_factory": VirtualLoop})
"""The value of the fixture `anyio_backend` in a module whose tests run in virtual time."""
