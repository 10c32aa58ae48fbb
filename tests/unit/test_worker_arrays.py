"""Arrays of any kind pass through shared memory as they are; messages beside them stay small."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from inkgate.engines.ppocr.detection import DetectionInput, DetectionOptions
from inkgate.engines.workers.arrays import ArrayBlock, BlockStore, PackedMessage, read_message

MB = 1 << 20


def passed(message: object, block: ArrayBlock) -> Any:  # noqa: ANN401 - as it was passed
    """The message at the other side of a block, which has it mapped for itself."""
    return read_message(block.memory.map(), block.write(PackedMessage(message)))


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
    block = ArrayBlock(PackedMessage(("name", sent)).size)
    name, found = passed(("name", sent), block)
    assert name == "name"
    assert len(found) == len(sent)
    for one, other in zip(found, sent, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    block.close()


def test_pixels_are_not_in_the_message_and_are_not_copied_out() -> None:
    options = DetectionOptions(longest_side=9, shortest_side=8, threshold=0.3, box_threshold=0.5, unclip_ratio=1.6)
    page = np.arange(3 * MB, dtype=np.uint32).astype(np.uint8).reshape(1024, 1024, 3)
    message = PackedMessage([DetectionInput(page[::-1, ::-1], options)])
    assert len(message.frame) < 1000
    block = ArrayBlock(message.size)
    (found,) = read_message(block.memory.map(), block.write(message))
    assert found.options == options
    assert np.array_equal(found.rgb, page[::-1, ::-1])
    block.write(PackedMessage([DetectionInput(page, options)]))
    assert np.array_equal(found.rgb, page)  # the same memory
    block.close()


def test_blocks_are_used_again_and_large_ones_are_given_back() -> None:
    store = BlockStore(2)
    sizes = []
    for count in (10, 3 * MB + 1, 10, 3 * MB, 80 * MB, 10):
        message = PackedMessage([np.full(count, 7, np.uint8)])
        block = store.take(message.size)
        (found,) = read_message(block.memory.map(), block.write(message))
        assert found.sum() == 7 * count
        assert os.fstat(block.memory.fileno()).st_size == block.size
        sizes.append(block.size // MB)
        store.give_back(block)
        assert block.memory.closed == (count == 80 * MB)
    assert sizes == [1, 4, 1, 4, 81, 1]
    store.close()


def test_the_largest_of_too_many_blocks_are_kept() -> None:
    store = BlockStore(2)
    blocks = [store.take(size * MB) for size in (3, 1, 2)]
    for block in blocks:
        store.give_back(block)
    assert [block.memory.closed for block in blocks] == [False, True, False]
    store.close()
    assert all(block.memory.closed for block in blocks)


def test_an_array_outlives_the_memory_it_came_in() -> None:
    block = ArrayBlock(MB)
    (first,) = passed([np.full(100, 3, np.uint8)], block)
    block.close()
    block.close()
    assert first.tolist() == [3] * 100
    with pytest.raises(ValueError, match="closed"):
        passed([], block)
