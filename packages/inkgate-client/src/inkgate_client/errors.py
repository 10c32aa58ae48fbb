"""Errors with messages for people, from the service's problem documents if it sent one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import orjson

from inkgate_client.types import ReadError

UNSENDABLE = (
    "The key or a header contains a character that HTTP does not allow, such as a line feed or an accented letter."
)

_LONGEST_RETRY_S = 1e9
"""The longest Retry-After that is honoured: clocks can't wait for longer."""


_REFUSES_ALL = frozenset({401, 403, 404, 405})
_BUSY = frozenset({429, 503})
_PROXY = frozenset({502, 503, 504})


class ServiceError(ReadError):
    """A request failed or was refused. The message says what happened and what to do.

    Attributes:
        status: of the response; None if there was none.
        code: of the error, as listed in docs/reference/errors.md; empty if the response has none.
        title, detail, remedy: from the problem document; empty if there was none.
        retry_after_s: seconds after which to retry, if the service sent them.
        request_id: find more in the service's log with it; empty if there was no response.
        cause: the type of the connection's error, which is sent between processes, unlike `__cause__`.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
        *,
        cause: type[Exception] | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        problem = problem or {}
        self.status = status
        self.code = str(problem.get("code") or "")
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or "")
        self.remedy = str(problem.get("remedy") or "")
        self.request_id = str(problem.get("request_id") or "")
        self.retry_after_s = retry_after_s

    @property
    def unavailable(self) -> bool:
        """Whether the service can't be reached, refuses the key, shuts down, or is not inkgate."""
        if self.status is None:
            return not self.late
        if self.status in _REFUSES_ALL:
            return True
        return not self.code and (self.status in _PROXY or self.status < 400)

    @property
    def late(self) -> bool:
        """Whether the service took the request and did not respond in time. It may be busy with it still."""
        return self.cause is httpx.ReadTimeout

    @property
    def unreachable(self) -> bool:
        """Whether the connection failed, before or within a response that was not late."""
        return self.cause is not None and issubclass(self.cause, httpx.TransportError) and not self.late

    @property
    def busy(self) -> bool:
        """Whether the service refused the request for load."""
        return self.status in _BUSY

    @property
    def untaken(self) -> bool:
        """Whether the service, or a proxy whose service does not respond, has not taken the request."""
        return self.busy or (self.status in _PROXY and not self.code)


class FileUnreadable(ServiceError):
    """A file or URL can't be read, so nothing was sent. Its cause is the OSError or the error of the connection."""

    unavailable = False
    unreachable = False


class StreamBroken(ServiceError):
    """A response ended before its last line."""


@contextmanager
def file_errors(file: object) -> Iterator[None]:
    """Turns errors of reading `file` into FileUnreadable."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: the file is closed, or the path has a null byte
        shown = repr(os.fspath(file)) if isinstance(file, str | os.PathLike) else "The file"
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileUnreadable(f"{shown} can't be read: {reason or error}.") from error


@contextmanager
def fetch_errors(url: str) -> Iterator[None]:
    """Turns errors of fetching a document from `url` into FileUnreadable, without the query, which may be a secret."""
    try:
        yield
    except httpx.HTTPStatusError as error:
        reason = f"status {error.response.status_code}"
        raise FileUnreadable(f"{without_secrets(url)} can't be fetched: {reason}.") from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError) as error:  # ImportError: a SOCKS proxy
        if "@" in url and isinstance(error, httpx.InvalidURL | ValueError):  # it may show a part of the password
            said = "A URL with a user is not valid. Percent-encode special characters of the password."
            raise FileUnreadable(said) from None
        reason = str(error).rstrip(".") or type(error).__name__
        raise FileUnreadable(f"{without_secrets(url)} can't be fetched: {reason}.") from error


def without_secrets(url: str) -> str:
    """The URL for messages: without user, password and query."""
    return re.sub(r"//[^/]*@", "//", re.split(r"[?#]", url)[0])


@contextmanager
def service_errors(url: str) -> Iterator[None]:
    """Turns errors of the connection to `url` into ServiceError."""
    url = without_secrets(url)
    try:
        yield
    except (httpx.LocalProtocolError, UnicodeEncodeError) as error:
        # The exception's message would show the header, which may be the key.
        raise ServiceError(UNSENDABLE) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:  # UnicodeError: in the host name
        raise ServiceError(f"{url!r} is not a URL. Use one such as http://127.0.0.1:7860.") from error
    except httpx.TimeoutException as error:
        raise ServiceError(f"{url} did not respond in time.", cause=type(error)) from error
    except httpx.ConnectError as error:
        message = f"{url} can't be reached ({error}). Is `inkgate serve` running there?"
        raise ServiceError(message, cause=type(error)) from error
    except httpx.HTTPError as error:
        message = f"{url} closed the connection ({error}). Try again; the service's log may say why."
        raise ServiceError(message, cause=type(error)) from error
    except httpx.StreamError as error:
        raise ServiceError(
            "This response was already read, or its `with` block has ended. Send the request again."
        ) from error


def refusal_error(url: str, path: str, answer: httpx.Response) -> ServiceError:
    """The error for an unsuccessful response. Its body must have been read."""
    problem, url = problem_of(answer.content), without_secrets(url)
    status = answer.status_code
    retry = answer.headers.get("retry-after", "")
    retry_after_s = min(float(retry), _LONGEST_RETRY_S) if retry.isascii() and retry.isdigit() else None
    if status == httpx.codes.UNAUTHORIZED:
        message = f"{url} requires an API key. Pass a valid one."
    elif answer.has_redirect_location:
        message = f"{url} redirects {path} to {without_secrets(answer.headers['location'])}. Use that address instead."
    elif status == httpx.codes.NOT_FOUND and problem.get("code") in (None, "route_unknown"):
        message = f"{url} has no {path}: it is another service or an older inkgate."
    else:
        said = " ".join(str(problem[name]) for name in ("detail", "remedy") if problem.get(name))
        said = said or f"The response ({_kind(answer)}) is not from inkgate. Is there a proxy in between?"
        message = f"{url} responded to {path} with status {status}. {said}"
    return ServiceError(message, status, problem, retry_after_s)


def unexpected_error(url: str, answer: httpx.Response) -> ServiceError:
    """The error for a successful response of an unexpected form."""
    return ServiceError(
        f"The response of {without_secrets(url)} to {answer.request.url.path} has an unexpected form "
        f"({_kind(answer)}). Is it another service, a proxy, or another version of inkgate?",
        answer.status_code,
    )


def _kind(answer: httpx.Response) -> str:
    return answer.headers.get("content-type", "").split(";")[0] or "no Content-Type"


def problem_of(body: bytes) -> dict[str, Any]:
    """Parses a problem document; empty if `body` is not one."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
