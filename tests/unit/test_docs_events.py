"""The examples of docs/guides/events.md and pipelines.md work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from inkgate.jobs.intake.forms import parse_event
from inkgate.settings import load_settings

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.parametrize("page", ["events.md", "pipelines.md"])
def test_the_settings_of_the_examples_load(page: str, tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", (GUIDES / page).read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        file = tmp_path / "inkgate.toml"
        file.write_text(example, encoding="utf-8")
        settings = load_settings(file)
        assert settings.pipelines
        if "[intake." in example:
            assert settings.intake["tills"].topic == "scans"


def test_the_event_of_the_example_is_understood() -> None:
    (body,) = re.findall(r"-d '\n(.*?)'\n", (GUIDES / "events.md").read_text(encoding="utf-8"), re.DOTALL)
    (found,) = parse_event(json.dumps(json.loads(body)).encode(), {}).objects
    assert found.url == "s3://scans/in/receipt.jpg"


@pytest.mark.parametrize(("name", "message"), [("http", "the name `http`"), ("Tills", "may have lower-case letters")])
def test_names_of_brokers_are_checked(name: str, message: str) -> None:
    broker = {"kind": "kafka", "address": "localhost:9092", "topic": "scans"}
    with pytest.raises(ValueError, match=message):
        load_settings(None, intake={name: broker})
