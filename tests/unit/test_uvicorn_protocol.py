"""What protocol.py uses of uvicorn's classes, beyond its documentation. A version that moves any of it fails here."""

from __future__ import annotations

import inspect

from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from inkgate.api.http import protocol

OF_A_CONNECTION = {
    *("client", "cycle", "expect_100_continue", "flow", "headers", "loop", "parser", "pipeline", "server_state"),
    *("timeout_keep_alive_task", "transport", "url"),
}
OF_A_REQUEST = {
    *("disconnected", "keep_alive", "message_event", "more_body", "response_complete", "response_started"),
}
CALLBACKS = {
    *("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing"),
    *("on_header", "on_headers_complete", "on_body", "on_message_complete", "on_response_complete"),
    *("shutdown", "timeout_keep_alive_handler"),
}
"""Methods that protocol.py overrides."""


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Is never called."""


def names_used_by(function: object) -> set[str]:
    return set(inspect.getsource(function).replace("(", " ").replace(".", " ").split())  # type: ignore[arg-type]


def test_uvicorn_s_protocol_has_all_that_ours_uses() -> None:
    state = ServerState()
    theirs = HttpToolsProtocol(Config(application, ws="none"), state, {}, object())  # type: ignore[arg-type]
    missing = [name for name in OF_A_CONNECTION - {"url"} if name not in vars(theirs)]
    theirs.on_message_begin()
    assert not missing
    assert theirs.url == b""
    assert state.default_headers == []


def test_uvicorn_s_requests_have_all_that_ours_uses() -> None:
    set_there = names_used_by(RequestResponseCycle.__init__)
    assert set_there >= OF_A_REQUEST


def test_uvicorn_calls_what_ours_overrides() -> None:
    overridden = {name for name, _ in inspect.getmembers(protocol.BoundedHttp, inspect.isfunction)}
    overridden &= set(vars(protocol.BoundedHttp)) & {
        name for name in dir(HttpToolsProtocol) if not name.startswith("_")
    }
    assert overridden == CALLBACKS


def test_ours_uses_no_private_name_of_uvicorn() -> None:
    private = {name for name in (*dir(HttpToolsProtocol), *dir(httptools_impl)) if name.startswith("_")}
    private -= set(dir(object)) | {
        "__name__",
        "__file__",
        "__doc__",
        "__annotations__",
        "__module__",
        "__dict__",
        "__weakref__",
    }
    assert not private & names_used_by(protocol)
