"""How cores are shared out among workers."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inkgate.bootstrap.stack import pool_of, with_workers
from inkgate.engines.workers.shares import place_of, shares, usable_cpus, worker_count
from inkgate.settings import Settings


def test_one_worker_for_each_eight_cores_unless_the_settings_say_otherwise() -> None:
    cases = [
        (0, 1, 0),
        (0, 8, 0),
        (0, 9, 2),
        (0, 16, 2),
        (0, 64, 8),
        (0, 65, 9),
        (-1, 64, 0),
        (1, 2, 1),
        (3, 2, 3),
    ]
    wrong = [
        (asked, cores, found) for asked, cores, workers in cases if (found := worker_count(asked, cores)) != workers
    ]
    assert wrong == []


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(1, 20))
def test_each_core_is_in_one_share_and_shares_are_even(cpus: set[int], workers: int) -> None:
    found = shares(cpus, workers, lambda cpu: (cpu % 2, cpu))
    assert len(found) == workers
    if len(cpus) < workers:
        assert all(set(share) == cpus for share in found)
    else:
        assert sorted(cpu for share in found for cpu in share) == sorted(cpus)
        assert max(map(len, found)) - min(map(len, found)) <= 1


def test_threads_of_a_core_and_cores_of_a_package_stay_together(tmp_path: Path) -> None:
    for cpu in range(8):  # two packages of two cores of two threads, numbered as Linux does
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "physical_package_id").write_text(f"{cpu // 2 % 2}\n")
        (folder / "core_id").write_text(f"{cpu % 2}\n")
    assert shares(range(8), 2, lambda cpu: place_of(cpu, tmp_path)) == [[0, 4, 1, 5], [2, 6, 3, 7]]
    assert shares(range(8), 4, lambda cpu: place_of(cpu, tmp_path)) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert place_of(9, tmp_path) == (0, 0)


def test_a_container_s_quota_limits_what_is_used(tmp_path: Path) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    for text, count in (("max 100000\n", len(allowed)), ("100000 100000\n", 1), ("20000 100000\n", 1)):
        (tmp_path / "cpu.max").write_text(text)
        assert usable_cpus(tmp_path) == allowed[:count]
    assert usable_cpus(tmp_path / "none") == allowed


def test_as_many_calls_and_pages_as_keep_workers_busy() -> None:
    settings = Settings()
    few = with_workers(settings, cores=8)
    assert few == settings
    assert pool_of(few.engine.ppocr) is None
    many = with_workers(settings, cores=64).engine.ppocr
    assert (many.workers, many.threads, many.concurrent_pages, many.batching.parallel) == (8, 8, 16, 8)
    own = Settings.model_validate({"engine": {"ppocr": {"workers": 2, "threads": 3, "concurrent_pages": 40}}})
    assert with_workers(own, cores=64).engine.ppocr.threads == 3
    assert with_workers(own, cores=64).engine.ppocr.concurrent_pages == 40
    for provider, workers in (("auto", 8), ("cuda", 0), ("tensorrt", 0)):
        gpu = Settings.model_validate({"engine": {"ppocr": {"onnxruntime": {"provider": provider}}}})
        assert with_workers(gpu, cores=64).engine.ppocr.workers == workers
    none = Settings.model_validate({"engine": {"ppocr": {"workers": -1}}})
    assert pool_of(with_workers(none, cores=64).engine.ppocr) is None
