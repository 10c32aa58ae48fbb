"""An engine that reads the same receipt on every page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client.types import PageResult, Task
from support.fake_engine import FakeEngine
from support.receipts import RECEIPT, page

receipt = page(RECEIPT)


@dataclass
class ReceiptEngine(FakeEngine):
    """Reads the same receipt on every page. `callers`: who asked."""

    callers: list[Caller] = field(default_factory=list)

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.callers.append(caller)
        blank = await super().read(page, task, caller)
        return replace(receipt, index=blank.index, engine=blank.engine)
