"""The report of a search: an assessment of all settings, the recommended ones, the fragment to paste, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from inkgate_bench.statistics import MIN_REPEATS, Verdict
from inkgate_bench.tune.history import Z95, TrialHistory
from inkgate_bench.tune.parameters import companions
from inkgate_bench.tune.plan import demand
from inkgate_bench.tune.results import (
    Purpose,
    SearchTask,
    Settings,
    Trial,
    TrialOutcome,
    TuneReport,
    Value,
    value_text,
)
from inkgate_bench.tune.score import DISTURBED, SATURATED, answered_share, disturbance, outcome, unit, usual_other_load
from inkgate_bench.tune.space import Key

_WORTH_SAYING = 0.05
"""Share of the score from which a neighbour's loss is reported."""
_MAX_BETTER = 3
_CONDITIONS = (
    "The cache was off in all trials, because the same pages come again and again; so was degradation, because a trial "
    "always offers more than can be answered. Clients sent their deadline (X-Inkgate-Timeout), so that the service "
    "refuses at once what it can't answer in time."
)


def report(task: SearchTask, trials: Sequence[Trial], *, partial: bool = False) -> TuneReport:
    """What the trials show; `partial`: the search was interrupted."""
    history = TrialHistory(task, trials)
    chosen = history.choice()
    return TuneReport(
        began=task.began,
        engine=task.engine,
        targets=task.targets,
        parameters=task.parameters,
        demand=demand(task, history),
        trials=tuple(trials),
        assessments=tuple(history.assessment(key) for key in sorted(history.tried)),
        current=history.assessment(history.current) if history.trials(history.current) else None,
        chosen=None if chosen is None else history.assessment(chosen),
        fragment="" if chosen is None else _fragment(task, history.space.settings(chosen)),
        reasons=_none_allowed(history) if chosen is None else _reasons(history, chosen),
        loses=_loss_of_current(history, chosen),
        machine=task.machine,
        partial=partial,
        notes=(*_about_noise(history), *notes(trials, task.machine.cores)),
    )


def toml(settings: Settings, comments: Sequence[str] = ()) -> str:
    """`settings` as a piece of `inkgate.toml`, tables by name, after the comments; "" of no settings."""
    tables: dict[str, list[str]] = {}
    for path in sorted(settings):
        table, _, name = path.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {_scalar(settings[path])}")
    if not tables:
        return ""
    parts = ["\n".join(f"# {line}" for text in comments for line in text.splitlines())] if comments else []
    parts += ["\n".join([f"[{table}]", *lines]) for table, lines in sorted(tables.items())]
    return "\n\n".join(parts) + "\n"


def _fragment(task: SearchTask, settings: Settings) -> str:
    targets = task.targets
    origin = f"Found by `inkgate tune` on {task.began[:10]}, {task.machine.name} ({task.machine.processor})"
    aim = f"for answers within {targets.deadline_s:g} s, at most {100 * targets.max_error:g} % failed."
    return toml({**companions(settings), **settings}, (origin, aim))


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):  # TOML's basic strings are JSON's, except for one control character that JSON allows
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _reasons(history: TrialHistory, chosen: Key) -> tuple[str, ...]:
    """Why `chosen`, with numbers."""
    return (
        _score(history, chosen),
        *_certainty(history, chosen),
        *_better_but_out(history, chosen),
        *_neighbours(history, chosen),
        _under_heaviest(history, chosen),
        *_accuracy(history, chosen),
    )


def _none_allowed(history: TrialHistory) -> tuple[str, ...]:
    """Why nothing is recommended."""
    if not history.tried:
        return ("Nothing was tried: there was no time.",)
    failed = [f"{history.name(key)}: {_why_not(history, key)}." for key in sorted(history.tried)]
    return ("No settings that were tried met the targets.", *failed)


def _loss_of_current(history: TrialHistory, chosen: Key | None) -> str:
    """What the current settings lose against `chosen`; "" if they were not tried."""
    current = history.current
    if not history.trials(current):
        return ""
    name = f"The current settings ({history.name(current)})"
    if current == chosen:
        return f"{name} are the best that was found."
    why_not = history.assessment(current).why_not
    if chosen is None or not history.mean(current):
        return f"{name}: {_why_not(history, current)}."
    if why_not:
        return f"{name} answer {_more_or_less(history, current, chosen)}, but are not allowed: {why_not}."
    low, high = _loss_interval(history, current, chosen)
    runs = len(history.scores(current))
    if low > 0:
        return f"{name} answer {_more_or_less(history, current, chosen)} ({_runs(runs)}, 95 %: {_span(low, high)})."
    return f"{name} answer as much as noise can tell ({_runs(runs)}, 95 %: {_span(low, high)} less)."


def _about_noise(history: TrialHistory) -> tuple[str, ...]:
    """How much a trial is to be trusted."""
    lines = []
    repeated = sum(len(history.scores(key)) > 1 for key in history.tried)
    if repeated:
        spread = f"{100 * history.spread:.0f} %"
        lines.append(
            f"Runs of the same settings differ by {spread} (standard deviation, {repeated} repeated settings)."
        )
    if history.speeds:
        span = " to ".join(dict.fromkeys(f"{100 * speed:.0f} %" for speed in (history.speeds[0], history.speeds[-1])))
        lines.append(
            f"The speed of the machine changed: in some comparisons it was {span} of the first. Their scores are "
            "corrected by it."
        )
    return tuple(lines)


def _score(history: TrialHistory, chosen: Key) -> str:
    found = history.assessment(chosen)
    runs = _runs(len(history.scores(chosen)))
    return (
        f"{history.name(chosen)} gives {found.score:.3g} {unit(history.task.targets)} (95 %: {found.low:.3g} to "
        f"{found.high:.3g}, {runs})."
    )


def _certainty(history: TrialHistory, chosen: Key) -> list[str]:
    """How `chosen` compares with its rival, and what would tell them apart."""
    rival = history.rival(chosen)
    if rival is None:
        return []
    name = _difference(history, rival, chosen)
    found = history.compare(rival, chosen)
    if found is None:
        missing = f"{MIN_REPEATS} runs of each"
        return [f"Whether {name} is better is not known: that takes {missing}, so more --minutes."]
    ratio = (
        f"{_signed(found.ratio - 1)} (95 %: {_signed(found.low - 1)} to {_signed(found.high - 1)}, p = {found.p:.2g})"
    )
    against = f"It answers {ratio} against {name}"
    if found.verdict is Verdict.DIFFERENT:
        return [f"{against}."]
    asks_less = history.space.weight(chosen) < history.space.weight(rival)
    why = " It asks less of the machine." if asks_less else ""
    if found.verdict is Verdict.EQUAL:
        return [f"{against}: they are equally good.{why}"]
    return [f"{against}: they can't be told apart.{why} More --minutes with --resume would tell."]


def _better_but_out(history: TrialHistory, chosen: Key) -> list[str]:
    """Settings that answer more but are not allowed, and the least ones that died or did not start."""
    barred = [key for key in history.tried if key != chosen and history.barred(key)]
    better = sorted((key for key in barred if history.mean(key) > history.mean(chosen)), key=history.mean, reverse=True)
    lines = [
        f"{_difference(history, key, chosen)} answers {_more_or_less(history, key, chosen)}, but "
        f"{history.assessment(key).why_not}."
        for key in better[:_MAX_BETTER]
    ]
    unmeasured = sorted((key for key in barred if not history.mean(key)), key=history.space.weight)
    lines += [
        f"{_difference(history, key, chosen)} {history.out[key]}."
        for key in unmeasured[: _MAX_BETTER - len(lines)]
        if key in history.out
    ]
    return lines


def _neighbours(history: TrialHistory, chosen: Key) -> list[str]:
    """Returns for each parameter the nearest values on both sides that lose enough to be worth saying."""
    lines = []
    for number in range(len(history.space.parameters)):
        line = history.space.line(chosen, number)
        at = chosen[number]
        for side in (reversed(line[:at]), line[at + 1 :]):
            for key in side:
                if history.mean(key) and not history.barred(key) and _loss(history, key, chosen) >= _WORTH_SAYING:
                    low, high = _loss_interval(history, key, chosen)
                    if low > 0:
                        lost = _percent(_loss(history, key, chosen))
                        lines.append(f"{_difference(history, key, chosen)} loses {lost} (95 %: {_span(low, high)}).")
                        break
    return lines


def _under_heaviest(history: TrialHistory, chosen: Key) -> str:
    runs = [trial for trial in history.trials(chosen) if trial.purpose is Purpose.HEAVIEST]
    if not runs:
        why = "no time was left" if history.task.heaviest else "you asked to leave that out"
        return f"It was not tried under the heaviest images that pages and limits allow: {why}."
    stayed = [trial for trial in runs if outcome(trial) is TrialOutcome.MEASURED]
    count = "its only run" if len(runs) == 1 else f"{len(stayed)} of {len(runs)} runs"
    return f"Under the heaviest images that pages and limits allow it stayed up in {count}{_memory(stayed)}."


def _memory(trials: list[Trial]) -> str:
    servers = [trial.server for trial in trials if trial.server is not None]
    memory = max((server.memory_mb for server in servers if server.memory_mb is not None), default=None)
    share = max((server.gpu_memory_share for server in servers if server.gpu_memory_share is not None), default=None)
    used = [f"{memory:,.0f} MB of memory"] if memory is not None else []
    used += [f"{100 * share:.0f} % of the GPU's memory"] if share is not None else []
    return f", with up to {' and '.join(used)}" if used else ""


def _accuracy(history: TrialHistory, chosen: Key) -> list[str]:
    known = [trial.accuracy for trial in history.measured(chosen) if trial.accuracy is not None]
    return [f"It reads {100 * sum(known) / len(known):.1f} % of characters correctly."] if known else []


def _why_not(history: TrialHistory, key: Key) -> str:
    last = history.trials(key)[-1]
    assessment = history.assessment(key)
    if assessment.why_not != "was not measured" or not last.why:
        return assessment.why_not
    return f"{last.outcome.replace('_', ' ')}: {last.why}".rstrip(".")


def _loss(history: TrialHistory, key: Key, chosen: Key) -> float:
    """Share of the score of `chosen` that `key` loses; below 0 if it is better."""
    return 1 - history.mean(key) / history.mean(chosen)


def _loss_interval(history: TrialHistory, key: Key, chosen: Key) -> tuple[float, float]:
    """Returns the loss's 95 % interval, from the spread of all repeats together."""
    ratio = history.mean(key) / history.mean(chosen)
    reach = Z95 * math.hypot(history.error(key), history.error(chosen))
    return 1 - ratio * math.exp(reach), 1 - ratio * math.exp(-reach)


def _more_or_less(history: TrialHistory, key: Key, chosen: Key) -> str:
    loss = _loss(history, key, chosen)
    return f"{_percent(abs(loss))} {'less' if loss > 0 else 'more'}"


def _difference(history: TrialHistory, key: Key, chosen: Key) -> str:
    """What is different from `chosen`: the value alone if there is one parameter."""
    settings = history.space.settings(key)
    if len(settings) == 1:
        return ", ".join(value_text(value) for value in settings.values())
    rows = zip(settings.items(), key, chosen, strict=True)
    return ", ".join(f"{path.rpartition('.')[2]} = {value_text(value)}" for (path, value), a, b in rows if a != b)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.0f} %"


def _span(low: float, high: float) -> str:
    return f"{100 * low:.0f} to {100 * high:.0f} %"


def notes(trials: Sequence[Trial], cores: int) -> tuple[str, ...]:
    """The conditions of the trials, in sentences."""
    lines = [_CONDITIONS, *_unsaturated(trials), *_disturbed(trials, cores)]
    bottlenecks = [trial.why for trial in trials if trial.outcome is TrialOutcome.MEASURED and trial.why]
    if bottlenecks:
        lines.append(f"In {len(bottlenecks)} trials the load generator was the limit: {bottlenecks[-1]}")
    return tuple(lines)


def _unsaturated(trials: Sequence[Trial]) -> list[str]:
    most = max((trial.demand or 0.0 for trial in trials), default=0.0)
    unsaturated = [trial for trial in trials if answered_share(trial) > SATURATED]
    before = [trial for trial in unsaturated if (trial.demand or 0.0) < most]
    lines = []
    if before:
        lines.append(
            f"{len(before)} trials answered so much of the demand that it was raised, to {most:.3g} requests a second "
            "in the end. They count only if their settings have no other trial."
        )
    if len(unsaturated) > len(before):
        lines.append(
            f"{len(unsaturated) - len(before)} trials answered more than 65 % of the demand in time: those settings "
            "may be capable of more. Search again with a higher --rate."
        )
    return lines


def _disturbed(trials: Sequence[Trial], cores: int) -> list[str]:
    usual = usual_other_load(trials)
    disturbed = [trial for trial in trials if disturbance(trial, usual, cores) > DISTURBED]
    if not disturbed:
        return []
    most = max(trial.other_load_cores or 0.0 for trial in disturbed)
    line = (
        f"During {len(disturbed)} of {len(trials)} trials other programs used the machine, up to {most:.1f} of its "
        f"{cores} cores; in the quietest trial it was {usual:.1f}. They count only if their settings have no other "
        "trial. Search again with nothing else running."
    )
    return [line]
