"""Results are kept for a while, within bounds."""

import orjson

from inkgate.client import Summary
from inkgate.codec import page_to_dict
from inkgate.types import Line, PageResult
from inkgate.ui.results import Results
from support.clock import Clock


def line(index: int, text: str = "Head") -> bytes:
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 4.0), (0.0, 4.0))
    return orjson.dumps(page_to_dict(PageResult(index, 10, 10, lines=(Line(text, quad, 0.9),), text=text)))


def test_what_was_kept_comes_back_as_it_was_read() -> None:
    results = Results()
    name = results.begin("scan.pdf")
    results.add(name, line(0, "one"))
    results.add(name, line(4, "five"))
    results.end(name, Summary("complete", "scan.pdf", "application/pdf", 99, 7, "fake", 2, 0))
    kept = results.get(name)
    assert kept is not None
    document = kept.document()
    assert [(page.index, page.lines[0].text) for page in document.pages] == [(0, "one"), (4, "five")]
    assert (document.name, document.page_count, document.engine) == ("scan.pdf", 7, "fake")


def test_a_document_that_is_still_read_can_be_had_as_far_as_it_goes() -> None:
    results = Results()
    name = results.begin("scan.pdf")
    results.add(name, line(0))
    kept = results.get(name)
    assert kept is not None
    assert kept.document().page_count == 1


def test_those_used_longest_ago_make_room() -> None:
    results = Results(max_bytes=3 * len(line(0)))
    first, second = results.begin("first"), results.begin("second")
    results.add(first, line(0))
    results.add(second, line(0))
    assert results.get(first) is not None
    for index in range(100):
        results.add(first, line(index + 1, f"page {index}"))
        assert results.size <= 3 * len(line(0))
    assert results.get(second) is None


def test_nothing_is_kept_for_more_than_an_hour_or_under_a_name_that_was_not_given_out() -> None:
    clock = Clock()
    results = Results(now=clock)
    name = results.begin("scan.pdf")
    assert results.get("guess") is None
    clock.goes_on(3599)
    assert results.get(name) is not None
    clock.goes_on(2)
    assert results.get(name) is None
    results.add(name, line(0))
    assert results.size == 0
