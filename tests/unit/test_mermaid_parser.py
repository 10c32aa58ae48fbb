"""The check and the repairs of flowcharts against the real parser of Mermaid, which the web page has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from inkgate.diagrams import parts_of_answer, read_flowchart

PARSER = Path(__file__).parents[1] / "support" / "mermaid_parser.cjs"
CODE = files("inkgate.ui").joinpath("assets", "diagram", "mermaid.js.gz")
ACCEPTED = (
    "flowchart TD\nA[a<br/>b] --> B{是否 > 3?} -->|是| C",
    "graph TD;A-->B;B-->C;",
    (
        "flowchart TD\n  A([S]) --> B[[S]] --> C[(D)] --> D((c)) --> E>f] --> F{{h}}\n"
        "E --> G[/p/] --> H[\\p\\] --> I[/t\\] --> K(((d)))"
    ),
    (
        "graph\nA --- B\nA -.-> C\nA ==> D\nA --o E\nA --x F\nA <--> G\nA ~~~ H\n"
        "A ---> I\nA -- t --- J\nA -. t .-> K\nA == t ==> L"
    ),
    (
        'flowchart LR\nA e1@--> B\nC@{ shape: rect, label: "x" } --> B & D\n'
        "A:::big --> E\nclassDef big fill:#f9f\nstyle A fill:#f9f"
    ),
    (
        'flowchart TD\nsubgraph one ["T (1)"]\ndirection LR\nA --> B\nend\n'
        'subgraph "Two words"\nC\nend\nsubgraph 三\nD\nend\none --> C'
    ),
    'flowchart TD\n%% note\nA -->|"yes (a)"| B\nA --yes--> B\nA -- a-b --> C\nA -->\nB\nA-1 --> B.2 --> append --> End',
    'flowchart TD\nA["say #quot;x#quot; (y)"] --> B["`md **b**`"]\nclick A "https://example.org" "tip"\naccTitle: hi',
)
REFUSED = (
    "graph TD A-->B",
    "flowchart td\nA-->B",
    "A --> B",
    'graph TD\nA[x "q" y] --> B',
    "graph TD\nA[x(y)] --> B",
    "graph TD\nA[a|b] --> B",
    "graph TD\nA[/api/x] --> B",
    "graph TD\nA -->|yes (a)| B",
    'graph TD\nA -- yes "q" --> B',
    "graph TD\nA --> end",
    "graph TD\nA --> graph",
    "graph TD\nstyle --> B",
    "graph TD\nA[] --> B",
    'graph TD\nA[""] --> B',
    "graph TD\nA -->|| B",
    "graph TD\nA[x]] --> B",
    "graph TD\nA[a] B[b]",
    "graph TD\nStart here --> B",
    "graph TD\nA → B",
    "graph TD\nA -> B",
    "graph TD\nA --> B -->",
    "graph TD\nA --> B: text",
    "graph TD\nsubgraph x\nA --> B",
    "graph TD\nsubgraph one [T (x)]\nA\nend",
    "graph TD\nA[开始]；",
    "graph TD\nA（开始） --> B",
)
SLIPS = (
    'flowchart TD\nA[开始] --> B{是否(a)通过？}\nB -->|是（Y）| C[end]\nB -->|no "x"| end\nend --> D',
    "graph TD\nA（开始） --> B【处理】\nB --> C｛判断｝\nC -->｜是｜D\nD --> E[结束]；",
    'graph LR\nA([Start (now)]) --> B[[Sub "r"]] --> C[(DB (main))] --> D((c (x)))',
    "graph TD\nA[f(x) = [1, 2]] --> B{a || b} & C[c(d)]:::big",
    "graph TD\nend[结束]\nA --&gt; end\nstyle end fill:#f9f",
    'flowchart TD\nA["a "quoted" word"] -- f "x" --> B(call(a, b)) -->|f(x) > 1| C{x > 0 && f(x)}',
    "flowchart TD\nsubgraph s [All (1)]\nA -.->|retry (3)| B\nB --> C[unfin",
    "Start[Begin (here)] --> Check{ok?}\nCheck -- yes --> end",
)


def parsed(sources: list[str]) -> list[str | None]:
    """What Mermaid says of each: None if it is valid. Skips the test without node."""
    node = shutil.which("node")
    if node is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("no node here: apt-get install nodejs")
        pytest.skip("no node here: apt-get install nodejs")
    command = [node, str(PARSER), str(CODE)]
    said = subprocess.run(command, input=json.dumps(sources), capture_output=True, text=True, check=True, timeout=60)
    told: list[str | None] = json.loads(said.stdout)
    return told


def test_the_check_agrees_with_mermaid_and_repairs_make_what_mermaid_accepts() -> None:
    repaired = [
        part.diagram.mermaid
        for said in (*SLIPS, *REFUSED)
        for part in parts_of_answer(f"```mermaid\n{said}\n```")
        if part.diagram and part.diagram.repairs
    ]
    assert len(repaired) >= len(SLIPS) + 14
    sources = (*ACCEPTED, *REFUSED, *repaired)
    refused = [source for source, problem in zip(sources, parsed(list(sources)), strict=True) if problem is not None]
    assert refused == list(REFUSED)
    assert [source for source in ACCEPTED if read_flowchart(source).problem] == []
    assert [source for source in REFUSED if not read_flowchart(source).problem] == []
