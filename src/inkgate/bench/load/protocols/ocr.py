"""inkgate's own protocol: a form with a file, answered by a document of pages."""

from __future__ import annotations

import orjson

from inkgate.bench.load.pages import LoadPage
from inkgate.bench.load.protocols.base import Answer, Body, Verdict, said_no, unlike
from inkgate.bench.load.samples import Outcome

_BOUNDARY = "inkgate-loadtest-c5dd3f1b60a94f0c"


class Ocr:
    """A Wire."""

    def body(self, page: LoadPage) -> Body:
        """See Wire."""
        name = page.name.rpartition("/")[2].replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        head = (
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: {page.media_type}\r\n\r\n"
        )
        content = head.encode() + page.content + f"\r\n--{_BOUNDARY}--\r\n".encode()
        return Body(content, f"multipart/form-data; boundary={_BOUNDARY}")

    def judge(self, answer: Answer) -> Verdict:
        """See Wire. A document in which pages failed is not whole."""
        if (no := said_no(answer)) is not None:
            return no
        try:
            pages = orjson.loads(answer.body)["pages"]
            failed = [found["error"] for found in pages if found.get("error")]
            degraded = any(found.get("degraded") for found in pages)
        except (ValueError, KeyError, TypeError, AttributeError):
            return unlike(answer, "ocr")
        if failed or not pages:
            code = failed[0].get("code", "") if failed and isinstance(failed[0], dict) else ""
            return Verdict(Outcome.FAILED, f"{answer.status} partial {code}".rstrip())
        return Verdict(Outcome.ANSWERED, pages=len(pages), degraded=degraded)
