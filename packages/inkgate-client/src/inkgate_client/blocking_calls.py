"""The blocking client. Written by scripts/write_blocking_client.py from awaited_calls.py: change it there."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic

import httpx

from inkgate_client import requests
from inkgate_client.codec import encodable
from inkgate_client.errors import FileUnreadable, fetch_errors, file_errors, refusal_error, service_errors
from inkgate_client.files import FETCH_S, MAX_FETCHED_BYTES, Source, is_url, load, store, url_name
from inkgate_client.requests import ClientRequest, ResultT


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

    def loaded(self, file: Source, name: str) -> tuple[str, bytes]:
        """Name and bytes of `file`. Raises FileUnreadable."""
        if is_url(file):
            with fetch_errors(file):
                name = name or url_name(file)
            return encodable(name), self._fetched(file)
        with file_errors(file):
            name, data = load(file, name)
        return encodable(name), data

    def store(self, path: str | os.PathLike[str], data: bytes) -> None:
        """Writes a file. Raises OSError."""
        store(path, data)

    def _fetched(self, url: str) -> bytes:
        """A document from elsewhere: without the service's key and headers, and through proxies of the environment."""
        data, give_up = bytearray(), monotonic() + FETCH_S
        with fetch_errors(url):
            http = httpx.Client(follow_redirects=True, max_redirects=5, timeout=60.0)
            with http, http.stream("GET", url) as answer:
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    data += chunk
                    if len(data) > MAX_FETCHED_BYTES:
                        raise FileUnreadable(f"The document at this URL is larger than {MAX_FETCHED_BYTES} bytes.")
                    if monotonic() > give_up:
                        raise FileUnreadable(f"The document at this URL did not arrive within {FETCH_S:g} s.")
        return bytes(data)
