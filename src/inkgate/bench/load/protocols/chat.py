"""Chat completions with an image, streamed, as OpenAI's clients and vLLM's speak."""

from __future__ import annotations

import orjson
import pybase64

from inkgate.bench.load.impossible import LoadImpossible
from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.protocols.base import Answer, Body, Verdict, code_in, said_no, unlike
from inkgate.bench.load.samples import Outcome
from inkgate.documents.sniff import FileType

_DONE = b"[DONE]"


class Chat:
    """A Wire. Answers are streamed, as those that show them ask: that a stream ends well is part of being answered."""

    def __init__(self, model: str, prompt: str, max_tokens: int | None = None) -> None:
        """`max_tokens`: of an answer; None: as many as the server allows."""
        self._model = model
        self._prompt = prompt
        self._max_tokens = max_tokens

    def body(self, page: LoadPage) -> Body:
        """See Wire."""
        if page.media_type == FileType.PDF.value:
            raise LoadImpossible(f"{page.name} is a PDF; chat completions take images alone.")
        url = f"data:{page.media_type};base64,{pybase64.b64encode(page.content).decode()}"
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": self._prompt}]
        asked: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "stream": True,
        }
        if self._max_tokens is not None:
            asked["max_tokens"] = self._max_tokens
        return Body(orjson.dumps(asked), "application/json")

    def judge(self, answer: Answer) -> Verdict:
        """See Wire. A stream is whole when its last event is [DONE] and no event tells of an error."""
        if (no := said_no(answer)) is not None:
            return no
        if "event-stream" not in answer.headers.get("Content-Type", ""):
            return _in_one_piece(answer)
        # Events end in \n, \r\n or \r; JSON has none of them inside. (splitlines of bytes knows just these.)
        events = [line[5:].strip() for line in answer.body.splitlines() if line.startswith(b"data:")]
        for event in events:
            if b'"error"' in event and (failed := _error_in(event)) is not None:
                return Verdict(Outcome.FAILED, f"stream {failed}".rstrip())
        if not events or events[-1] != _DONE:
            return Verdict(Outcome.FAILED, "stream cut off")
        return Verdict(Outcome.ANSWERED)


def _error_in(event: bytes) -> str | None:
    """The code of the error that an event tells of, empty where it has none; None where it tells of none."""
    try:
        told = orjson.loads(event)
    except orjson.JSONDecodeError:
        return "garbled"
    return (code_in(told) or "error") if isinstance(told, dict) and told.get("error") else None


def _in_one_piece(answer: Answer) -> Verdict:
    try:
        whole = bool(orjson.loads(answer.body)["choices"])
    except (ValueError, KeyError, TypeError):
        whole = False
    return Verdict(Outcome.ANSWERED) if whole else unlike(answer, "chat")
