"""Media URLs in chat requests: inkgate fetches them under the `fetch` settings; a model server never does.

A model server is inside the network and fetches any URL it is given. So only what can't be a URL is forwarded
unchanged: texts, data: URLs and strings without a colon (base64). Any other string in a part, whatever its type and
key, is treated as a URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pybase64

from inkgate.api.decoding import BodyThreads, parse_json
from inkgate.api.sources import Sources
from inkgate.errors import InputRejected

MAX_REMOTE = 16
"""Maximum number of URLs fetched for one request."""
_TEXTS = frozenset({"text", "thinking", "refusal", "content", "name", "uuid", "id", "type", "role", "detail", "format"})
"""Keys of parts whose strings are texts and names, from which model servers load nothing."""


@dataclass(frozen=True, slots=True)
class RemoteMedia:
    """A URL in a part of a message, and its position."""

    url: str
    holder: dict[str, Any] | list[Any]
    key: Any

    def replace(self, url: str) -> None:
        self.holder[self.key] = url


def remote_media(messages: object) -> Iterator[RemoteMedia]:
    """The remote URLs in the parts of `messages`."""
    waiting: list[tuple[object, bool]] = [
        (message.get("content"), True)
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict)
    ]
    while waiting:
        node, is_text = waiting.pop()
        if not isinstance(node, dict | list):
            continue
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            text = key in _TEXTS if isinstance(node, dict) else is_text
            if not isinstance(value, str):
                waiting.append((value, text))
            elif not text and ":" in value and value[:5].lower() != "data:":
                yield RemoteMedia(value, node, key)


async def with_media_inlined(body: bytes, sources: Sources, caller: str, threads: BodyThreads, max_bytes: int) -> bytes:
    """`body` with each remote URL replaced by a data: URL: the same values, serialized again.

    Raises:
        InputRejected: "url_forbidden", "url_unreachable" or another of `Sources.from_url`; "options_invalid": there are
            too many; "body_too_large": with the fetched files, it has more than `max_bytes`.
    """
    fields: Any = await threads.run(len(body), parse_json, body)
    found = list(remote_media(fields.get("messages")))
    if len(found) > MAX_REMOTE:
        raise InputRejected(
            "options_invalid", f"The request has more than {MAX_REMOTE} URLs of images and other media."
        )
    size = len(body)
    for media in found:
        data = (await sources.from_url(media.url, caller)).data
        size += len(data) * 4 // 3
        if size > max_bytes:
            raise InputRejected(
                "body_too_large",
                "Together with the files at its URLs, the request is larger than the maximum body size.",
            )
        media.replace(await threads.run(len(data), _data_url, data))
    return await threads.run(size, orjson.dumps, fields)


def _data_url(data: bytes) -> str:
    """Blocking."""
    return "data:application/octet-stream;base64," + pybase64.b64encode_as_string(data)
