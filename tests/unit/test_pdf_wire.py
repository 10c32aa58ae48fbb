import fcntl
import os
import socket

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.documents.pdf import wire
from inkgate.documents.pdf.facts import PageFacts
from inkgate.documents.pdf.wire import Op, PdfCall, Reply
from inkgate.page import LineStyle, LineTag, TagKind, TextLayer
from inkgate.workers.wire import (
    REPLY_HEAD_BYTES,
    MemoryUse,
    Outcome,
    SharedMemory,
    WorkerReply,
    decode_reply_head,
    encode_call,
    encode_forget,
    encode_reply,
    map_memory,
    receive_call,
)
from inkgate_client.types import Line, Size, Word

numbers = st.floats(-1e6, 1e6)
points = st.tuples(numbers, numbers)
quads = st.tuples(points, points, points, points)
words = st.builds(Word, st.text(st.characters(codec="utf-8")), quads, st.just(1.0))
lines = st.builds(
    Line, st.text(st.characters(codec="utf-8")), quads, st.just(1.0), st.lists(words, max_size=3).map(tuple)
)
tags = st.builds(LineTag, st.integers(-1, 10**6), st.sampled_from(TagKind))
styles = st.builds(LineStyle, numbers, st.booleans(), st.booleans(), st.none() | tags)


def layer(styled: list[tuple[Line, LineStyle]]) -> TextLayer:
    return TextLayer(tuple(line for line, _ in styled), tuple(style for _, style in styled))


facts = st.builds(
    PageFacts,
    st.builds(Size, st.integers(1, 9999), st.integers(1, 9999)),
    st.floats(1, 600),
    st.none() | st.lists(st.tuples(lines, styles), max_size=3).map(layer),
    st.text(st.characters(codec="utf-8")),
)


@given(facts)
def test_a_page_is_the_same_at_the_other_end(page: PageFacts) -> None:
    frame = encode_reply(WorkerReply(wire.encode_reply(Reply(page.flat())), private_mb=12.5))
    head, body = frame[:REPLY_HEAD_BYTES], frame[REPLY_HEAD_BYTES:]
    assert decode_reply_head(head) == (len(body), Outcome.DONE, 12.5)
    assert PageFacts.of(wire.decode_reply(body).value) == page


@given(st.binary(max_size=40) | st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["value", "error", "detail", "lines", "width"]), inner, max_size=4),
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
    {"styles": [[20.0, True, False]]}, {"styles": [[20.0]]},
    {"lines": [["a", [0] * 8, []]], "styles": [[20.0, True, False, 5, "?"]]},
])  # fmt: skip
def test_facts_that_make_no_sense_are_refused(change: dict[str, object]) -> None:
    flat = PageFacts(Size(10, 20), 72.0, TextLayer(()), "").flat()
    assert PageFacts.of(flat).size == Size(10, 20)
    with pytest.raises((KeyError, ValueError, TypeError)):
        PageFacts.of({**flat, **change})


@pytest.mark.parametrize("head", [b"\xff" * REPLY_HEAD_BYTES, b"\0\0\0\2\x09" + bytes(8)])
def test_frames_beyond_the_limit_and_unknown_outcomes_are_refused(head: bytes) -> None:
    with pytest.raises(ValueError, match=r"a frame of|is not a valid Outcome"):
        decode_reply_head(head)


def test_descriptors_arrive_with_their_call_and_calls_one_by_one() -> None:
    ours, theirs = socket.socketpair()
    pixels = 4 * 3 * 3
    with (
        ours,
        theirs,
        SharedMemory("inkgate-pdf", 9, b"%PDF-data", retained=True) as data,
        SharedMemory("inkgate-page", pixels, retained=False) as bitmap,
    ):
        uses = tuple(MemoryUse.of(memory, attached=True) for memory in (data, bitmap))
        call = PdfCall(Op.RENDER, data.number, width=4, height=3)
        socket.send_fds(ours, [encode_call(call, uses)], [data.fileno(), bitmap.fileno()])
        ours.sendall(encode_forget(data.number))
        received = receive_call(theirs)
        assert received is not None
        message, descriptors = received
        assert message == (call, uses, None)
        assert bytes(map_memory(descriptors[0], uses[0])) == b"%PDF-data"
        map_memory(descriptors[1], uses[1])[35] = 3
        assert bitmap.map()[35] == 3
        assert receive_call(theirs) == ((None, (), data.number), [])
        ours.close()
        assert receive_call(theirs) is None
        for descriptor in descriptors:
            os.close(descriptor)


def test_a_worker_can_change_neither_document_nor_size() -> None:
    with (
        SharedMemory("inkgate-pdf", 3, b"abc", retained=True) as data,
        SharedMemory("inkgate-page", 12, retained=False) as bitmap,
    ):
        with pytest.raises(PermissionError):
            os.pwrite(data.fileno(), b"x", 0)
        for memory in (data, bitmap):
            for size in (0, 100):
                with pytest.raises(PermissionError):
                    os.ftruncate(memory.fileno(), size)
            with pytest.raises(PermissionError):  # or the service could not map it any more
                fcntl.fcntl(memory.fileno(), fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    with pytest.raises(ValueError, match="closed"):
        data.fileno()
