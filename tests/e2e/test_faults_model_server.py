"""The model server behind the gateway fails under load, or its /metrics does.

Each request gets one whole answer: the right text, or an error that says when to come again.
"""

from __future__ import annotations

import httpx
import pytest

from support.load import BUSY, RIGHT
from support.numbered_model import ModelProcess, striped, text_of
from support.scenario import OVERLOAD, ServiceUnderLoad
from support.server import Server
from support.waiting import AT_MOST_S, until

KEPT = 60_000
"""A page that the cache holds."""
NEVER_READ = 60_001
OUT = ("upstream_unreachable", "upstream_cut_off", "engine_breaker_open")
"""Codes of requests while the model server is out."""


def read(server: Server, number: int) -> httpx.Response:
    return httpx.post(f"{server.url}/ocr", files={"file": striped(number)}, timeout=AT_MOST_S, trust_env=False)


def test_a_killed_model_server_is_reported_and_found_again(service: ServiceUnderLoad, model: ModelProcess) -> None:
    with service.fault(*OUT) as window:
        assert read(service.server, KEPT).json()["text"].strip() == text_of(KEPT)
        model.kill()
        window.until_logged("model_server_out")
        window.until_metric("inkgate_replica_up", lambda up: up == 0)
        assert httpx.get(f"{service.server.url}/readyz", trust_env=False, timeout=AT_MOST_S).status_code == 503
        assert read(service.server, KEPT).json()["text"].strip() == text_of(KEPT)
        refused = read(service.server, NEVER_READ)
        assert (refused.status_code, refused.json()["code"]) == (502, "upstream_unreachable")
        assert int(refused.headers["retry-after"]) >= 1
        assert "engine.vllm.urls" in refused.json()["remedy"]
        window.until_answered("upstream_unreachable")
        model.start()
        window.until_logged("model_server_back")


def test_a_model_server_frozen_for_a_moment_stays_in_service(service: ServiceUnderLoad, model: ModelProcess) -> None:
    with service.fault() as window:
        model.freeze()
        window.until_metric("inkgate_replica_in_flight", lambda calls: calls >= 8)
        model.thaw()
    assert not window.logged("model_server_out")
    assert set(window.outcomes) == {RIGHT}


def test_a_model_server_that_stays_frozen_is_taken_out(service: ServiceUnderLoad, model: ModelProcess) -> None:
    with service.fault("upstream_stalled", *OUT) as window:
        model.freeze()
        window.until_logged("model_server_out")
        window.until_answered("upstream_stalled", "upstream_unreachable")
        window.until_metric("inkgate_replica_up", lambda up: up == 0)
        assert window.logged("model_server_out")[0]["why"] == "upstream_stalled"
        model.thaw()
        window.until_logged("model_server_back")


def test_a_slow_model_server_costs_refusals_and_no_errors(service: ServiceUnderLoad, model: ModelProcess) -> None:
    with service.fault(*BUSY, at_once=OVERLOAD) as window:
        model.behave(pause_s="0.4")
        before = window.metric("inkgate_refusals_total")
        window.until_answered(*BUSY, times=20)
        window.until_answered(RIGHT, times=10)
        assert window.metric("inkgate_refusals_total") >= before + 20
        model.behave()


@pytest.mark.parametrize("how", ["gone", "hang"])
def test_metrics_that_are_gone_or_hang_cost_no_answer(service: ServiceUnderLoad, model: ModelProcess, how: str) -> None:
    with service.fault() as window:
        model.behave(metrics=how)
        asked = model.metrics_requests
        until(lambda: model.metrics_requests > asked, "the gateway asks for metrics")
        window.until_answered(RIGHT, times=30)
        model.behave()
    assert set(window.outcomes) == {RIGHT}
