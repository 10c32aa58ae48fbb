"""Passes arrays between processes in shared memory; the rest of a message is pickled.

Only inkgate's own processes exchange these messages, so pickle is safe here; it supports every type that models use.
The memory is a memfd: it has no name, and is freed once both processes have ended, for whatever reason.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
"""Bytes of a cache line: arrays are aligned to it."""
_STEP = 1 << 20
_KEPT = 64 << 20
"""Bytes that are kept after a call that took more: enough for several pages, or many calls' worth of lines."""

_Place = tuple[int, tuple[int, ...], str]
"""An array's offset, shape and type."""


class SharedBlock:
    """Memory that two processes share. Data from one side is valid for the other until the next message is packed."""

    def __init__(self, fd: int) -> None:
        """`fd`: of a memfd; closed with the block."""
        self._fd = fd
        self._memory: mmap.mmap | None = None

    @classmethod
    def make(cls) -> SharedBlock:
        """A new, empty block."""
        return cls(os.memfd_create("inkgate-engine", os.MFD_CLOEXEC))

    @property
    def fd(self) -> int:
        return self._fd

    @property
    def size(self) -> int:
        """Bytes that are mapped in this process."""
        return 0 if self._memory is None else len(self._memory)

    def pack(self, message: object) -> bytes:
        """Pickles `message` and copies its arrays into the block. Raises OSError if there is no memory for them."""
        arrays: list[NDArray[Any]] = []
        places: list[_Place] = []
        frame = io.BytesIO()
        _Packer(frame, arrays, places).dump(message)
        end = places[-1][0] + arrays[-1].nbytes if places else 0
        if end > self.size or self.size > max(end, _KEPT):
            self._resize(-(-end // _STEP) * _STEP)
        for array, place in zip(arrays, places, strict=True):
            np.copyto(self._array(place), array, casting="no")
        return self.size.to_bytes(8) + frame.getvalue()

    def unpack(self, frame: bytes) -> Any:  # noqa: ANN401 - whatever was packed
        """The message that the other side packed. Its arrays are views of the block."""
        size = int.from_bytes(frame[:8])
        if size != self.size:
            self._map(size)
        return _Unpacker(io.BytesIO(frame[8:]), self).load()

    def close(self) -> None:
        """Frees the memory once no array refers to it. Safe to call twice."""
        self._memory = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _resize(self, size: int) -> None:
        self._memory = None
        os.ftruncate(self._fd, size)
        self._map(size)

    def _map(self, size: int) -> None:
        # The previous mapping is freed with the last array in it.
        self._memory = mmap.mmap(self._fd, size) if size else None

    def _array(self, place: _Place) -> NDArray[Any]:
        offset, shape, kind = place
        dtype = np.dtype(kind)
        if not np.prod(shape):
            return np.zeros(shape, dtype)
        return np.ndarray(shape, dtype, self._memory, offset)


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
    def __init__(self, frame: io.BytesIO, block: SharedBlock) -> None:
        super().__init__(frame)
        self._block = block

    def persistent_load(self, pid: Any) -> NDArray[Any]:  # noqa: ANN401 - as pickle has it
        """The array at a location."""
        return self._block._array(pid)  # noqa: SLF001 - of this module
