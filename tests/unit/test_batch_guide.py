"""The snippets of docs/guides/batch.md: they parse, and inkgate takes their arguments."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import typer
import yaml

from inkgate.cli.app import app

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "batch.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)


def parsed(arguments: list[str]) -> dict[str, Any]:
    """What the command makes of its arguments."""
    batch = typer.main.get_command(app).commands["batch"]  # type: ignore[attr-defined]
    return dict(batch.make_context("batch", arguments).params)


def test_shell_snippets_name_options_that_there_are() -> None:
    shells = [text for language, text in BLOCKS if language == "sh"]
    commands = []
    for text in shells:
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        commands += [
            shlex.split(line, comments=True) for line in text.splitlines() if line.startswith("inkgate batch ")
        ]
    found = [parsed([re.sub(r"^\$\w+", "3", word) for word in words[2:]]) for words in commands]
    assert len(found) >= 5
    assert {"3/16", "0/1"} <= {each["shard"] for each in found}
    assert {"local", "auto"} <= {each["ray"] for each in found}


def test_argo_and_kubernetes_run_each_part_once() -> None:
    argo, job = (yaml.safe_load(text) for language, text in BLOCKS if language == "yaml")
    every, part = argo["spec"]["templates"]
    count = every["steps"][0][0]["withSequence"]["count"]
    assert part["container"]["args"][-1] == "{{inputs.parameters.index}}/" + count
    container = job["spec"]["template"]["spec"]["containers"][0]
    assert container["args"][-1] == f"$(JOB_COMPLETION_INDEX)/{job['spec']['completions']}"
    for arguments in (part["container"]["args"], container["args"]):
        assert parsed([re.sub(r"^\S+/16$", "3/16", word) for word in arguments[1:]])["shard"] == "3/16"
