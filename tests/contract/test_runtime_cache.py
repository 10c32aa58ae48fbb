"""Compiled models that are kept: found again, and done without where they are broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inkgate.runtimes import models as files
from inkgate.runtimes.base import Columns
from inkgate.runtimes.choose import open_runtime
from inkgate.settings import Precision, RuntimeName

TENSOR = np.linspace(-1, 1, 3 * 48 * 96, dtype=np.float32).reshape(1, 3, 48, 96)


def read(cache: Path | None, precision: Precision = Precision.F32) -> Columns:
    """What the recogniser sees in something."""
    runtime = open_runtime(RuntimeName.OPENVINO, precision, 1, cache)
    return runtime.open_columns(files.text_recognition()).run(TENSOR)


def same(one: Columns, other: Columns) -> bool:
    pairs = ((one.best, other.best), (one.probability, other.probability), (one.last, other.last))
    return all(np.array_equal(*pair) for pair in pairs)


KEPT = {Precision.F32: 1, Precision.INT8: 2}
"""Compiled models of the recogniser: in int8 it has two heads."""


@pytest.mark.parametrize("precision", list(KEPT))
def test_a_compiled_model_is_found_again_whatever_was_opened_before(precision: Precision, tmp_path: Path) -> None:
    first = read(tmp_path, precision)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == KEPT[precision]
    open_runtime(RuntimeName.OPENVINO, Precision.F32, 1).open(files.line_orientation())
    assert same(read(tmp_path, precision), first)
    assert sorted(tmp_path.iterdir()) == kept
    assert same(read(None, precision), first)


def test_compiled_models_of_precisions_are_kept_apart(tmp_path: Path) -> None:
    in_floats, in_integers = (read(tmp_path, precision) for precision in KEPT)
    assert len(list(tmp_path.iterdir())) == sum(KEPT.values())
    assert not same(in_floats, in_integers)


def test_a_broken_one_is_compiled_again(tmp_path: Path) -> None:
    first = read(tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.chmod(0o600)
    kept.write_bytes(kept.read_bytes()[:5000])
    assert same(read(tmp_path), first)


def test_a_detector_whose_last_layers_were_changed_is_found_again(tmp_path: Path) -> None:
    open_runtime(RuntimeName.OPENVINO, Precision.F32, 1, tmp_path).open(files.text_detection())
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 1
    open_runtime(RuntimeName.OPENVINO, Precision.F32, 1).open(files.line_orientation())
    open_runtime(RuntimeName.OPENVINO, Precision.F32, 1, tmp_path).open(files.text_detection())
    assert sorted(tmp_path.iterdir()) == kept


OPENS = """
import sys
import subprocess
import sys
from pathlib import Path
from inkgate.runtimes import models as files
from inkgate.runtimes.choose import open_runtime
from inkgate.settings import Precision, RuntimeName
print("ready", flush=True)
for folder in sys.stdin.readline().split():
    open_runtime(RuntimeName.OPENVINO, Precision.F32, 1, Path(folder)).open(files.line_orientation())
"""


def test_processes_that_start_together_with_an_empty_cache_all_get_their_models(tmp_path: Path) -> None:
    """OpenVINO writes compiled models in place: without a lock, about half of these processes fail or die of SIGBUS."""
    folders = [tmp_path / str(number) for number in range(10)]
    for folder in folders:
        folder.mkdir()
    command = [sys.executable, "-c", OPENS]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(" ".join(map(str, folders)).encode() + b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0] * 4
    assert [len(list(folder.iterdir())) for folder in folders] == [1] * 10
