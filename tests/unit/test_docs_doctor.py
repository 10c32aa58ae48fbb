"""docs/operations/doctor.md lists every rule as it is, and its example is what the doctor prints."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from inkgate.doctor.judge import RULES, code_of, judge
from inkgate.doctor.report import text
from support.states import embedded_state, history, pages_queue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "doctor.md").read_text(encoding="utf-8")


def test_every_rule_is_listed_in_order_with_its_meaning_and_when_it_is_found() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.+\.) \| (.+\.) \|$", PAGE, re.MULTILINE)
    assert [code for code, _, _ in rows] == ["cant-start", *(code_of(rule) for rule in RULES)]


def test_the_example_is_what_is_printed() -> None:
    state = embedded_state(
        history=history(waiting=20, mean_batch=1.4, cpu=5.0, documents=21), queues=(pages_queue(20, in_flight=2),)
    )
    state = replace(state, house=replace(state.house, documents=21))
    said = text(state, judge(state), "at http://127.0.0.1:7860")
    assert indent(said, "    ", lambda line: bool(line.strip())) in PAGE
