"""Requests as they are counted, from the API down to the page."""

from __future__ import annotations

import anyio
import pytest
from prometheus_client import CollectorRegistry

from inkgate.api.http.auth import hash_key
from inkgate.errors import Overloaded
from inkgate.telemetry.metrics import Metrics, ModelName
from support.api_client import RawCall, b64, png, running_api, tiff
from support.fake_engine import FakeEngine

pytestmark = pytest.mark.anyio


class EngineMetrics:
    """Metrics for a FakeEngine, and what Prometheus would see of them."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.metrics.reads_with("fake", {"fake": ModelName("1", "none")})
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self.metrics)

    def requests(self, method: str, endpoint: str, status: int) -> float | None:
        labels = {"method": method, "endpoint": endpoint, "status": str(status)}
        return self.registry.get_sample_value("http_requests_total", labels)

    def refusals(self, reason: str, tenant_class: str) -> float | None:
        labels = {"reason": reason, "tenant_class": tenant_class}
        return self.registry.get_sample_value("inkgate_refusals_total", labels)

    @property
    def endpoints(self) -> set[str]:
        families = {family.name: family for family in self.registry.collect()}
        return {sample.labels["endpoint"] for sample in families["http_requests"].samples}

    @property
    def series(self) -> int:
        return sum(len(family.samples) for family in self.registry.collect())


async def test_a_request_its_stages_and_its_pages_are_counted() -> None:
    counted = EngineMetrics()
    async with running_api(observer=counted.metrics) as api:
        await api.client.post("/ocr", files={"file": tiff(pages=3)})
    work = counted.metrics.work()
    assert work.requests == {"POST /ocr 200": 1}
    assert work.with_documents == {"200": 1}
    assert work.pages == {"ok": 3}
    assert work.stage_count == {"receive": 1, "open": 4, "assemble": 1}
    assert len(counted.metrics.take_durations()) == 1
    assert counted.registry.get_sample_value("inkgate_upload_bytes_count") == 1


async def test_pages_that_fail_are_counted_by_their_error() -> None:
    counted = EngineMetrics()
    engine = FakeEngine(failing={1: RuntimeError("bug"), 2: Overloaded("service_full", "", 1)})
    async with running_api(engine, observer=counted.metrics) as api:
        await api.client.post("/ocr", files={"file": tiff(pages=3)})
    assert counted.metrics.work().pages == {"ok": 1, "engine_failed": 1, "service_full": 1}


async def test_endpoints_are_named_by_their_route() -> None:
    counted = EngineMetrics()
    async with running_api(observer=counted.metrics) as api:
        await api.client.get("/v1/files/1234")
        await api.client.get("/livez")
        await api.client.get("/wp-login.php")
        await api.client.get("/ocr")
    assert counted.requests("GET", "/v1/files/{file_id}", 404) == 1
    assert counted.requests("GET", "/livez", 200) == 1
    assert counted.requests("GET", "other", 404) == 1
    assert counted.requests("GET", "/ocr", 405) == 1


async def test_endpoints_that_read_have_series_before_the_first_request() -> None:
    counted = EngineMetrics()
    async with running_api(observer=counted.metrics):
        assert {"/ocr", "/v1/ocr", "/layout-parsing", "/v1/chat/completions", "/v1/jobs"} <= counted.endpoints
        assert not {"/v1/files", "/v1/jobs/{job_id}/retry", "/ui/api/convert"} & counted.endpoints


async def test_a_client_that_left_is_counted_as_499() -> None:
    counted = EngineMetrics()
    async with running_api(observer=counted.metrics) as api:
        call = RawCall(api.app, {"content-type": "application/json"}, [], ends=False)
        call.left.set()
        await call.run()
    assert counted.requests("POST", "/ocr", 499) == 1


async def test_refusals_are_counted_by_reason_and_kind_of_tenant() -> None:
    counted = EngineMetrics()
    engine = FakeEngine(gate=anyio.Event())
    auth: dict[str, object] = {"key_hashes": (hash_key("secret"),)}
    async with running_api(engine, observer=counted.metrics, auth=auth, limits={"max_in_flight": 1}) as api:
        headers = {"x-api-key": "secret"}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: api.client.post("/ocr", json={"image": b64(png())}, headers=headers))
            await engine.reading.wait()
            assert (await api.client.post("/ocr", json={"image": "x"}, headers=headers)).status_code == 503
            api.context.drain.begin()
            assert (await api.client.post("/ocr", json={"image": "x"})).status_code == 503
            assert engine.gate is not None
            engine.gate.set()
    assert counted.refusals("service_full", "key") == 1
    assert counted.refusals("draining", "anonymous") == 1


async def test_odd_requests_make_no_series_of_their_own() -> None:
    counted = EngineMetrics()
    async with running_api(observer=counted.metrics, auth={"key_hashes": (hash_key("secret"),)}) as api:

        async def odd(number: int) -> None:
            headers = {"x-api-key": f"odd{number}", "x-request-id": f"odd{number}"}
            await api.client.request(f"ODD{number}", f"/odd{number}", headers=headers)
            await api.client.get(f"/v1/files/odd{number}", headers=headers)
            await api.client.get(f"/ocr/odd{number}?odd={number}", headers=headers | {"x-api-key": "secret"})

        for number in range(3):
            await odd(number)
        before, endpoints = counted.series, counted.endpoints
        for number in range(300):
            await odd(number)
        assert counted.series == before
        assert counted.endpoints == endpoints
