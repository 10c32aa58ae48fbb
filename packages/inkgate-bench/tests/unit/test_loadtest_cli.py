"""`inkgate loadtest`: its options and its errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from inkgate.cli.app import app
from inkgate_bench.commands.durations import duration, seconds_of, share
from inkgate_bench.commands.loadtest import LoadOptions, mix_of, plan_of, steps_of
from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.knee import Steps
from inkgate_bench.load.plan import Arrivals, CallerShare, Plan
from inkgate_bench.load.results import Axis
from support.api_client import png

NOTHING = LoadOptions(None, None, None, None, 1.0, "poisson", "", ())
CLIENTS = Plan(Axis.CONCURRENCY, 3, 10)
RATE = Plan(Axis.RATE, 2.5, 10)
RAMP = Plan(Axis.RATE, 1, 10, arrivals=Arrivals.RAMP, until_level=5)
COMMON = Plan(Axis.CONCURRENCY, 1.0, 60.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("5s", 5), ("2m", 120), ("1.5h", 5400), ("1m30s", 90), ("1 m 30 s", 90), ("7", 7), (".5", 0.5)],
)
def test_lengths_of_time_are_understood(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "m", "2x", "2m30", "-5s", "5 seconds", "1e3", "inf"])
def test_what_is_no_length_of_time_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds_of(text)
    with pytest.raises(typer.BadParameter):
        duration(text)


def test_shares_are_percentages_or_numbers() -> None:
    assert share("0.1%") == pytest.approx(0.001)
    assert share("0.05") == pytest.approx(0.05)
    for wrong in ("5", "101%", "much"):
        with pytest.raises(typer.BadParameter):
            share(wrong)


def test_options_are_loads(tmp_path: Path) -> None:
    traffic = tmp_path / "traffic.jsonl"
    traffic.write_text('{"at": 0}\n{"at": 4, "priority": "batch"}\n', encoding="utf-8")

    def asked(**more: object) -> Plan:
        fields: dict[str, object] = {name: getattr(NOTHING, name) for name in NOTHING.__slots__}
        return plan_of(LoadOptions(**{**fields, **more}), COMMON)  # type: ignore[arg-type]  # the fields are the test's own

    assert asked() == COMMON
    assert (asked(clients=20).axis, asked(clients=20).level) == (Axis.CONCURRENCY, 20.0)
    rate = asked(rate=50.0, arrivals="constant")
    assert (rate.axis, rate.level, rate.arrivals) == (Axis.RATE, 50.0, Arrivals.CONSTANT)
    ramp = asked(ramp="1:100")
    assert (ramp.arrivals, ramp.level, ramp.until_level) == (Arrivals.RAMP, 1.0, 100.0)
    replay = asked(replay=traffic, speed=2.0)
    assert (replay.arrivals, replay.replay[-1].at) == (Arrivals.REPLAY, 2.0)
    assert replay.mix == (CallerShare(), CallerShare("batch", None, 0.0))
    assert replay.level == pytest.approx(1.0, rel=0.01)
    for wrong in ({"clients": 1, "rate": 1.0}, {"ramp": "up"}, {"rate": 0.0}):
        with pytest.raises(LoadImpossible):
            asked(**wrong)


def test_priorities_and_keys_are_mixed() -> None:
    assert mix_of("", ()) == (CallerShare(),)
    assert mix_of("interactive=3, batch", ("a", "b")) == (
        CallerShare("interactive", "a", 3.0),
        CallerShare("batch", "a", 1.0),
        CallerShare("interactive", "b", 3.0),
        CallerShare("batch", "b", 1.0),
    )
    with pytest.raises(LoadImpossible, match="interactive=3"):
        mix_of("interactive=many", ())


def test_what_can_not_be_tested_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.png").write_bytes(png())
    runner = CliRunner()
    nothing = runner.invoke(app, ["loadtest", "http://127.0.0.1:1", "--pages", str(tmp_path / "empty")])
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (2, 1)
    assert "image or PDF" in nothing.stderr
    nobody = runner.invoke(app, ["loadtest", "http://127.0.0.1:1", "--pages", str(tmp_path)])
    assert (nobody.exit_code, nobody.stderr.count("\n")) == (3, 1)
    assert "Nothing listens at http://127.0.0.1:1" in nobody.stderr
    both = runner.invoke(app, ["loadtest", "http://127.0.0.1:1", "--pages", str(tmp_path), "-c", "2", "--rate", "5"])
    assert both.exit_code == 2
    assert "--clients and --rate" in both.stderr
    for option, place in (("--json", "empty"), ("--csv", "a.png"), ("--json", "a.png/x.json")):
        unwritable = runner.invoke(
            app, ["loadtest", "http://127.0.0.1:1", "--pages", str(tmp_path), option, str(tmp_path / place)]
        )
        assert (unwritable.exit_code, unwritable.stderr.count("\n")) == (2, 1)
        assert "Can't write" in unwritable.stderr


def test_without_steps_the_plan_is_as_it_was() -> None:
    assert steps_of(None, None, None, RATE) == (None, RATE)


def test_steps_of_clients_and_of_rates_set_the_axis() -> None:
    steps, plan = steps_of("1,2,4", None, 3, CLIENTS)
    assert steps == Steps((1, 2, 4), 3, first=3)
    assert (plan.axis, plan.level) == (Axis.CONCURRENCY, 1)
    steps, plan = steps_of(None, "0.5,2", 1, CLIENTS)
    assert steps == Steps((0.5, 2), 1, first=1)
    assert (plan.axis, plan.level) == (Axis.RATE, 0.5)


def test_auto_begins_with_the_load_that_is_given_along_the_same_axis() -> None:
    assert steps_of("auto", None, None, CLIENTS)[0] == Steps((), 3, first=3)
    assert steps_of(None, "auto", 1, RATE)[0] == Steps((), 1, first=2.5)
    assert steps_of(None, "auto", 1, CLIENTS)[0] == Steps((), 1, first=1)


@pytest.mark.parametrize(
    ("levels", "rates", "repeats", "plan"),
    [("1,2", "1,2", 1, CLIENTS), ("one", None, 1, CLIENTS), (None, None, 2, CLIENTS), ("auto", None, 1, RAMP)],
    ids=["both", "no number", "repeats alone", "ramp"],
)
def test_contradictions_are_refused(levels: str | None, rates: str | None, repeats: int, plan: Plan) -> None:
    with pytest.raises(LoadImpossible):
        steps_of(levels, rates, repeats, plan)
