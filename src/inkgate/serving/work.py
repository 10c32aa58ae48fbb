"""Work for an engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from inkgate.caller import Caller, Priority, timeout_error
from inkgate.errors import InkgateError


@dataclass(frozen=True, slots=True)
class Work:
    """One call of an engine, such as a page.

    Attributes:
        tokens: its cost, in KV tokens or another unit of the engine's capacity.
        tenant: such as an API key; tenants share the engine.
        flow: its document or request, within the tenant.
        priority: its class.
        deadline: clock time in seconds after which it is useless; math.inf if there is none.
        patience_s: seconds from the arrival of its request to the deadline.
        deadline_given: whether the client set the deadline; else it is the service's.
    """

    tokens: int
    tenant: str = ""
    flow: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float = math.inf
    patience_s: float = math.inf
    deadline_given: bool = False

    def timeout_error(self, detail: str) -> InkgateError:
        """The error once the deadline has passed; see `timeout_error`."""
        return timeout_error(detail, given=self.deadline_given)

    @classmethod
    def for_caller(cls, caller: Caller, tokens: int) -> Self:
        """Work on behalf of `caller`."""
        return cls(
            tokens,
            caller.tenant,
            caller.flow,
            caller.priority,
            caller.deadline,
            caller.patience_s,
            caller.deadline_given,
        )
