"""What went wrong, in words for people: the service's own, where it sent a problem document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
import orjson

UNSENDABLE = (
    "The key or a header contains a character that HTTP does not allow, such as a line feed or an accented letter."
)


class ServiceError(Exception):
    """The service could not be asked, or it refused. The message is for people: what happened, and what to do.

    Attributes:
        status: of the answer; None where there was none.
        code: of the error, as docs/reference/errors.md lists them; empty where the answer has none.
        title, detail, remedy: as the problem document has them; empty where there was none.
        retry_after_s: when it is worth trying again, where the service said so.
        request_id: under which the service's log has more; empty where there was no answer.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        problem = problem or {}
        self.status = status
        self.code = str(problem.get("code") or "")
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or "")
        self.remedy = str(problem.get("remedy") or "")
        self.request_id = str(problem.get("request_id") or "")
        self.retry_after_s = retry_after_s


class FileUnreadable(ServiceError):
    """The file that was to be sent can't be read on this machine; nothing was sent. Its cause is the OSError."""


@contextmanager
def told(url: str) -> Iterator[None]:
    """Turns what the connection to `url` raises into a ServiceError."""
    try:
        yield
    except (httpx.LocalProtocolError, UnicodeEncodeError) as error:
        # The exception's own message shows the header, which may be the key.
        raise ServiceError(UNSENDABLE) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:  # UnicodeError: in the host name
        raise ServiceError(f"{url!r} is not a URL. Use one such as http://127.0.0.1:7860.") from error
    except httpx.TimeoutException as error:
        raise ServiceError(f"{url} did not respond in time.") from error
    except httpx.ConnectError as error:
        raise ServiceError(f"{url} can't be reached ({error}). Is `inkgate serve` running there?") from error
    except httpx.HTTPError as error:
        raise ServiceError(
            f"{url} closed the connection ({error}). Try again; the service's log may say why."
        ) from error
    except httpx.StreamError as error:
        raise ServiceError(
            "This response was already read, or its `with` block has ended. Send the request again."
        ) from error


def refused(url: str, path: str, answer: httpx.Response) -> ServiceError:
    """The error that an answer which is no success tells of. Its body must have been read."""
    problem = problem_of(answer.content)
    status = answer.status_code
    retry = answer.headers.get("retry-after", "")
    retry_after_s = float(retry) if retry.isascii() and retry.isdigit() else None
    if status == httpx.codes.UNAUTHORIZED:
        message = f"{url} requires an API key. Pass a valid one."
    elif answer.has_redirect_location:
        message = f"{url} redirects {path} to {answer.headers['location']}. Use that address instead."
    elif status == httpx.codes.NOT_FOUND and problem.get("code") in {None, "route_unknown"}:
        message = f"{url} has no {path}: it is another service or an older inkgate."
    else:
        said = " ".join(str(problem[name]) for name in ("detail", "remedy") if problem.get(name))
        said = said or f"The response ({_kind(answer)}) is not from inkgate. Is there a proxy in between?"
        message = f"{url} responded to {path} with status {status}. {said}"
    return ServiceError(message, status, problem, retry_after_s)


def not_understood(url: str, answer: httpx.Response) -> ServiceError:
    """The error that a successful answer tells of which is not what was asked for."""
    return ServiceError(
        f"The response of {url} to {answer.request.url.path} has an unexpected form ({_kind(answer)}). Is it another "
        "service, a proxy, or another version of inkgate?",
        answer.status_code,
    )


def _kind(answer: httpx.Response) -> str:
    return answer.headers.get("content-type", "").split(";")[0] or "no Content-Type"


def problem_of(body: bytes) -> dict[str, Any]:
    """The problem document that `body` is; empty where it is none."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
