"""What the doctor prints."""

from __future__ import annotations

import json
from dataclasses import replace

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.report import as_json, text
from support.states import embedded_state, history

STATE = replace(embedded_state(), history=history(cpu=7.2, p95_s=3.25))
FINDING = Finding(
    "kv-bound",
    Severity.WARNING,
    "The cache is full.",
    (
        Evidence("in use", 0.973, "share", "over 85 %"),
        Evidence("it holds", 1_520_000_000, "bytes"),
        Evidence("documents", 3, against="of 4"),
        Evidence("since", 5000, "s"),
    ),
    (
        Advice("Give it more.", "a.memory", 0.95, 0.9),
        Advice("Or wait."),
        Advice("Or:", "a.urls"),
        Advice("On.", "a.on", True, False),
    ),
)


def test_a_healthy_service_is_told_in_a_sentence_and_its_numbers() -> None:
    said = text(STATE, (), "at http://host").splitlines()
    assert said[0] == "inkgate 0.1.0 at http://host: ppocr (PP-OCRv6 small, openvino bf16)"
    assert said[-1] == "Nothing holds it back."
    numbers = " ".join(said[1:-2])
    assert "up for: 2 h 0 min" in numbers
    assert "cores in use: 7.2 of 8" in numbers
    assert "slowest of 20 requests: 3.25 s" in numbers
    assert "memory: 1.1 GB of 16.0 GB" in numbers


def test_a_finding_says_what_was_seen_and_what_to_set() -> None:
    said = text(STATE, (FINDING,), "at http://host")
    assert "1. WARNING: The cache is full." in said
    assert "Seen: in use: 97 % (over 85 %); it holds: 1.5 GB; documents: 3 of 4; since: 83 min" in said
    assert "Do:   Give it more. Set `a.memory = 0.95` (now 0.9)." in said
    assert "\n         Or wait.\n" in said
    assert "Or: Set `a.urls`." in said
    assert "On. Set `a.on = true` (now false)." in said
    assert "(kv-bound)" in said
    assert "Nothing holds it back" not in said
    assert max(len(line) for line in said.splitlines()) <= 100


def test_json_has_the_same_in_numbers() -> None:
    found = json.loads(json.dumps(as_json(STATE, (FINDING,), "at http://host")))
    assert found["healthy"] is False
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"]) == ("kv-bound", "warning")
    assert finding["evidence"][0] == {"what": "in use", "value": 0.973, "unit": "share", "against": "over 85 %"}
    assert finding["advice"][0] == {"text": "Give it more.", "setting": "a.memory", "value": 0.95, "now": 0.9}
    assert {"what": "up for", "value": 7200.0, "unit": "s", "against": ""} in found["numbers"]


def test_what_is_not_started_has_no_rates() -> None:
    said = text(STATE, (), "on this machine", running=False)
    assert said.splitlines()[1] == "cores: 8; memory: 16.0 GB; Python: 3.11"
    assert said.endswith("Nothing is wrong with the settings, nor is anything missing.")
    assert as_json(STATE, (), "on this machine", running=False)["at"] is None
