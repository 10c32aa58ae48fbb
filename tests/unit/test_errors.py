"""Errors cross processes whole."""

from __future__ import annotations

import pickle

import pytest

from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded


@pytest.mark.parametrize(
    "error",
    [
        InputRejected("page_broken", "Torn."),
        EngineFailed("engine_failed", "Lost."),
        Overloaded("service_full", "64 pages wait already.", 2.5),
    ],
)
def test_errors_survive_pickling(error: InkgateError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled on the line before
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.as_page_error() == error.as_page_error()
