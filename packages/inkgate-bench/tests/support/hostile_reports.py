"""Reports with injection attempts in every text."""

from __future__ import annotations

from dataclasses import replace

from inkgate_bench.load.results import Knee, LoadReport, MachineInfo, OwnLimits
from inkgate_bench.tune.results import Assessment, Parameter, Settings, TuneReport
from support.sample_reports import load_report
from support.sample_tuning import tune_report

HOSTILE = (
    "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'</style></svg><![CDATA[ ]]> --> &lt;b&gt; "
    "javascript:alert(1) "
    "$x^{2$ \\frac \x00\x1b[31m \u202egnp.exe \ud800 \n\r\t {{7*7}} %s = 文字 \U0001f600"
)
_MACHINE = MachineInfo(HOSTILE, HOSTILE, 4, 8.0, (HOSTILE,), {HOSTILE: HOSTILE})


def hostile_load() -> LoadReport:
    """A load test with hostile texts everywhere."""
    report = load_report(levels=(1, 4, 8, 16, 24))
    knee = report.knee
    assert knee is not None
    points = tuple(
        replace(point, runs=tuple(replace(run, errors={HOSTILE: 3}) for run in point.runs)) for point in report.points
    )
    return replace(
        report,
        began=HOSTILE,
        target=HOSTILE,
        protocol=HOSTILE,
        points=points,
        own=OwnLimits(bottleneck=True, why=HOSTILE, late_p99_s=0.1, busy_share=1.0, unsent=1),
        machine=_MACHINE,
        knee=Knee(True, 16, 1.0, 0.1, 2.0, HOSTILE, HOSTILE),
        asked={HOSTILE: HOSTILE},
        notes=(HOSTILE,),
    )


def hostile_tuning() -> TuneReport:
    """A search with hostile names, values and reasons."""
    report = tune_report()

    def spoiled(settings: Settings) -> Settings:
        return {
            f"{path}.{HOSTILE}": value if "tokens" in path else f"{value}{HOSTILE}" for path, value in settings.items()
        }

    def judged(one: Assessment | None) -> Assessment | None:
        return None if one is None else replace(one, settings=spoiled(one.settings), why_not=HOSTILE)

    dials = tuple(
        Parameter(
            f"{dial.path}.{HOSTILE}", tuple(spoiled({dial.path: value}).popitem()[1] for value in dial.values), HOSTILE
        )
        for dial in report.parameters
    )
    return replace(
        report,
        began=HOSTILE,
        engine=HOSTILE,
        parameters=dials,
        trials=tuple(replace(trial, settings=spoiled(trial.settings), why=HOSTILE) for trial in report.trials),
        assessments=tuple(one for each in report.assessments if (one := judged(each)) is not None),
        current=judged(report.current),
        chosen=judged(report.chosen),
        fragment=HOSTILE,
        reasons=(HOSTILE,),
        loses=HOSTILE,
        machine=_MACHINE,
        notes=(HOSTILE,),
    )
