"""Arrays of any kind pass through shared memory as they are; messages beside them stay small."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions
from inkgate.engines.workers.block import SharedBlock

MB = 1 << 20


@pytest.fixture
def blocks() -> Iterator[tuple[SharedBlock, SharedBlock]]:
    """Two sides of the same memory."""
    ours = SharedBlock.make()
    theirs = SharedBlock(os.dup(ours.fd))
    yield ours, theirs
    ours.close()
    theirs.close()


@given(
    st.lists(
        arrays.arrays(
            st.sampled_from([np.uint8, np.float32, np.int64, np.bool_]),
            arrays.array_shapes(min_dims=0, min_side=0, max_side=6),
        ).flatmap(lambda array: st.sampled_from([array, array.T, array[..., ::-1] if array.ndim else array])),
        max_size=5,
    )
)
def test_arrays_arrive_as_they_were(sent: list[NDArray[Any]]) -> None:
    ours = SharedBlock.make()
    theirs = SharedBlock(os.dup(ours.fd))
    name, found = theirs.unpack(ours.pack(("name", sent)))
    assert name == "name"
    assert len(found) == len(sent)
    for one, other in zip(found, sent, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    ours.close()
    theirs.close()


def test_pixels_are_not_in_the_message_and_are_not_copied_out(blocks: tuple[SharedBlock, SharedBlock]) -> None:
    ours, theirs = blocks
    options = DetectionOptions(longest_side=9, shortest_side=8, threshold=0.3, box_threshold=0.5, unclip_ratio=1.6)
    page = np.arange(3 * MB, dtype=np.uint32).astype(np.uint8).reshape(1024, 1024, 3)
    frame = ours.pack([DetectionInput(page[::-1, ::-1], options)])
    assert len(frame) < 1000
    (found,) = theirs.unpack(frame)
    assert found.options == options
    assert np.array_equal(found.rgb, page[::-1, ::-1])
    ours.pack([DetectionInput(page, options)])
    assert np.array_equal(found.rgb, page)  # the same memory


def test_the_block_grows_when_needed_and_gives_much_back(blocks: tuple[SharedBlock, SharedBlock]) -> None:
    ours, theirs = blocks
    sizes = []
    for count in (10, 3 * MB + 1, 10, 80 * MB, 10):
        (found,) = theirs.unpack(ours.pack([np.full(count, 7, np.uint8)]))
        assert found.sum() == 7 * count
        del found
        assert os.fstat(ours.fd).st_size == ours.size == theirs.size
        sizes.append(ours.size // MB)
    assert sizes == [1, 4, 4, 80, 1]


def test_an_array_outlives_the_memory_it_came_in(blocks: tuple[SharedBlock, SharedBlock]) -> None:
    ours, theirs = blocks
    (first,) = theirs.unpack(ours.pack([np.full(100, 3, np.uint8)]))
    theirs.unpack(ours.pack([np.full(2 * MB, 4, np.uint8)]))
    assert first.shape == (100,)
    assert set(first.tolist()) <= {3, 4}
    theirs.close()
    ours.close()
    ours.close()
    assert len(first.tolist()) == 100
