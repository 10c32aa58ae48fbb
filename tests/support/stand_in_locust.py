"""The part of Locust's interface that examples/locustfile.py uses, over httpx: Locust itself patches the sockets of the
process that imports it, and requires a web framework."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx


@dataclass
class Response:
    """As from `catch_response`: a success if its status is below 400 and it is not marked as a failure."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes
    failures: list[str] = field(default_factory=list)

    def failure(self, why: str) -> None:
        self.failures.append(why)


class Client:
    """Keeps every response, under the name of its requests."""

    def __init__(self, host: str) -> None:
        self.seen: list[tuple[str, Response]] = []
        self._host = host

    @contextmanager
    def post(
        self, path: str, *, data: bytes, headers: Mapping[str, str], name: str, catch_response: bool
    ) -> Iterator[Response]:
        assert catch_response
        answer = httpx.post(self._host + path, content=data, headers=dict(headers), trust_env=False, timeout=30)
        response = Response(answer.status_code, answer.headers, answer.content)
        self.seen.append((name, response))
        yield response


class FastHttpUser:
    """A user with the options of the command line."""

    def __init__(self, host: str, options: argparse.Namespace) -> None:
        self.client = Client(host)
        self.environment = SimpleNamespace(parsed_options=options)


def task(method: Callable[[Any], None]) -> Callable[[Any], None]:
    return method


class _Hook:
    def __init__(self) -> None:
        self.listeners: list[Callable[[argparse.ArgumentParser], None]] = []

    def add_listener(self, listener: Callable[[argparse.ArgumentParser], None]) -> Callable[..., None]:
        self.listeners.append(listener)
        return listener


events = SimpleNamespace(init_command_line_parser=_Hook())
