"""Of the blocking client. Written by scripts/write_blocking_client.py from awaited_calls.py: change it there."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from inkgate.client import requests
from inkgate.client.errors import file_errors, refusal_error, service_errors
from inkgate.client.files import File, load
from inkgate.client.requests import ClientRequest, ResultT


class Calls:
    """The connections to the service at `url`."""

    def __init__(self, url: str, http: httpx.Client) -> None:
        self.url = url
        self._http = http

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def parsed(self, read: Callable[[bytes], ResultT], ask: ClientRequest) -> ResultT:
        """The response's body as `read` parses it. Raises ServiceError."""
        return requests.parse(read, self.answer(ask), self.url)

    def answer(self, ask: ClientRequest) -> httpx.Response:
        """The whole response. Raises ServiceError, also if it is not successful."""
        with service_errors(self.url):
            answer = self._http.send(ask.build(self._http))
        if not answer.is_success:
            raise refusal_error(self.url, ask.path, answer)
        return answer

    def open(self, ask: ClientRequest) -> httpx.Response:
        """The response, whose body is still to be read; close it. Raises ServiceError as `answer`."""
        with service_errors(self.url):
            answer = self._http.send(ask.build(self._http), stream=True)
        if answer.is_success:
            return answer
        try:
            with service_errors(self.url):
                answer.read()
            raise refusal_error(self.url, ask.path, answer)
        finally:
            answer.close()

    def loaded(self, file: File, name: str) -> tuple[str, bytes]:
        """Name and bytes of `file`. Raises FileUnreadable."""
        with file_errors(file):
            return load(file, name)
