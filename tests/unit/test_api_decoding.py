"""Bodies, decoded in memory that grows with them and no further."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.api.http.decoding import LARGE, MAX_JSON_VALUES, check_texts, decode_data_url, decode_percent, parse_json
from inkgate.errors import InputRejected

PIECE = 64 * 1024
SIZE = 3_000_000


class Peak:
    """The most memory that was taken at once, in bytes."""

    bytes = 0


@contextmanager
def peak() -> Iterator[Peak]:
    found = Peak()
    tracemalloc.start()
    try:
        yield found
        found.bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ESCAPES = st.lists(st.sampled_from([b"%", b"%4", b"%41", b"%zz", b"%25", b"a", b"+", b"\xff"]), max_size=12)


@given(st.integers(PIECE - 4, PIECE + 4), ESCAPES, ESCAPES)
def test_escapes_are_undone_wherever_a_piece_ends(before: int, first: list[bytes], second: list[bytes]) -> None:
    data = before * b"x" + b"".join(first) + PIECE * b"y" + b"".join(second)
    assert decode_percent(data) == unquote_to_bytes(data)


def test_escapes_take_no_more_memory_than_their_text() -> None:
    url = "data:," + "%41" * (SIZE // 3)
    with peak() as found:
        assert decode_data_url(url) == b"A" * (SIZE // 3)
    assert found.bytes < 6 * SIZE


HOSTILE: list[Callable[[int], bytes]] = [
    lambda count: b'{"a":[' + b"{}," * count + b"1]}",
    lambda count: b'{"a":' + b"[" * count + b"]" * count + b"}",
    lambda count: b'{"a":' * count + b"1" + b"}" * count,
    lambda count: b'{"":1' + b',"":1' * count + b"}",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_json_of_too_many_values_is_refused_before_any_is_made(body: Callable[[int], bytes]) -> None:
    raw = body(1_000_000)
    with peak() as found, pytest.raises(InputRejected, match="body_too_complex"):
        parse_json(raw)
    assert found.bytes < 100_000


def test_a_million_characters_of_text_are_one_value() -> None:
    text = "A sentence, as people write them. " * 30_000
    assert parse_json(b'{"text":"' + text.encode() + b'"}') == {"text": text}
    most = b"[" + b"1," * (MAX_JSON_VALUES - 1) + b"1]"
    assert parse_json(most) == [1] * MAX_JSON_VALUES


def test_json_nested_deeply_is_refused() -> None:
    with pytest.raises(InputRejected, match="json_invalid"):
        parse_json(b"[" * 100_000 + b"]" * 100_000)


def test_long_texts_that_are_no_ascii_are_refused_wherever_they_are() -> None:
    wide = "a" * LARGE + "🙂"
    for value in (wide, {"document": {"image_url": wide}}, {wide: 1}, [[[wide]]]):
        with pytest.raises(InputRejected, match="base64_invalid"):
            check_texts(value)
    check_texts({"short": "🙂", "long": "a" * LARGE + "a", "many": ["🙂"] * 1000, "none": None})
