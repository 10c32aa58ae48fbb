"""The conditions are complete and agree with the limits of the service; the example of the page is current."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from inkgate.doctor.conditions import BY_NAME, CONDITIONS, LIMITS
from inkgate.doctor.judge import RULES, judge
from inkgate.doctor.report import text
from inkgate.model_servers.evidence import TARGETS
from support.states import embedded_state, history, pages_queue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "doctor.md").read_text(encoding="utf-8")


def test_every_rule_is_a_condition_and_every_condition_is_found_by_a_rule_or_an_alert() -> None:
    assert set(RULES) | {"cant-start"} <= set(BY_NAME)
    assert {name for name, condition in BY_NAME.items() if not condition.alerts} <= set(RULES) | {"cant-start"}
    assert len(BY_NAME) == len(CONDITIONS)


def test_log_lines_that_are_named_are_logged() -> None:
    """In sentences such as "the log shows (`background_task_failed`)"."""
    texts = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src" / "inkgate" / "doctor").rglob("*.py")]
    named = {
        (path.name, event)
        for path in texts
        for event in re.findall(r"\blog[^.;|`]*`([a-z]+(?:_[a-z]+)+)`", path.read_text(encoding="utf-8"))
    }
    modules = [*(ROOT / "src").rglob("*.py"), *(ROOT / "packages").glob("*/src/**/*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules)
    assert len(named) >= 8
    # Those of worker processes are named after their pool, such as engine_worker_lost.
    logged = {event for _, event in named if f'"{event}"' in code or f'"{event.removeprefix("engine_")}"' in code}
    assert [each for each in sorted(named) if each[1] not in logged] == []


def test_thresholds_of_model_servers_are_the_targets_of_the_limit() -> None:
    assert (LIMITS.kv_usage, LIMITS.render_s) == (TARGETS.kv_usage, TARGETS.render_s)


def test_the_example_is_what_is_printed() -> None:
    state = embedded_state(
        history=history(waiting=20, mean_batch=1.4, cpu=5.0, documents=21), queues=(pages_queue(20, in_flight=2),)
    )
    layers = ("cache", "text layer", "scheduler", "progress", "degradation", "ppocr")
    state = replace(
        state,
        admission=replace(state.admission, documents=21),
        build=replace(state.build, pipeline=layers, inference_engine="onnxruntime cuda f32"),
    )
    said = text(state, judge(state), "at http://127.0.0.1:7860")
    assert indent(said, "    ", lambda line: bool(line.strip())) in PAGE
