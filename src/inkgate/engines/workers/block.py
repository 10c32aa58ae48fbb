"""Arrays pass between processes in shared memory; what else there is of an item, by pickle beside it.

Only processes of our own speak so, and what they say is of their own making: pickle can carry whatever a model takes
and gives. The memory is a memfd: it has no name, and nothing of it stays behind when both sides have gone, however.
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
"""Bytes of a cache line: where arrays begin."""
_STEP = 1 << 20
_KEPT = 64 << 20
"""Bytes that stay after a call that took more: some pages, or all lines of a call many times over."""

_Place = tuple[int, tuple[int, ...], str]
"""Where an array is: its offset, shape and type."""


class SharedBlock:
    """Memory that two processes share. What one writes is valid for the other until the next message is packed."""

    def __init__(self, fd: int) -> None:
        """`fd`: of a memfd, which is closed with the block."""
        self._fd = fd
        self._memory: mmap.mmap | None = None

    @classmethod
    def make(cls) -> SharedBlock:
        """New and empty."""
        return cls(os.memfd_create("inkgate-engine", os.MFD_CLOEXEC))

    @property
    def fd(self) -> int:
        return self._fd

    @property
    def size(self) -> int:
        """Bytes that are mapped here."""
        return 0 if self._memory is None else len(self._memory)

    def pack(self, message: object) -> bytes:
        """`message`, the pixels of its arrays left in the block. Raises OSError where there is no memory for them."""
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
        """What the other side packed. Its arrays are views of the block."""
        size = int.from_bytes(frame[:8])
        if size != self.size:
            self._map(size)
        return _Unpacker(io.BytesIO(frame[8:]), self).load()

    def close(self) -> None:
        """Gives the memory back as soon as no array lies in it any more. Safe to call twice."""
        self._memory = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _resize(self, size: int) -> None:
        self._memory = None
        os.ftruncate(self._fd, size)
        self._map(size)

    def _map(self, size: int) -> None:
        # The memory that was mapped before goes with the last array in it.
        self._memory = mmap.mmap(self._fd, size) if size else None

    def _array(self, place: _Place) -> NDArray[Any]:
        offset, shape, kind = place
        dtype = np.dtype(kind)
        if not np.prod(shape):
            return np.zeros(shape, dtype)
        return np.ndarray(shape, dtype, self._memory, offset)


class _Packer(pickle.Pickler):
    """Leaves out arrays, and says where they go."""

    def __init__(self, frame: io.BytesIO, arrays: list[NDArray[Any]], places: list[_Place]) -> None:
        super().__init__(frame, pickle.HIGHEST_PROTOCOL)
        self._arrays = arrays
        self._places = places
        self._end = 0

    def persistent_id(self, obj: object) -> _Place | None:
        """Where `obj` is, if it is an array."""
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
        """The array of a place."""
        return self._block._array(pid)  # noqa: SLF001 - of this module
