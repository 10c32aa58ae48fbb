"""The Helm chart: rendered by helm in each mode and validated. It was never applied to a cluster."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from inkgate.settings import load_settings
from support.kubernetes import CHART, MODES, ROOT, Manifest, helm, named, problems, rendered
from support.monitoring import program

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def manifests() -> dict[str, list[Manifest]]:
    return {mode: rendered(mode) for mode in MODES}


def test_lint_finds_nothing() -> None:
    for mode in MODES:
        done = helm("lint", "--strict", "-f", str(CHART / "ci" / f"{mode}-values.yaml"), str(CHART))
        assert done.returncode == 0, done.stdout


def test_every_object_fits_its_schema(manifests: dict[str, list[Manifest]]) -> None:
    assert [said for mode in MODES for each in manifests[mode] for said in problems(each)] == []
    kinds = {each["kind"] for each in manifests["all"]}
    assert kinds >= {
        "ConfigMap", "Deployment", "HorizontalPodAutoscaler", "HTTPRoute", "Ingress", "Job", "NetworkPolicy",
        "PodDisruptionBudget", "PrometheusRule", "ScaledObject", "Service", "ServiceAccount", "ServiceMonitor",
        "StatefulSet",
    }  # fmt: skip


def test_planted_mistakes_are_caught(tmp_path: Path) -> None:
    chart = tmp_path / "inkgate"
    shutil.copytree(CHART, chart)  # follows the links to deploy/monitoring
    mistakes = {
        "gateway.yaml": ("livenessProbe:", "livenesProbe:"),
        "engine.yaml": ("pollingInterval:", "poolingInterval:"),
        "monitoring.yaml": ("jobLabel:", "jobLable:"),
    }
    for name, (right, wrong) in mistakes.items():
        path = chart / "templates" / name
        text = path.read_text(encoding="utf-8")
        assert right in text
        path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
        assert any(wrong[:-1] in said for each in rendered("all", chart=chart) for said in problems(each)), wrong
        path.write_text(text, encoding="utf-8")


def test_values_that_cannot_work_are_refused() -> None:
    cases = {
        "mode=other": "mode",
        "engine.gpuMemoryUtilization=1.5": "gpuMemoryUtilization",
        "replcias=2": "replcias",
        "engine.cache.type=existingClaim": "existingClaim names the claim",
        "auth.existingSecret=": "Anyone could use the service",
    }
    for flag, reason in cases.items():
        done = helm("template", "x", str(CHART), "-f", str(CHART / "ci" / "engine-values.yaml"), "--set", flag)
        assert done.returncode != 0, flag
        assert reason in done.stderr, flag


def test_inkgate_accepts_the_settings_of_each_mode(manifests: dict[str, list[Manifest]], tmp_path: Path) -> None:
    found = {}
    for mode in MODES:
        config = named(manifests[mode], "ConfigMap", "ocr-inkgate")
        (tmp_path / "inkgate.toml").write_text(config["data"]["inkgate.toml"], encoding="utf-8")
        found[mode] = load_settings(tmp_path / "inkgate.toml")
        assert found[mode].server.host == found[mode].metrics.host == "0.0.0.0"  # noqa: S104 - in a pod
    assert found["embedded"].engine.name == "ppocr"
    assert found["embedded"].limits.max_body_mb == 100
    assert found["sidecar"].engine.vllm.urls == ("http://127.0.0.1:8000/v1",)
    assert found["engine"].engine.vllm.urls == ("dns+http://ocr-inkgate-engine.reading.svc:8000/v1",)
    assert found["all"].server.trusted_proxies == ("10.0.0.0/8",)


def test_jobs_are_off_until_pods_share_their_database(tmp_path: Path) -> None:
    def jobs(*flags: str) -> tuple[bool, bool]:
        config = named(rendered("embedded", *flags), "ConfigMap", "ocr-inkgate")
        (tmp_path / "inkgate.toml").write_text(config["data"]["inkgate.toml"], encoding="utf-8")
        found = load_settings(tmp_path / "inkgate.toml").jobs
        return found.enabled, found.work

    assert not jobs()[0]
    assert jobs("--set", "settings.jobs.enabled=true") == (True, True)
    assert jobs("--set", "settings.jobs.database=postgresql://host/inkgate") == (True, True)
    assert jobs("--set", "workers.enabled=true") == (True, False)


def test_vllm_has_a_user_name_as_its_user_has_no_entry(manifests: dict[str, list[Manifest]]) -> None:
    sidecar = named(manifests["sidecar"], "Deployment", "ocr-inkgate")["spec"]["template"]["spec"]["initContainers"]
    tier = named(manifests["engine"], "StatefulSet", "ocr-inkgate-engine")["spec"]["template"]["spec"]["containers"]
    for [engine] in (sidecar, tier):
        assert "USER" in {variable["name"] for variable in engine["env"]}


def test_a_pod_has_time_to_drain_and_stops_its_engine_last(manifests: dict[str, list[Manifest]]) -> None:
    for mode in MODES:
        pod = named(manifests[mode], "Deployment", "ocr-inkgate")["spec"]["template"]["spec"]
        [gateway] = pod["containers"]
        waits = gateway["lifecycle"]["preStop"]["sleep"]["seconds"]
        assert pod["terminationGracePeriodSeconds"] >= waits + 30 + 10
        assert gateway["securityContext"]["readOnlyRootFilesystem"]
    sidecar = named(manifests["sidecar"], "Deployment", "ocr-inkgate")["spec"]["template"]["spec"]
    [engine] = sidecar["initContainers"]
    assert engine["restartPolicy"] == "Always"
    assert engine["resources"]["limits"]["nvidia.com/mig-1g.20gb"] == 1
    tier = named(manifests["engine"], "StatefulSet", "ocr-inkgate-engine")["spec"]["template"]["spec"]
    assert tier["terminationGracePeriodSeconds"] >= 15 + 60
    assert tier["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert "--tensor-parallel-size=2" in tier["containers"][0]["args"]


def test_the_engine_scales_to_zero_by_load_and_back(manifests: dict[str, list[Manifest]]) -> None:
    scaled = named(manifests["engine"], "ScaledObject", "ocr-inkgate-engine")["spec"]
    assert scaled["minReplicaCount"] == 0
    load, any_work = scaled["triggers"]
    assert load["metadata"]["query"] == 'sum(inkgate_load_servers{namespace="reading"}) or vector(0)'
    assert load["metadata"]["threshold"] == "0.7"
    assert 'inkgate_refusals_total{namespace="reading"}[5m]' in any_work["metadata"]["query"]
    assert {load["metricType"], any_work["metricType"]} == {"AverageValue"}
    assert "replicas" not in named(manifests["engine"], "StatefulSet", "ocr-inkgate-engine")["spec"]
    workers = named(manifests["all"], "ScaledObject", "ocr-inkgate-worker")["spec"]
    assert "inkgate_jobs_backlog_pages" in workers["triggers"][0]["metadata"]["query"]


def test_the_queries_that_scale_count_what_they_should(manifests: dict[str, list[Manifest]], tmp_path: Path) -> None:
    of_engine = named(manifests["engine"], "ScaledObject", "ocr-inkgate-engine")["spec"]["triggers"]
    of_workers = named(manifests["all"], "ScaledObject", "ocr-inkgate-worker")["spec"]["triggers"]
    triggers = [*of_engine, *of_workers]  # not +=: other tests have these lists, too
    load, any_work, backlog = (trigger["metadata"]["query"] for trigger in triggers)

    def case(series: dict[str, str], **expected: float | None) -> dict[str, object]:
        queries = {"load": load, "any_work": any_work, "backlog": backlog}
        return {
            "interval": "15s",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": queries[name],
                    "eval_time": "6m",
                    "exp_samples": [] if value is None else [{"labels": "{}", "value": value}],
                }
                for name, value in expected.items()
            ],
        }

    own, other = 'namespace="reading"', 'namespace="other"'
    cases = [
        case({}, load=0, any_work=0, backlog=None),
        case(
            {
                f'inkgate_load_servers{{{own},pod="a"}}': "1.5x40",
                f'inkgate_load_servers{{{own},pod="b"}}': "0.75x40",
                f"inkgate_load_servers{{{other}}}": "9x40",
            },
            load=2.25,
        ),
        case(
            {f'inkgate_pages_total{{{own},outcome="ok"}}': "7x40", f"inkgate_pages_total{{{other}}}": "0+1x40"},
            any_work=0,
        ),
        case({f'inkgate_pages_total{{{own},outcome="ok"}}': "7x20 8x20"}, any_work=1),
        case({f'inkgate_pages_total{{{own},outcome="degraded"}}': "_x20 1x20"}, any_work=1),  # the first page ever
        case({f'inkgate_refusals_total{{{own},reason="starting"}}': "0+3x40"}, any_work=1),
        case(
            {
                f'inkgate_jobs_backlog_pages{{{own},pod="a"}}': "900x40",
                f'inkgate_jobs_backlog_pages{{{own},pod="b"}}': "905x40",
            },
            backlog=905,
        ),
    ]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "15s", "tests": cases}), encoding="utf-8")
    done = subprocess.run([program("promtool"), "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_and_dashboards_are_those_of_deploy_monitoring(manifests: dict[str, list[Manifest]]) -> None:
    rules = named(manifests["all"], "PrometheusRule", "ocr-inkgate")["spec"]["groups"]
    files = [
        yaml.safe_load((ROOT / "deploy/monitoring/rules" / f"{name}.yml").read_text())
        for name in ("alerts", "recording")
    ]
    assert rules == files[0]["groups"] + files[1]["groups"]
    for path in (ROOT / "deploy/monitoring/grafana/dashboards").glob("*.json"):
        shown = named(manifests["all"], "ConfigMap", f"ocr-inkgate-dashboard-{path.stem}")
        assert shown["data"][path.name] == path.read_text(encoding="utf-8")


def test_selectors_of_services_and_policies_match_their_pods(manifests: dict[str, list[Manifest]]) -> None:
    pods = [
        each["spec"]["template"]["metadata"]["labels"]
        for each in manifests["all"]
        if each["kind"] in {"Deployment", "StatefulSet"}
    ]
    for each in manifests["all"]:
        spec = each.get("spec", {})
        selector = spec.get("podSelector", {}).get("matchLabels") or spec.get("selector", {})
        selector = selector.get("matchLabels", selector)
        if each["kind"] in {"Service", "PodDisruptionBudget", "NetworkPolicy"}:
            assert any(selector.items() <= labels.items() for labels in pods), each["metadata"]["name"]


def engine_alive() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engine_alive", CHART / "files" / "engine_alive.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_engine_that_runs_requests_without_tokens_is_not_alive(tmp_path: Path) -> None:
    probe, state = engine_alive(), tmp_path / "state"
    metrics = (ROOT / "tests" / "data" / "vllm-0.32-metrics.txt").read_text(encoding="utf-8")
    running, tokens = probe.sums(metrics)
    assert tokens > 0
    assert probe.alive(running, tokens, 0, state)
    assert probe.alive(3, 10, 1000, state)
    assert probe.alive(3, 10, 1100, state)
    assert not probe.alive(3, 10, 1121, state)
    assert probe.alive(3, 11, 1150, state)
    assert probe.alive(0, 11, 5000, state)
    assert probe.alive(1, 11, 5100, state)
