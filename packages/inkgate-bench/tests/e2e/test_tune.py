"""`inkgate tune` with the real embedded engine, and short trials; ended at any moment."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import anyio
import pytest
from PIL import Image

from inkgate.model_servers.managed.guardian import descendants
from inkgate.settings import load_settings
from inkgate_bench.load.pages import load_pages
from inkgate_bench.tune.heaviest import UploadLimits
from inkgate_bench.tune.results import Purpose, Settings, Step, Trial, TrialOutcome
from inkgate_bench.tune.service_bench import BenchSetup, ServiceBench
from support.ppocr import drawn
from support.processes import all_ended
from support.server import inkgate, inkgate_here
from support.tune import running_tune

TEXTS = ("Invoice number 20417", "Total 1,284.50 EUR", "Due on the 21st")
SMALL = "[limits]\nmax_pixels = 600_000\nmax_in_flight = 4\n"
START_S = 90.0
RATE = ("--rate", "12", "--minutes", "5")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages of three lines, and the ground truth of one of them."""
    folder = tmp_path_factory.mktemp("pages")
    for number in range(2):
        Image.fromarray(drawn(TEXTS)).save(folder / f"{number}.png")
    (folder / "0.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    truth = [{"path": "0.png", "ground_truth": {"text": "0.txt"}}]
    (folder / "manifest.json").write_text(json.dumps(truth), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("number", "moment"), [(signal.SIGINT, "Finding the demand"), (signal.SIGTERM, "current: ")])
def test_a_search_that_is_interrupted_leaves_a_report_and_no_process(
    pages: Path, tmp_path: Path, number: int, moment: str
) -> None:
    given = () if moment == "Finding the demand" else RATE
    with running_tune(tmp_path, "--pages", str(pages), *given) as search:
        search.until(lambda: moment in search.said() and len(search.below()) >= 2, START_S)
        status = search.end(number)
    report = search.report()
    assert (status, report.partial, report.chosen) == (130, True, None), search.said()
    assert all(trial.outcome is TrialOutcome.STOPPED for trial in report.trials)
    assert "Traceback" not in search.said()


def test_nothing_is_left_of_a_search_that_is_killed(pages: Path, tmp_path: Path) -> None:
    with running_tune(tmp_path, "--pages", str(pages), *RATE) as search:
        search.until(lambda: "current: " in search.said() and len(search.below()) >= 2, START_S)
        below = search.below()
        search.process.kill()
        search.process.wait(START_S)
        assert all_ended(below), f"still there: {below}"


@pytest.mark.endurance
def test_a_search_that_was_interrupted_goes_on_to_a_recommendation(pages: Path, tmp_path: Path) -> None:
    common = ("--pages", str(pages), "--parameters", "concurrent_pages", "--deadline", "2s")
    with running_tune(tmp_path, *common, "--rate", "12", "--minutes", "2", config=SMALL) as search:
        search.until(lambda: "in time/s" in search.said(), START_S)
        assert search.end(signal.SIGINT) == 130
    assert search.report().trials[0].purpose is Purpose.CURRENT
    resumed = ("--pages", str(pages), "--resume", str(search.folder / "trials.jsonl"), "--minutes", "1.5")
    with running_tune(tmp_path, *resumed, config=SMALL) as search:
        status = search.process.wait(180)
    report = search.report()
    assert (status, report.partial) == (0, False), search.said()
    assert report.chosen is not None
    assert {trial.purpose for trial in report.trials} >= {Purpose.CURRENT, Purpose.HEAVIEST}
    assert report.trials[0].outcome is TrialOutcome.MEASURED
    assert (report.demand, report.targets.deadline_s) == (12, 2.0)
    found = load_settings(search.folder / "inkgate.toml").engine.ppocr.concurrent_pages
    assert found == report.chosen.settings["engine.ppocr.concurrent_pages"]


@pytest.mark.endurance
def test_what_faster_settings_misread_is_measured_in_each_trial(pages: Path, tmp_path: Path) -> None:
    arguments = ("--pages", str(pages), "--manifest", str(pages / "manifest.json"), "--parameters", "longest_side")
    with running_tune(tmp_path, *arguments, "--rate", "12", "--minutes", "1", "--no-heaviest") as search:
        search.process.wait(180)
    report = search.report()
    measured = [trial for trial in report.trials if trial.outcome is TrialOutcome.MEASURED]
    assert measured
    assert all((trial.accuracy or 0) > 0.9 for trial in measured), search.said()


def test_a_service_that_does_not_start_is_told_in_its_own_words(pages: Path, tmp_path: Path) -> None:
    config = tmp_path / "wrong.toml"
    config.write_text('[engine.layout]\nmodel = "nowhere.onnx"\n', encoding="utf-8")
    done = inkgate("tune", "--pages", str(pages), "--config", str(config), "-o", str(tmp_path / "found"))
    said = done.stderr.decode()
    assert done.returncode == 1
    assert "nowhere.onnx" in said


def test_what_can_not_be_tuned_is_misuse(pages: Path, tmp_path: Path) -> None:
    done = inkgate_here("tune", "--pages", str(pages), "--parameters", "max_num_seqs", "-o", str(tmp_path / "found"))
    assert done.returncode == 2
    assert "no parameter `max_num_seqs`" in done.stderr.decode()


@pytest.mark.endurance
def test_two_services_are_up_side_by_side_and_loaded_in_turn(pages: Path, tmp_path: Path) -> None:
    config = tmp_path / "inkgate.toml"
    config.write_text(SMALL, encoding="utf-8")
    setup = BenchSetup(load_pages(pages), UploadLimits(600_000, None, 10_000_000, 4), 2.0, config)
    one: Settings = {"engine.ppocr.concurrent_pages": 1}
    two: Settings = {"engine.ppocr.concurrent_pages": 2}
    step = Step((one, two, two, one), Purpose.CONFIRM, 2.0, 6.0, side_by_side=True)
    trials: list[Trial] = []
    up: list[int] = []

    def done(trial: Trial) -> None:
        trials.append(trial)
        up.append(sum("serve" in command_line(pid) for pid in descendants(os.getpid())))

    anyio.run(ServiceBench(setup).measure, step, done)
    assert [trial.settings for trial in trials] == list(step.turns)
    assert all(trial.outcome is TrialOutcome.MEASURED for trial in trials), [trial.why for trial in trials]
    assert all(trial.summary is not None and trial.summary.answered for trial in trials)
    assert all((trial.server.memory_mb or 0) > 100 for trial in trials if trial.server is not None)
    assert min(up) >= 2
    assert not descendants(os.getpid())


def command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
