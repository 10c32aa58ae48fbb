"""The port of protocols, and what is the same in all of them: answers that say no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

import orjson

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.samples import Outcome

_REFUSALS = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_OVER = frozenset({"deadline_exceeded", "service_timeout"})
"""inkgate's codes for what it gave up when its caller's time, or its own, was over."""
UNLIKE = "not in the form of"
"""In the kind of an answer that was not understood."""
_CODE_CHARACTERS = 60
"""Of an error's code that are kept."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is posted."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Answer:
    """All that came back. Names of `headers` in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth. `kind`: of error, for people; `degraded`: read with less care.

    `pages`: that were read; None where the answer doesn't say: those that were sent.
    """

    outcome: Outcome
    kind: str = ""
    pages: int | None = None
    degraded: bool = False


class Wire(Protocol):
    """How one protocol puts a page into a request, and reads the answer."""

    def body(self, page: LoadPage) -> Body:
        """The request for `page`. Raises LoadImpossible: the protocol can't take it."""
        ...

    def judge(self, answer: Answer) -> Verdict:
        """What `answer` is worth."""
        ...


def said_no(answer: Answer) -> Verdict | None:
    """The verdict on an answer whose status is none of success, with the error's code where it has one; else None."""
    if 200 <= answer.status < 300:
        return None
    code = code_of(answer.body)
    kind = f"{answer.status} {code}".rstrip()
    if code in _OVER:
        return Verdict(Outcome.TIMED_OUT, kind)
    if answer.status in _REFUSALS:
        return Verdict(Outcome.REFUSED, kind)
    return Verdict(Outcome.REJECTED if 400 <= answer.status < 500 else Outcome.FAILED, kind)


def unlike(answer: Answer, protocol: str) -> Verdict:
    """The verdict on a success whose body is not what `protocol` answers: perhaps it is not the service's."""
    return Verdict(Outcome.FAILED, f"{answer.status} {UNLIKE} {protocol}")


def code_of(body: bytes) -> str:
    """The code of an error: a problem document's, OpenAI's, or PaddleX's; empty where there is none."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    return code_in(told)


def code_in(told: object) -> str:
    """The code in an error that was decoded."""
    if not isinstance(told, dict):
        return ""
    error = told.get("error", told)
    if not isinstance(error, dict):
        error = told
    named = (error.get("code"), error.get("type"))  # vLLM's `code` is the status once more
    return next(
        (name[:_CODE_CHARACTERS] for name in named if isinstance(name, str) and not name.startswith("urn:")), ""
    )
