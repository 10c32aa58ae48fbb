"""The program of an engine worker: a process that runs models for another and may be killed at any time."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from inkgate.children import live_with
from inkgate.engines.workers.block import SharedBlock
from inkgate.runtimes.memory import return_free_memory

Predict = Callable[[Sequence[Any]], list[Any]]
Load = Callable[[str], Mapping[str, Predict]]
"""Opens the models: from the argument of the other side to each model's `predict`, by model name."""

_IDLE_S = 2.0
"""After this many seconds without a call, freed memory is returned to the system."""


def run(load: Load) -> None:
    """Serves until the other side has gone. The last arguments: descriptors of channel and memory, the parent's process
    ID, and the argument of `load`.
    """
    channel_fd, block_fd, parent = map(int, sys.argv[-4:-1])
    live_with(parent)
    channel, block = Connection(channel_fd), SharedBlock(block_fd)
    with suppress(EOFError, OSError):  # the other side is gone
        _serve(channel, block, load)
    os._exit(0)  # nothing needs cleaning up; threads of native code are not waited for


def _serve(channel: Connection, block: SharedBlock, load: Load) -> None:
    try:
        models = load(sys.argv[-1])
    except Exception as error:  # noqa: BLE001 - the border of this process
        channel.send_bytes(pack_answer(error))
        return
    channel.send_bytes(pack_answer(None))
    while True:
        if not channel.poll(_IDLE_S):
            return_free_memory()
        channel.send_bytes(_answer(models, block, channel.recv_bytes()))


def _answer(models: Mapping[str, Predict], block: SharedBlock, frame: bytes) -> bytes:
    """The packed result of one call; its arrays are released on return."""
    try:
        name, items = block.unpack(frame)
        return pack_answer(models[name](items))
    except Exception as error:  # noqa: BLE001 - the border of one call
        return pack_answer(error)


def pack_answer(answer: object) -> bytes:
    """A frame: results, which are small, and no exception; or an exception and its traceback as text.

    An exception that can't be pickled is sent as text, too.
    """
    if not isinstance(answer, Exception):
        return pickle.dumps((answer, None, ""), pickle.HIGHEST_PROTOCOL)
    raised = "".join(traceback.format_exception(answer))
    try:
        frame = pickle.dumps((None, answer, raised), pickle.HIGHEST_PROTOCOL)
        pickle.loads(frame)  # noqa: S301 - our own, a line above
    except Exception:  # noqa: BLE001 - whatever an exception of some library does when it is pickled
        return pickle.dumps((None, RuntimeError(repr(answer)), raised), pickle.HIGHEST_PROTOCOL)
    return frame
