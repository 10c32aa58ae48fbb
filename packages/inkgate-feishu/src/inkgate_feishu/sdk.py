"""The official SDK of Feishu and Lark. Import it from here only: its own import takes the thread's event loop, or makes
one that it never closes.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any, Final

_CLIENT = "lark_oapi.ws.client"


def _imported() -> Any:  # noqa: ANN401 - the SDK has no types
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return import_module(_CLIENT)
        finally:
            asyncio.set_event_loop(None)
            loop.close()
    return import_module(_CLIENT)


ws: Final[Any] = _imported()
"""The SDK's module of long connections. Its `loop` is the one that its connection uses."""
lark: Final[Any] = import_module("lark_oapi")
im: Final[Any] = import_module("lark_oapi.api.im.v1")
exception: Final[Any] = import_module("lark_oapi.core.exception")
cards: Final[Any] = import_module("lark_oapi.event.callback.model.p2_card_action_trigger")
