"""Contenders on the command line, and how they are parsed."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkgate_bench.compare.contenders import Contender, ContenderInvalid, RunningService, parse
from inkgate_bench.load.service import Serve


def test_an_engine_is_started_with_the_settings_that_are_given() -> None:
    config = Path("mine.toml")
    assert parse(["ppocr"], config) == (Contender("ppocr", Serve({"engine.name": "ppocr"}, config)),)


def test_an_engine_at_an_address_is_the_gateway_before_that_model_server() -> None:
    (contender,) = parse(["paddleocr-vl@http://gpu:8000/v1"])
    assert contender.service == Serve({"engine.name": "paddleocr-vl", "engine.vllm.urls": '["http://gpu:8000/v1"]'})


def test_a_file_of_settings_is_a_contender_under_its_name(tmp_path: Path) -> None:
    file = tmp_path / "four-threads.toml"
    file.touch()
    assert parse([str(file)]) == (Contender("four-threads", Serve(config=file)),)


def test_an_address_is_measured_as_it_is() -> None:
    url = "http://gpu:8000/v1?a=b"
    assert parse([url, f"bare vLLM={url}"]) == (
        Contender(url, RunningService(url)),
        Contender("bare vLLM", RunningService(url)),
    )


@pytest.mark.parametrize(
    ("specs", "said"), [([], "at least one"), (["ppocr", "ppocr"], "twice"), (["gone.toml"], "gone"), ([""], "name")]
)
def test_what_stands_for_nothing_is_refused(specs: list[str], said: str) -> None:
    with pytest.raises(ContenderInvalid, match=said):
        parse(specs)
