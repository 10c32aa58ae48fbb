"""What a service says of itself under load: read each second, summed up, and never missed when it is not there."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest

from inkgate.telemetry.gpu import GpuUnavailable
from inkgate_bench.load.readings import (
    Scraper,
    merge_sources,
    merge_windows,
    of_state,
    read_gpus,
    read_state,
    read_vllm,
    reading_sources,
    summarize_readings,
)
from inkgate_bench.load.results import ServerSide
from inkgate_client import InkgateClient
from inkgate_client.telemetry.state import Gpu, Process, ReplicaReading
from support.gpu import RecordedGpu
from support.states import embedded_state

METRICS = Path("tests/data/vllm-0.32-metrics.txt")


def replica(**said: float) -> ReplicaReading:
    return ReplicaReading("one", "up", "", 0, 1, **said)  # type: ignore[arg-type]  # fields by name


def test_state_is_read_for_what_a_load_test_shows() -> None:
    state = embedded_state(
        replicas=(replica(running=3, waiting=1, kv_usage=0.4, preemptions=7), replica(running=2, kv_usage=0.9)),
        processes=(Process("gateway", 1, 500_000_000, 1.0), Process("vllm", 2, 1_500_000_000, 1.0, started=3)),
        gpus=(Gpu(0, utilisation=0.5, memory_used=10, memory_total=40), Gpu(1, utilisation=0.7)),
    )
    assert of_state(state) == ServerSide(0.9, 5, 1, 7, 2, 0.7, 0.25, 2000.0)


def test_a_worker_that_is_first_needed_under_load_is_no_restart() -> None:
    gateway = Process("gateway", 1, 500_000_000, 1.0)
    before = of_state(embedded_state(processes=(gateway,)))
    after = of_state(embedded_state(processes=(gateway, Process("engine", 2, 500_000_000, 1.0))))
    assert summarize_readings([before, after]).restarts == 0


def test_peaks_means_and_counts_are_made_of_a_window() -> None:
    readings = [
        ServerSide(kv_share=0.2, running=2, waiting=0, preemptions=10, restarts=0, memory_mb=100),
        ServerSide(kv_share=0.8, running=4, waiting=None, preemptions=15, restarts=0, memory_mb=300),
        ServerSide(kv_share=0.1, running=6, waiting=3, preemptions=2, restarts=1, memory_mb=200),
    ]
    assert summarize_readings(readings) == ServerSide(0.8, 4.0, 1.5, 7, 1, None, None, 300)
    assert summarize_readings([ServerSide()]) == ServerSide()


def test_runs_of_a_level_are_put_together() -> None:
    one, other = ServerSide(0.2, 2.0, None, 3, 0, memory_mb=5), ServerSide(0.6, 4.0, None, 4, 1, memory_mb=4)
    assert merge_windows([one, other]) == ServerSide(0.6, 3.0, None, 7, 1, memory_mb=5)
    assert merge_windows([]) is None


def test_first_source_that_knows_a_figure_is_believed() -> None:
    assert merge_sources([ServerSide(kv_share=0.2), ServerSide(kv_share=0.9, gpu_share=0.5)]) == ServerSide(
        kv_share=0.2, gpu_share=0.5
    )


def test_metrics_of_a_vllm_are_read() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/metrics"
        return httpx.Response(200, text=METRICS.read_text(encoding="utf-8"))

    with httpx.Client(base_url="http://vllm", transport=httpx.MockTransport(answer)) as client:
        said = read_vllm(client)
    assert said is not None
    assert said.running is not None
    assert said.preemptions is not None


@pytest.mark.parametrize(
    "answer", [httpx.Response(404), httpx.Response(200, text="up 1"), httpx.ConnectError("refused")], ids=str
)
def test_a_service_without_metrics_says_nothing(answer: httpx.Response | httpx.ConnectError) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, httpx.ConnectError):
            raise answer
        return answer

    with httpx.Client(base_url="http://vllm", transport=httpx.MockTransport(respond)) as client:
        assert read_vllm(client) is None
    with InkgateClient("http://vllm", transport=httpx.MockTransport(respond)) as gateway:
        assert read_state(gateway) is None


def test_gpus_are_read_while_they_are_there() -> None:
    reading = Gpu(0, memory_used=30, memory_total=40, utilisation=0.9)
    gpus = RecordedGpu((reading,), GpuUnavailable("gone"))
    assert read_gpus(gpus) == ServerSide(gpu_share=0.9, gpu_memory_share=0.75)
    assert read_gpus(gpus) is None


def test_nobody_there_leaves_no_source() -> None:
    with reading_sources("http://127.0.0.2:9") as found:  # not "localhost", whose GPUs would be read
        assert found == ()


def test_window_begins_with_what_was_said_last_and_bridges_gaps() -> None:
    async def main() -> tuple[ServerSide | None, ServerSide | None]:
        scraper = Scraper([iter([ServerSide(preemptions=5), None, ServerSide(preemptions=9), None]).__next__])
        await scraper.take()
        await scraper.take()
        whole = scraper.end()
        scraper.begin()
        await scraper.take()
        await scraper.take()
        assert scraper.last is None
        return whole, scraper.end()

    whole, window = anyio.run(main)
    assert whole == ServerSide(preemptions=0)
    assert window == ServerSide(preemptions=4)


def test_nothing_said_is_no_server_side() -> None:
    async def main() -> ServerSide | None:
        scraper = Scraper([lambda: None])
        await scraper.take()
        return scraper.end()

    assert anyio.run(main) is None
    anyio.run(Scraper(()).run)
