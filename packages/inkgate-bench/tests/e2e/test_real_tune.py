"""`inkgate tune` with a real vLLM on the CPU: two values of max-num-seqs, read off its command line, then a signal."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from inkgate_bench.tune.results import TrialOutcome
from support.real_vllm import MODEL, PYTHON, SETTINGS, VARIABLES, rendered_lines, require_vllm
from support.tune import running_tune

pytestmark = pytest.mark.real

START_S = 300.0
FLAGS = [*("--num-gpu-blocks-override", "48"), "--no-enable-prefix-caching", *("--mm-processor-cache-gb", "0")]
CONFIG = f"""
[engine.vllm]
fallback = false

[engine.vllm.managed]
python = "{PYTHON}"
model = "{MODEL}"
max_num_seqs = 1
extra_flags = {json.dumps(FLAGS)}
environment = {{ OMP_NUM_THREADS = "1", {", ".join(f'{name} = "{value}"' for name, value in VARIABLES.items())} }}
"""


def test_each_value_is_what_vllm_runs_with_and_an_interrupted_search_leaves_no_vllm(tmp_path: Path) -> None:
    require_vllm()
    pages = tmp_path / "pages"
    pages.mkdir()
    for number, line in enumerate(rendered_lines(20)):
        (pages / f"{number}.png").write_bytes(line.png)
    arguments = ("--pages", str(pages), "--parameters", "max_num_seqs=1/8", "--deadline", "5s", "--minutes", "20")
    values: list[int] = []
    with running_tune(tmp_path, *arguments, "--rate", "60", environment=SETTINGS, config=CONFIG) as search:

        def both_ran() -> bool:
            values.extend(value for value in map(max_num_seqs, search.below()) if value and value not in values)
            return len(values) >= 2

        search.until(both_ran, 2 * START_S)
        assert search.end(signal.SIGTERM) == 130
    assert values == [1, 8]
    report = search.report()
    assert report.partial
    trial = report.trials[0]
    assert trial.settings["engine.vllm.managed.max_num_seqs"] == 1
    assert trial.outcome is TrialOutcome.MEASURED, trial.why
    assert trial.summary is not None
    assert trial.summary.answered > 0


def max_num_seqs(pid: int) -> int | None:
    """What the process was started with, if it is a vLLM."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return int(command[command.index("--max-num-seqs") + 1]) if "--max-num-seqs" in command else None
