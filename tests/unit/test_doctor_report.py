"""What the doctor prints."""

from __future__ import annotations

import json
from dataclasses import replace

from inkgate.doctor.findings import Advice, Evidence, Finding, Severity
from inkgate.doctor.report import as_json, guide_of, text
from inkgate_client.telemetry.jobs_state import JobsState, StoredJobs
from support.states import embedded_state, history

STATE = replace(embedded_state(), history=history(cpu=7.2, p95_s=3.25))
FINDING = Finding(
    "kv-bound",
    Severity.WARNING,
    "The cache is full.",
    (
        Evidence("in use", 0.973, "share", "over 85%"),
        Evidence("it holds", 1_520_000_000, "bytes"),
        Evidence("documents", 3, against="of 4"),
        Evidence("since", 5000, "s"),
    ),
    (
        Advice("Give it more.", "a.memory", 0.95, 0.9),
        Advice("Or wait."),
        Advice("Or another.", "a.urls"),
        Advice("On.", "a.on", True, False),
    ),
    "operations/runbooks/#kv-bound",
)


def test_a_healthy_service_is_told_in_a_sentence_and_its_numbers() -> None:
    assert (
        text(STATE, (), "at http://host")
        == """\
inkgate 0.1.0 at http://host, up for 2 h 0 min
   engine  ppocr (PP-OCRv6 small, openvino bf16)
   work    1 pages and 1 requests a second in the last minute, 95% of them within 3.25 s
   queue   1 document in flight; 1 of 2 pages at the engine, 0 waiting
   machine 7.2 of 8 cores, 1.1 GB of 16.0 GB of memory

No problems found."""
    )


def test_cores_that_other_programs_use_are_told_apart() -> None:
    state = replace(STATE, history=history(cpu=2.0, cpu_all=0.95))
    assert "   machine 2.0 of 8 cores (other programs use 5.6), 1.1 GB" in text(state, (), "at http://host")


def test_a_finding_says_what_was_seen_and_what_to_set() -> None:
    said = text(STATE, (FINDING,), "at http://host", guide="http://host/docs/guide/")
    assert (
        said.partition("\n\n")[2]
        == """\
1. WARNING: The cache is full. (kv-bound)
   found   in use: 97% (over 85%)
           it holds: 1.5 GB
           documents: 3 of 4
           since: 83 min
   do      Give it more: set `a.memory = 0.95` (now 0.9).
           Or wait.
           Or another: set `a.urls`.
           On: set `a.on = true` (now false).
   more    http://host/docs/guide/operations/runbooks/#kv-bound"""
    )


def test_pages_of_the_documentation_are_named_by_their_address() -> None:
    advised = replace(FINDING, advice=(Advice("Install it (docs/guides/vllm.md)."),))
    assert "(docs/guides/vllm.md)" in text(STATE, (advised,), "on this machine", running=False)
    said = text(STATE, (advised,), "at http://host", guide="http://host/docs/guide/")
    assert "(http://host/docs/guide/guides/vllm/)" in said


def test_lines_are_no_longer_than_a_terminal_is_wide() -> None:
    wordy = replace(FINDING, title="A word " * 40, advice=(Advice("Do this. " * 40),))
    assert max(len(line) for line in text(STATE, (wordy,), "at http://host").splitlines()) <= 100


def test_json_has_the_same_in_numbers() -> None:
    found = json.loads(json.dumps(as_json(STATE, (FINDING,), "at http://host")))
    assert found["healthy"] is False
    (finding,) = found["findings"]
    assert (finding["code"], finding["severity"]) == ("kv-bound", "warning")
    assert finding["evidence"][0] == {"what": "in use", "value": 0.973, "unit": "share", "against": "over 85%"}
    assert finding["advice"][0] == {"text": "Give it more.", "setting": "a.memory", "value": 0.95, "now": 0.9}
    assert {"what": "uptime", "value": 7200.0, "unit": "s", "against": ""} in found["numbers"]


def test_jobs_are_told_of_as_far_as_they_are_known() -> None:
    stored = StoredJobs({"queued": 3, "running": 1, "succeeded": 90}, 1, 90.0, 6.0, 0, 2, 1, 0.5)
    state = replace(embedded_state(), jobs=JobsState("sqlite", up=True, stored=stored))
    told = "   jobs    3 queued, 1 running, 1 page to read in about 2 min; 2 deliveries waiting, 1 given up"
    assert told in text(state, (), "at http://a").splitlines()
    names = {number["what"]: number["value"] for number in as_json(state, (), "at http://a")["numbers"]}
    assert (names["pages of jobs to read"], names["backlog of jobs"]) == (1, 90.0)
    away = replace(state, jobs=JobsState("sqlite", up=False, running=4))
    assert "   jobs    4 running in this process; the database does not respond" in text(away, (), "at http://a")


def test_what_is_not_started_has_no_rates() -> None:
    said = text(STATE, (), "on this machine", running=False)
    assert said.splitlines()[2] == "   machine 8 cores, 16.0 GB of memory, no readable GPU"
    assert said.endswith("No problems found in the settings and on this machine.")
    assert as_json(STATE, (), "on this machine", running=False)["at"] is None


def test_runbooks_are_at_the_service_unless_a_setting_says_otherwise() -> None:
    assert guide_of(STATE, "http://host:7860/") == "http://host:7860/docs/guide/"
    elsewhere = embedded_state({"docs": {"url": "https://docs.example.com/"}})
    assert guide_of(elsewhere, "http://host:7860") == "https://docs.example.com/"
