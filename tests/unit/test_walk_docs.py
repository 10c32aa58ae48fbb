"""scripts/walk_docs.py fails for a line, a link or a picture that does not work, and says what it did not run."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PAGE = """# A page

```sh
echo fine   # with a comment
ls nowhere
inkgate key
make test
```

```python
print("fine")
```

```python
raise SystemExit(3)
```

[there](LICENSE), [not there](nowhere.md), [far away](https://example.com/),
![blank](blank.png) and ![drawn](drawn.png).
"""
INKGATE = """#!/bin/sh
test -e installed || { echo 'inkgate key needs more: `sh -m pip install it`.'; exit 2; }
"""


def test_what_does_not_work_fails_and_what_is_not_run_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    walk_docs = importlib.import_module("walk_docs")
    clone = tmp_path / "inkgate"
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "inkgate").write_text(INKGATE)
    (programs / "sh").write_text("#!/bin/sh\ntouch installed\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (clone / "page.md").write_text(PAGE)
    (clone / "LICENSE").touch()
    Image.new("L", (9, 9)).save(clone / "blank.png")
    Image.linear_gradient("L").save(clone / "drawn.png")
    walk = walk_docs.Walk(clone, tmp_path)
    walk_docs.walk_page(walk, "page.md")
    walk.close()
    names = [failure.partition(": ")[2] for failure in walk.failures]
    assert names == ["ls nowhere", "the program in Python", "nowhere.md", "blank.png"], capsys.readouterr().out
    assert walk.skipped == ["make test", "https://example.com/"]
    assert "not run page.md:7: make test: a step of .ci/run of its own" in capsys.readouterr().out
    assert (clone / "installed").exists()


GUIDE = """# A guide

```console
$ printf '%s' 'one
two'
one
$ echo \\
    three
```

```sh
word=four
test $word = four
```

- in a list

    ```python
    number = 5
    ```

```python
print(number)
```

```text
6
```
"""


def test_commands_have_all_their_lines_and_programs_continue_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    walk_docs = importlib.import_module("walk_docs")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "guide.md").write_text(GUIDE)
    walk = walk_docs.Walk(tmp_path, tmp_path, borrowed=True)
    walk_docs.walk_page(walk, "pages/guide.md")
    walk.close()
    assert (walk.count, walk.failures) == (5, ["pages/guide.md:23: the program in Python"])
    assert "it prints:\n5" in capsys.readouterr().out


def test_every_rule_is_for_a_command_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    assert importlib.import_module("walk_docs").needless_rules(ROOT) == []
