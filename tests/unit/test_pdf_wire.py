import os
import socket

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.documents.pdf import wire
from inkgate.documents.pdf.facts import PageFacts
from inkgate.documents.pdf.shared import make_bitmap, map_bitmap, map_bytes, seal_bytes
from inkgate.documents.pdf.wire import Call, Op, Reply
from inkgate.types import Line, Size, Word

numbers = st.floats(-1e6, 1e6)
points = st.tuples(numbers, numbers)
quads = st.tuples(points, points, points, points)
words = st.builds(Word, st.text(st.characters(codec="utf-8")), quads, st.just(1.0))
lines = st.builds(
    Line, st.text(st.characters(codec="utf-8")), quads, st.just(1.0), st.lists(words, max_size=3).map(tuple)
)
facts = st.builds(
    PageFacts,
    st.builds(Size, st.integers(1, 9999), st.integers(1, 9999)),
    st.floats(1, 600),
    st.none() | st.lists(lines, max_size=3).map(tuple),
    st.text(st.characters(codec="utf-8")),
)


@given(facts)
def test_a_page_is_the_same_at_the_other_end(page: PageFacts) -> None:
    frame = wire.encode(Reply(page.flat(), private_mb=12.5))
    assert wire.frame_length(frame[: wire.HEAD_BYTES]) == len(frame) - wire.HEAD_BYTES
    assert PageFacts.of(wire.decode_reply(frame[wire.HEAD_BYTES :]).value) == page


@given(st.binary(max_size=40) | st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["value", "error", "detail", "private_mb", "lines", "width"]), inner, max_size=4),
).map(orjson.dumps))  # fmt: skip
def test_what_is_no_reply_is_told_from_one(body: bytes) -> None:
    try:
        reply = wire.decode_reply(body)
    except (ValueError, TypeError):
        return
    assert isinstance(reply.error, str)


@pytest.mark.parametrize("change", [
    {"width": 0}, {"height": 10**9}, {"width": "wide"}, {"lines": 5}, {"lines": [["text", [1, 2]]]}, {"dpi": None},
    {"lines": [["text", [0] * 7, []]]}, {"lines": [["text", [0] * 8, [["word"]]]]},
])  # fmt: skip
def test_facts_that_make_no_sense_are_refused(change: dict[str, object]) -> None:
    flat = PageFacts(Size(10, 20), 72.0, (), "").flat()
    assert PageFacts.of(flat).size == Size(10, 20)
    with pytest.raises((KeyError, ValueError, TypeError)):
        PageFacts.of({**flat, **change})


def test_frames_beyond_the_limit_are_refused() -> None:
    with pytest.raises(ValueError, match="a frame of"):
        wire.frame_length(b"\xff\xff\xff\xff")


def test_descriptors_arrive_with_their_call_and_calls_one_by_one() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        data = seal_bytes(b"%PDF-data")
        bitmap = make_bitmap(Size(4, 3))
        first, second = Call(Op.RENDER, 7, document_bytes=9, width=4, height=3), Call(Op.CLOSE, 7)
        socket.send_fds(ours, [wire.encode(first)], [data.fileno(), bitmap.fileno()])
        ours.sendall(wire.encode(second))
        received = wire.receive_call(theirs)
        assert received is not None
        call, fds = received
        assert call == first
        assert bytes(map_bytes(fds[0], call.document_bytes)) == b"%PDF-data"
        map_bitmap(fds[1], Size(4, 3))[2, 3] = (1, 2, 3)
        assert map_bitmap(bitmap.fileno(), Size(4, 3))[2, 3].tolist() == [1, 2, 3]
        assert wire.receive_call(theirs) == (second, [])
        ours.close()
        assert wire.receive_call(theirs) is None
        for fd in fds:
            os.close(fd)
        data.close()
        bitmap.close()


def test_a_worker_can_change_neither_document_nor_size() -> None:
    data, bitmap = seal_bytes(b"abc"), make_bitmap(Size(2, 2))
    with pytest.raises(PermissionError):
        os.pwrite(data.fileno(), b"x", 0)
    for file in (data, bitmap):
        with file, pytest.raises(PermissionError):
            file.truncate(0)
