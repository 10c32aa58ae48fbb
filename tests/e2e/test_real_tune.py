"""`inkgate tune` with a real vLLM on the CPU: two values of max-num-seqs, each seen at vLLM; then interrupted."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from inkgate.bench.tune.results import Outcome, Purpose
from support.real_vllm import MODEL, PYTHON, SETTINGS, VARIABLES, rendered_lines, require_vllm
from support.tune import tuning

pytestmark = pytest.mark.real

START_S = 300.0
SEATS = "engine.vllm.managed.max_num_seqs"
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
    arguments = ("--pages", str(pages), "--dials", "max_num_seqs=1/8", "--deadline", "5s", "--minutes", "10")
    with tuning(tmp_path, *arguments, "--rate", "60", environment=SETTINGS, config=CONFIG) as search:
        search.until(lambda: search.said().count("in time/s") >= 2, START_S)
        search.until(lambda: any("vllm" in name for name in map(_command, search.below())), START_S)
        assert search.end(signal.SIGTERM) == 130
    report = search.report()
    assert report.partial
    first, second = report.trials[:2]
    assert [first.settings[SEATS], second.settings[SEATS]] == [1, 8]
    assert first.purpose is Purpose.CURRENT
    for trial in (first, second):
        assert trial.outcome is Outcome.MEASURED, trial.why
        assert trial.summary is not None
        assert trial.summary.answered > 0
        assert trial.server is not None
        assert trial.server.kv_share is not None
        assert (trial.server.memory_mb or 0) > 500
    assert first.server is not None
    assert second.server is not None
    assert 0 < (first.server.running or 0) <= 1 < (second.server.running or 0)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").lower()
    except OSError:
        return ""
