"""Where compiled models are kept."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from inkgate.runtimes.compiled import alone, compiled_folder


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path) -> None:
    folder = compiled_folder(str(tmp_path / "some" / "models"))
    assert folder == tmp_path / "some" / "models"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []
    assert compiled_folder(str(folder)) == folder


def test_without_a_choice_it_is_in_the_user_s_cache_folder(tmp_path: Path) -> None:
    assert compiled_folder("auto", {"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "inkgate" / "models"


def test_nothing_is_kept_where_nobody_wants_it() -> None:
    assert compiled_folder("") is None


def test_a_folder_that_can_t_be_is_done_without_and_logged_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with capture_logs() as logs:
        assert compiled_folder(str(tmp_path / "file" / "models")) is None
    (line,) = logs
    assert (line["event"], line["log_level"]) == ("compiled_models_not_kept", "warning")


def locked(folder: Path) -> bool:
    """Whether a process holds the folder's lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def test_one_is_alone_with_the_folder_until_done(tmp_path: Path) -> None:
    with alone(tmp_path):
        assert locked(tmp_path)
    assert not locked(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_free_again_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"), alone(tmp_path):
        raise ValueError("broken")
    assert not locked(tmp_path)


def test_nobody_waits_where_nothing_is_kept() -> None:
    with alone(None), alone(None):
        assert compiled_folder("") is None
