"""The simplest protocol that OCR services speak: JSON {"image": base64}, answered with any JSON."""

from __future__ import annotations

import orjson
import pybase64

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.protocols.base import Answer, Body, Verdict, code_in, said_no, unlike
from inkgate.bench.load.samples import Outcome


class Simple:
    """A Wire."""

    def body(self, page: LoadPage) -> Body:
        """See Wire."""
        return Body(b'{"image":"' + pybase64.b64encode(page.content) + b'"}', "application/json")

    def judge(self, answer: Answer) -> Verdict:
        """See Wire. Services that know no status but 200 tell of an error in its body."""
        if (no := said_no(answer)) is not None:
            return no
        try:
            told = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return unlike(answer, "simple")
        if isinstance(told, dict) and (told.get("error") or told.get("errorCode")):
            return Verdict(Outcome.FAILED, f"{answer.status} error {code_in(told)}".rstrip())
        return Verdict(Outcome.ANSWERED)
