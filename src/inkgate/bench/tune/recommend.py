"""From all trials of a search to what is recommended, and why."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.bench.tune import words
from inkgate.bench.tune.dials import companions
from inkgate.bench.tune.fragment import toml
from inkgate.bench.tune.journal import Row
from inkgate.bench.tune.results import Settings, TuneReport
from inkgate.bench.tune.saturation import demand
from inkgate.bench.tune.standing import Standing
from inkgate.bench.tune.task import Task


def report(task: Task, rows: Sequence[Row], *, partial: bool = False) -> TuneReport:
    """What the trials in `rows` say; `partial`: there would have been more."""
    standing = Standing(task, rows)
    chosen = standing.choice()
    judged = tuple(standing.judged(key) for key in sorted(standing.tried))
    current = standing.judged(standing.current) if standing.trials(standing.current) else None
    return TuneReport(
        began=task.began,
        engine=task.engine,
        targets=task.targets,
        parameters=task.parameters,
        demand=demand(task, rows),
        trials=tuple(row.trial for row in rows),
        assessments=judged,
        current=current,
        chosen=standing.judged(chosen) if chosen is not None else None,
        fragment=_fragment(task, standing.space.settings(chosen)) if chosen is not None else "",
        reasons=words.reasons(standing, chosen) if chosen is not None else words.none_found(standing),
        loses=words.loses(standing, chosen),
        machine=task.machine,
        partial=partial,
        notes=tuple(words.summary_of(standing)),
    )


def _fragment(task: Task, settings: Settings) -> str:
    targets = task.targets
    said = f"Found by `inkgate tune` on {task.began[:10]}, {task.machine.name} ({task.machine.processor})"
    until = f"for answers within {targets.deadline_s:g} s, at most {100 * targets.max_error:g} % failed."
    return toml({**companions(settings), **settings}, (said, until))
