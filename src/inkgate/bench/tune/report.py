"""The report of a search: an assessment of all settings, the recommended ones, and the fragment to paste."""

from __future__ import annotations

import json
from collections.abc import Sequence

from inkgate.bench.tune import words
from inkgate.bench.tune.history import TrialHistory
from inkgate.bench.tune.journal import JournalRow
from inkgate.bench.tune.parameters import companions
from inkgate.bench.tune.plan import demand
from inkgate.bench.tune.results import Settings, TuneReport, Value
from inkgate.bench.tune.task import Task


def report(task: Task, rows: Sequence[JournalRow], *, partial: bool = False) -> TuneReport:
    """What the trials in `rows` show; `partial`: the search was interrupted."""
    history = TrialHistory(task, [row.trial for row in rows])
    chosen = history.choice()
    return TuneReport(
        began=task.began,
        engine=task.engine,
        targets=task.targets,
        parameters=task.parameters,
        demand=demand(task, history),
        trials=tuple(row.trial for row in rows),
        assessments=tuple(history.assessment(key) for key in sorted(history.tried)),
        current=history.assessment(history.current) if history.trials(history.current) else None,
        chosen=None if chosen is None else history.assessment(chosen),
        fragment="" if chosen is None else _fragment(task, history.space.settings(chosen)),
        reasons=words.none_allowed(history) if chosen is None else words.reasons(history, chosen),
        loses=words.loss_of_current(history, chosen),
        machine=task.machine,
        partial=partial,
        notes=words.about_noise(history),
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


def _fragment(task: Task, settings: Settings) -> str:
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
