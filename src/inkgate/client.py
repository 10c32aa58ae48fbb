"""A client of a running service, for the parts of inkgate that look at it from outside."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import TypeAdapter, ValidationError

from inkgate.telemetry.state import State

_STATE = TypeAdapter(State)


class ServiceError(Exception):
    """The service could not be asked, or it refused. The message is for people: what happened, and what to do.

    Attributes:
        status: of the answer; None where there was none.
        code: of the error, as docs/errors.md lists them; empty where the answer has none.
    """

    def __init__(self, message: str, status: int | None = None, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class InkgateClient:
    """Speaks to the service at `url`. Blocking; to be closed, or used as a context manager."""

    def __init__(
        self, url: str, key: str = "", *, timeout_s: float = 10.0, transport: httpx.BaseTransport | None = None
    ) -> None:
        """`key`: an API key; empty where the service asks for none. `transport`: instead of the network."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        # trust_env: a proxy of the environment is the way to the internet, not to a service of one's own.
        self._http = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, transport=transport, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def state(self) -> State:
        """What the service says of itself now.

        Raises:
            ServiceError: it can't be reached, asks for another key, or is no inkgate (of this version).
        """
        answer = self._get("/state")
        try:
            return _STATE.validate_json(answer.content)
        except ValidationError as error:
            raise ServiceError(
                f"What {self.url} says at /state is not understood: is it an inkgate of another version?",
                answer.status_code,
            ) from error

    def _get(self, path: str) -> httpx.Response:
        try:
            answer = self._http.get(path)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ServiceError(f"{self.url!r} is no address: give one such as http://127.0.0.1:7860.") from error
        except httpx.TimeoutException as error:
            raise ServiceError(f"{self.url} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise ServiceError(f"{self.url} can't be reached ({error}). Does `inkgate serve` run there?") from error
        if not answer.is_success:
            raise _refused(self.url, path, answer)
        return answer


def _refused(url: str, path: str, answer: httpx.Response) -> ServiceError:
    problem = _problem(answer)
    code, status = str(problem.get("code", "")), answer.status_code
    if status == httpx.codes.UNAUTHORIZED:
        return ServiceError(f"{url} asks for an API key, and this is none of its keys.", status, code)
    if status == httpx.codes.NOT_FOUND:
        return ServiceError(f"There is no {path} at {url}: it is another service, or an older inkgate.", status, code)
    said = " ".join(str(problem[name]) for name in ("detail", "remedy") if problem.get(name))
    return ServiceError(f"{url} answered {path} with status {status}. {said}".rstrip(), status, code)


def _problem(answer: httpx.Response) -> dict[str, Any]:
    """The problem document in the answer; empty where there is none."""
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
