"""What is behind the gateway fails under load: the model server, and its /metrics.

Each request gets one whole answer: the right text, or an error that says when to come again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.faulted import BORNE, faulted, logged
from support.load import open_loop, under_load
from support.numbered_model import ModelProcess, model_process

pytestmark = pytest.mark.timing

RATE = 30.0
FOR_S = 5.0
WELL = 0.9
"""Share of the answers that have to be right where the fault costs nobody an answer by itself."""


@pytest.fixture
def model() -> Iterator[ModelProcess]:
    with model_process() as running:
        yield running


def test_a_model_server_that_is_killed_and_comes_back(model: ModelProcess) -> None:
    with faulted(model.url) as server:
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=2), [(1.5, model.kill), (3.0, model.start)])
        assert outcomes["right"] > 0.3 * outcomes.total(), outcomes
        assert logged(server, "model_server_out")
        assert logged(server, "model_server_back")


def test_a_model_server_that_stays_away_longer_than_is_waited(model: ModelProcess) -> None:
    with faulted(model.url, INKGATE_ENGINE__VLLM__RECOVER_S="0.5") as server:
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=3), [(1.0, model.kill)])
        assert outcomes["upstream_unreachable"], outcomes
        model.start()


def test_a_model_server_that_stands_still_for_a_while(model: ModelProcess) -> None:
    with faulted(model.url) as server:
        faults = [(1.5, model.freeze), (2.2, model.thaw)]
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=4), faults, at_once=BORNE)
        assert outcomes["right"] >= WELL * outcomes.total(), outcomes
        assert not logged(server, "model_server_out")


def test_a_model_server_that_stands_still_for_good(model: ModelProcess) -> None:
    short = {"INKGATE_ENGINE__VLLM__STALLED_S": "1", "INKGATE_ENGINE__VLLM__RECOVER_S": "1"}
    with faulted(model.url, **short) as server:
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=5), [(1.5, model.freeze)])
        assert outcomes["right"], outcomes
        assert outcomes.total() > outcomes["right"]
        (out,) = logged(server, "model_server_out")
        assert out["why"] == "upstream_stalled"
        model.thaw()


def test_a_model_server_that_turns_slow(model: ModelProcess) -> None:
    with faulted(model.url) as server:
        slow, fast = (lambda: model.tell(pause_s="0.4")), (lambda: model.tell(pause_s="0.01"))
        outcomes = under_load(server.url, open_loop(RATE, FOR_S, seed=6), [(1.0, slow), (3.5, fast)])
        assert outcomes["right"] > 0.3 * outcomes.total(), outcomes
        assert set(outcomes) <= {"right", "service_full", "share_exceeded"}, outcomes


@pytest.mark.parametrize("how", ["gone", "hang"])
def test_metrics_that_are_gone_or_hang_cost_nobody_an_answer(model: ModelProcess, how: str) -> None:
    with faulted(model.url) as server:
        outcomes = under_load(
            server.url,
            open_loop(RATE, FOR_S, seed=7),
            [(1.0, lambda: model.tell(metrics=how))],
            at_once=BORNE,
        )
        assert outcomes == {"right": outcomes.total()}
