"""The model of a vLLM server against the figures of the field it is calibrated to, and how it fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable

import anyio
import pytest

from benchmarks.simulate import clock
from benchmarks.simulate.batch import Flags
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.server import QueueFull, Server, ServerGone
from benchmarks.simulate.workload import PageWork

PAGE = PageWork(1.0, 1016, 220)
UNDYING = dataclasses.replace(RTX_4090D, deaths_per_s=((0, 0.0), (1, 0.0)))


def _with_server(card: Card, flags: Flags, main: Callable[[Server], Awaitable[None]], seed: int = 1) -> Server:
    async def within() -> Server:
        server = Server(card, flags, seed)
        await main(server)
        return server

    return clock.run(within)


def _saturate(card: Card, max_num_seqs: int, seconds: float, seed: int = 1) -> Server:
    async def main(server: Server) -> None:
        async def client() -> None:
            while server.deaths == 0:
                try:
                    await server.generate(PAGE)
                except ServerGone:
                    return

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as clients:
                for _ in range(max_num_seqs + 8):
                    clients.start_soon(client)

    return _with_server(card, Flags(max_num_seqs=max_num_seqs), main, seed)


def test_throughput_by_batch_is_as_measured_on_a_4090d() -> None:
    served = {seats: _saturate(UNDYING, seats, 20).served / 20 for seats in (8, 16, 32, 64)}
    assert served[16] == pytest.approx(22, rel=0.05)
    assert served[32] / served[16] == pytest.approx(26 / 22, rel=0.05)
    assert served[64] / served[16] == pytest.approx(38 / 22, rel=0.05)
    assert served[8] < served[16]


def test_eight_at_once_keep_the_gpu_under_half_busy() -> None:
    assert _saturate(UNDYING, 8, 20).busy_s / 20 < 0.5 < _saturate(UNDYING, 16, 20).busy_s / 20


@pytest.mark.calibration
@pytest.mark.parametrize(("seats", "least", "most"), [(32, 0.15, 0.45), (64, 0.7, 0.95)])
def test_runs_die_as_often_as_they_do_on_a_4090d(seats: int, least: float, most: float) -> None:
    deaths = [_saturate(RTX_4090D, seats, 60, seed).deaths for seed in range(20)]
    assert least <= sum(deaths) / len(deaths) <= most


def test_a_4090d_dies_of_64_at_once_and_not_of_16() -> None:
    assert [_saturate(RTX_4090D, 16, 60, seed).deaths for seed in range(4)] == [0] * 4
    assert sum(_saturate(RTX_4090D, 64, 60, seed).deaths for seed in range(4)) >= 2


def test_time_between_tokens_rises_with_the_batch() -> None:
    def inter_token_s(seats: int) -> float:
        reading = _saturate(UNDYING, seats, 10).reading()
        assert reading is not None
        return reading.inter_token_s.sum / reading.inter_token_s.count

    assert inter_token_s(1) < inter_token_s(16) < inter_token_s(64)


def test_images_are_rendered_one_by_one_before_the_engine_sees_them() -> None:
    async def main(server: Server) -> None:
        async with anyio.create_task_group() as clients:
            for _ in range(20):
                clients.start_soon(server.generate, PAGE)
            await anyio.sleep(5.5 * 0.02)
            reading = server.reading()
            assert reading is not None
            assert (reading.running + reading.waiting, server.in_server) == (5, 20)

    assert _with_server(UNDYING, Flags(), main).served == 20


def test_who_leaves_frees_blocks_at_once() -> None:
    async def main(server: Server) -> None:
        with anyio.move_on_after(0.3):
            await server.generate(PAGE)
        assert server.batch.free == server.batch.blocks
        assert server.in_server == 0

    assert _with_server(UNDYING, Flags(), main).served == 0


def test_a_full_queue_refuses_after_rendering() -> None:
    refused: list[float] = []

    async def main(server: Server) -> None:
        async def client() -> None:
            try:
                await server.generate(PAGE)
            except QueueFull:
                refused.append(anyio.current_time())

        async with anyio.create_task_group() as clients:
            for _ in range(40):
                clients.start_soon(client)

    server = _with_server(UNDYING, Flags(max_num_seqs=4, max_num_queued_reqs=6), main)
    assert server.served + len(refused) == 40
    assert refused[0] > 10 * 0.02


def test_a_death_fails_all_and_it_comes_back() -> None:
    async def main(server: Server) -> None:
        async with anyio.create_task_group() as clients:
            clients.start_soon(_lost, server)
            clients.start_soon(_lost, server)
            await anyio.sleep(0.1)
            server.die()
        assert server.reading() is None
        await _lost(server)
        await anyio.sleep(UNDYING.restart_s)
        await server.generate(PAGE)

    server = _with_server(UNDYING, Flags(), main)
    assert (server.deaths, server.served) == (1, 1)


def test_frozen_it_takes_requests_and_makes_no_tokens() -> None:
    async def main(server: Server) -> None:
        server.freeze()
        async with anyio.create_task_group() as clients:
            clients.start_soon(server.generate, PAGE)
            await anyio.sleep(60)
            assert (server.in_server, server.batch.tokens) == (1, 0)
            server.thaw()

    assert _with_server(UNDYING, Flags(), main).served == 1


def test_slowed_down_everything_takes_as_many_times_as_long() -> None:
    def took_s(factor: float) -> float:
        ends: list[float] = []

        async def main(server: Server) -> None:
            server.slow_down(factor)
            await server.generate(PAGE)
            ends.append(anyio.current_time())

        _with_server(UNDYING, Flags(), main)
        return ends[0]

    assert took_s(3.0) == pytest.approx(3 * took_s(1.0))


async def _lost(server: Server) -> None:
    with pytest.raises(ServerGone):
        await server.generate(PAGE)
