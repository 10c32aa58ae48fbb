"""Which shape an answer has."""

import pytest

from inkgate.api.http.options import Native, choose
from inkgate.errors import InputRejected
from inkgate_client.formats import Format


def test_format_wins_then_the_best_of_accept() -> None:
    cases = [
        (None, None, Native.FORM),
        (None, "", Native.FORM),
        (None, "*/*", Native.FORM),
        (None, "application/json", Native.FORM),
        (None, "APPLICATION/X-NDJSON", Native.NDJSON),
        (None, "text/plain;charset=utf-8", Format.TEXT),
        (None, "text/plain;q=0.3, text/markdown;q=0.7", Format.MARKDOWN),
        (None, "application/json, application/x-ndjson", Native.FORM),
        (None, "image/png, */*;q=0.1", Native.FORM),
        (None, "text/plain;q=x, */*;q=0.1", Native.FORM),
        (None, "text/html", Format.HOCR),
        (None, "application/xml;q=0.5, image/png", Format.ALTO),
        (None, "text/html, application/xml;q=0.9, */*;q=0.8", Native.FORM),
        ("json", "text/plain", Format.JSON),
        (" ALTO ", None, Format.ALTO),
        ("ndjson", None, Native.NDJSON),
    ]
    wrong = [(name, accept, found) for name, accept, shape in cases if (found := choose(name, accept)) is not shape]
    assert wrong == []


@pytest.mark.parametrize(("name", "accept"), [("form", None), ("odt", "*/*"), (None, "image/png"), (None, "*/*;q=0")])
def test_what_nobody_can_make_is_not_acceptable(name: str | None, accept: str | None) -> None:
    with pytest.raises(InputRejected) as rejected:
        choose(name, accept)
    assert rejected.value.code == "not_acceptable"
