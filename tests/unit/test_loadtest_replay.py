"""Recorded traffic, and inkgate's own log as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkgate.bench.load import LoadImpossible
from inkgate.bench.load.arrivals import read_recording


def written(folder: Path, *lines: object) -> Path:
    file = folder / "traffic.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_moments_are_counted_from_the_first_in_order(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {"at": 12.5, "page": "a/b.png", "priority": "batch"},
        "",
        {"at": 10, "bytes": 2048},
    )
    first, second = read_recording(file)
    assert (first.at, first.sent_bytes, first.page) == (0.0, 2048, "")
    assert (second.at, second.page, second.priority) == (2.5, "a/b.png", "batch")
    assert read_recording(file, speed=2.0)[1].at == 1.25


def test_moments_may_be_dates(tmp_path: Path) -> None:
    file = written(tmp_path, {"at": "2026-11-21T10:00:00+01:00"}, {"at": "2026-11-21T09:00:01.5"})
    assert [recorded.at for recorded in read_recording(file)] == [0.0, 1.5]


def test_inkgates_own_log_is_a_recording(tmp_path: Path) -> None:
    request = {"event": "request", "method": "POST", "path": "/ocr", "duration_ms": 500.0, "received_bytes": 4096}
    file = written(
        tmp_path,
        {"event": "ready", "url": "http://127.0.0.1:7860"},
        request | {"timestamp": "2026-11-21T10:00:01.5Z"},
        request | {"timestamp": "2026-11-21T10:00:01.0Z", "duration_ms": 1000.0, "path": "/v1/chat/completions"},
        request | {"timestamp": "2026-11-21T10:00:02.0Z", "path": "/metrics"},
    )
    first, second = read_recording(file)
    assert (first.at, second.at) == (0.0, 1.0)
    assert first.sent_bytes == 4096


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"when": 1}', '{"at": [1]}', '{"at": "noon"}', '{"at": 1, "bytes": "x"}']
)
def test_a_line_that_is_not_understood_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    with pytest.raises(LoadImpossible, match="line 2"):
        read_recording(written(tmp_path, {"at": 1}, line))


def test_a_recording_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadImpossible, match="no request"):
        read_recording(written(tmp_path, {"event": "ready"}))
    with pytest.raises(LoadImpossible, match="can't be read"):
        read_recording(tmp_path / "nothing.jsonl")
