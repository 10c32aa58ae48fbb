"""A policy outside of inkgate: logs pages that took long, with their tenant.

INKGATE_ENGINE__LAYERS='["slow_pages:SlowPages"]' PYTHONPATH=examples/extending inkgate serve
"""

from __future__ import annotations

from time import perf_counter

import structlog

from inkgate.caller import Caller
from inkgate.engines.base import EngineWrapper
from inkgate.page import Page
from inkgate_client.types import PageResult, Task

log = structlog.get_logger(__name__)


class SlowPages(EngineWrapper):
    """An Engine around an Engine. It is the outermost layer, so the time includes waiting."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        begun = perf_counter()
        try:
            return await self._inner.read(page, task, caller)
        finally:
            if (seconds := perf_counter() - begun) > 5:
                log.warning("slow_page", page=page.index, tenant=caller.tenant, seconds=round(seconds, 1))
