"""The Helm chart, rendered by helm, and the schemas of what it renders."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import kubernetes_validate
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "inkgate"
KUBERNETES = "1.37"
MODES = ("embedded", "sidecar", "engine", "all")
CRDS = {
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
}
Manifest = dict[str, Any]


def require_helm() -> str:
    """Its path. Skips the test without helm, unless INKGATE_REQUIRE_ALL is set."""
    beside = ROOT / ".setup" / "helm" / "helm" / "helm"
    found = os.environ.get("HELM") or shutil.which("helm") or (str(beside) if beside.exists() else None)
    if found is not None:
        return found
    if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
        pytest.fail("no helm here: .ci/run has how to fetch it")
    pytest.skip("no helm here: .ci/run has how to fetch it")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([require_helm(), *arguments], capture_output=True, text=True, check=False, timeout=120)


def rendered(mode: str, *flags: str, chart: Path = CHART) -> list[Manifest]:
    """The objects of the chart with the values of `mode`."""
    values = str(CHART / "ci" / f"{mode}-values.yaml")
    done = helm("template", "ocr", str(chart), "--namespace", "reading", "-f", values, *flags)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each is not None]


def named(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    [found] = [each for each in manifests if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def problems(manifest: Manifest) -> list[str]:
    """What the object's schema says against it."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    name = f"{kind} {manifest['metadata']['name']}"
    if version in CRDS:
        schema = _crd_schema(version, kind)
        return [f"{name}: {error.message}" for error in jsonschema_rs.validator_for(schema).iter_errors(manifest)]
    if version.startswith("gateway.networking.k8s.io/"):
        return []  # no package has its schema
    try:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{name}: {error.message}"]
    return []


@cache
def _crd_schema(version: str, kind: str) -> Manifest:
    """From pydantic's model, which ignores names that it does not know; the schema refuses them."""
    model = getattr(importlib.import_module(CRDS[version]), kind)
    schema: Manifest = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    for each in (schema, *definitions.values()):
        if each.get("properties") and "ObjectMeta" not in each.get("title", ""):
            each.setdefault("additionalProperties", False)
    return schema
