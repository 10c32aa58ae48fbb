"""How many bytes the codecs and hashes handle on the event loop's thread, call by call."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import pybase64
import pytest

from inkgate.api import azure_document
from inkgate_client import codec

Function = Callable[..., Any]
Size = Callable[[Any, Any], int]
"""Of a call, from its first argument and its result."""


@dataclass
class LoopWork:
    """Calls of watched functions. `here`: the largest of each on this thread, by bytes; `elsewhere`: on any other."""

    here: dict[str, int] = field(default_factory=dict)
    elsewhere: dict[str, int] = field(default_factory=dict)

    def noted(self, name: str, function: Function, size: Size) -> Function:
        """`function`, whose calls are noted."""
        own = threading.get_ident()

        def call(*args: object, **kwargs: object) -> object:
            result = function(*args, **kwargs)
            found = self.here if threading.get_ident() == own else self.elsewhere
            found[name] = max(found.get(name, 0), size(args[0] if args else b"", result))
            return result

        return call


def _taken(argument: Any, _result: object) -> int:  # noqa: ANN401
    return memoryview(argument).nbytes if not isinstance(argument, str) else len(argument)


def _given(_argument: object, result: Any) -> int:  # noqa: ANN401
    return len(result)


def _page(page: Any, _result: object) -> int:  # noqa: ANN401
    return codec.estimated_bytes(page)


WATCHED: tuple[tuple[Any, str, Size], ...] = (
    (orjson, "dumps", _given),
    (orjson, "loads", _taken),
    (pybase64, "b64decode", _taken),
    (pybase64, "b64encode_as_string", _taken),
    (hashlib, "blake2b", _taken),
    (hashlib, "sha256", _taken),
    (codec, "page_to_dict", _page),
    (codec, "dump_page", _given),
    (azure_document, "figure_of", _page),
    (codec._STORED_PAGE, "validate_json", _taken),
)


@pytest.fixture
def loop_work(monkeypatch: pytest.MonkeyPatch) -> LoopWork:
    """Watches the functions in WATCHED wherever inkgate's modules have them."""
    work = LoopWork()
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "inkgate"]
    for home, name, size in WATCHED:
        function = getattr(home, name)
        noted = work.noted(name, function, size)
        monkeypatch.setattr(home, name, noted)
        for module in modules:
            for found, value in list(vars(module).items()):
                if value is function:
                    monkeypatch.setattr(module, found, noted)
    return work
