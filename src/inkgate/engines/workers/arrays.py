"""Passes messages with arrays between processes in shared memory.

Only inkgate's own processes exchange these messages, so pickle is safe here; it supports every type that models use.
The arrays come first in a memory, each at a cache line, then the rest of the message, pickled.
"""

from __future__ import annotations

import io
import mmap
import pickle
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inkgate.workers.wire import SharedMemory

_ALIGNMENT = 64
"""Bytes of a cache line: arrays are aligned to it."""
_STEP = 1 << 20
_MAX_REUSED = 64 << 20
"""Bytes of the largest block that is used again: enough for several pages, or many calls' worth of lines."""

_Place = tuple[int, tuple[int, ...], str]
"""An array's offset, shape and type."""


class PackedAt(NamedTuple):
    """The place of the pickled part of a message in a block."""

    start: int
    end: int


class ArrayBlock:
    """Shared memory for one message at a time, mapped here as long as it is open."""

    def __init__(self, size: int) -> None:
        """Raises OSError."""
        self.memory = SharedMemory("inkgate-engine", size, retained=True)
        self._mapped: mmap.mmap | None = self.memory.map()

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.memory.size

    def close(self) -> None:
        """Frees the memory. Safe to call twice."""
        self._mapped = None
        self.memory.close()

    def write(self, message: PackedMessage) -> PackedAt:
        """Copies a message that fits into the block."""
        memory = self._mapped
        if memory is None:
            raise ValueError("closed")
        for array, place in zip(message.arrays, message.places, strict=True):
            np.copyto(_array(memory, place), array, casting="no")
        start = message.size - len(message.frame)
        memory[start : message.size] = message.frame
        return PackedAt(start, message.size)


class PackedMessage:
    """A message, pickled but for its arrays, which are copied when it is written. `size`: in a block, in bytes."""

    def __init__(self, message: object) -> None:
        """Raises what pickle raises."""
        self.arrays: list[NDArray[Any]] = []
        self.places: list[_Place] = []
        frame = io.BytesIO()
        _Packer(frame, self.arrays, self.places).dump(message)
        self.frame = frame.getvalue()
        self.size = (self.places[-1][0] + self.arrays[-1].nbytes if self.places else 0) + len(self.frame)


def read_message(memory: mmap.mmap, at: PackedAt) -> Any:  # noqa: ANN401 - whatever was packed
    """The message in a block. Its arrays are views of the memory."""
    return _Unpacker(memory, at).load()


class BlockStore:
    """The blocks of a pool that are free. Safe from any thread. Keeps at most `max_blocks`, the largest."""

    def __init__(self, max_blocks: int) -> None:
        self._max_blocks = max_blocks
        self._free: list[ArrayBlock] = []
        self._lock = Lock()

    def take(self, size: int) -> ArrayBlock:
        """The smallest free block of at least `size` bytes, or a new one. Raises OSError if there is no memory."""
        with self._lock:
            fitting = [block for block in self._free if block.size >= size]
            if fitting:
                block = min(fitting, key=lambda block: block.size)
                self._free.remove(block)
                return block
        return ArrayBlock(-(-size // _STEP) * _STEP)

    def give_back(self, block: ArrayBlock) -> bool:
        """Keeps the block for later, or closes one. Whether it closed one."""
        with self._lock:
            self._free.append(block)
            worst = max(self._free, key=lambda block: block.size)
            if worst.size <= _MAX_REUSED:
                worst = min(self._free, key=lambda block: block.size)
            closes = worst.size > _MAX_REUSED or len(self._free) > self._max_blocks
            if closes:
                self._free.remove(worst)
                worst.close()
        return closes

    def close(self) -> None:
        """Closes the free blocks."""
        with self._lock:
            for block in self._free:
                block.close()
            self._free.clear()


def _array(memory: mmap.mmap, place: _Place) -> NDArray[Any]:
    offset, shape, kind = place
    dtype = np.dtype(kind)
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    return np.ndarray(shape, dtype, memory, offset)


class _Packer(pickle.Pickler):
    """Replaces arrays by their locations."""

    def __init__(self, frame: io.BytesIO, arrays: list[NDArray[Any]], places: list[_Place]) -> None:
        super().__init__(frame, pickle.HIGHEST_PROTOCOL)
        self._arrays = arrays
        self._places = places
        self._end = 0

    def persistent_id(self, obj: object) -> _Place | None:
        """The location of `obj` if it is an array."""
        if not isinstance(obj, np.ndarray) or obj.dtype.hasobject:
            return None
        place = (-(-self._end // _ALIGNMENT) * _ALIGNMENT, obj.shape, obj.dtype.str)
        self._end = place[0] + obj.nbytes
        self._arrays.append(obj)
        self._places.append(place)
        return place


class _Unpacker(pickle.Unpickler):
    def __init__(self, memory: mmap.mmap, at: PackedAt) -> None:
        super().__init__(io.BytesIO(memory[at.start : at.end]))
        self._memory = memory

    def persistent_load(self, pid: Any) -> NDArray[Any]:  # noqa: ANN401 - as pickle has it
        """The array at a location."""
        return _array(self._memory, pid)
