"""The README begins with the two commands, its commands exist, and no link in the documentation leads nowhere."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from inkgate.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("benchmarks/*.md")]
)
README = (ROOT / "README.md").read_text(encoding="utf-8")

EXTENDING = ROOT / "examples" / "extending"


def test_the_readme_starts_with_the_two_commands() -> None:
    first_block = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert first_block is not None
    assert [line.split("#")[0].strip() for line in first_block.group(1).splitlines()] == ["make serve", "make test"]
    assert len(README[: first_block.start()].splitlines()) <= 8


def files_linked(page: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target and target[0] != "#"]
    return [target.split("#")[0] for target in targets]


def test_every_link_to_a_file_leads_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in files_linked(page)]
    dead = [(page.relative_to(ROOT), target) for page, target in links if not (page.parent / target).exists()]
    assert dead == []


def test_every_shipped_example_has_its_source_and_licence() -> None:
    notes = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    files = [path.name for path in (ROOT / "examples").iterdir() if path.name != "README.md"]
    assert [name for name in files if f"`{name}`" not in notes] == []


def test_the_guide_to_extending_shows_every_example() -> None:
    guide = (ROOT / "docs" / "guides" / "extending.md").read_text(encoding="utf-8")
    shown = re.findall(r'^--8<-- "(\S+)"$', guide, re.MULTILINE)  # a formatter of code once wrote it as an expression
    files = (each for each in EXTENDING.rglob("*.[pty]*") if each.parent.name != "__pycache__")
    assert sorted(shown) == sorted(each.relative_to(EXTENDING).as_posix() for each in files)


def test_every_make_target_named_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) - targets == set()


def test_every_page_that_code_and_messages_name_exists() -> None:
    dead = []
    for folder in ("src", "packages", "scripts", "deploy", "benchmarks", "tests", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in {".py", ".yml", ".yaml", ".toml", ".json", ".sh"} or "guide" in path.parts:
                continue
            named = set(re.findall(r"(?<![\w/])docs/[\w/-]+\.md", path.read_text(encoding="utf-8")))
            dead += [(path.relative_to(ROOT), name) for name in named if not (ROOT / name).exists()]
    assert dead == []


def unknown_in(words: list[str]) -> list[str]:
    """The words of a command line of inkgate that are no command or option of it."""
    command: object = get_command(app)
    rest = words[1:]
    while isinstance(command, TyperGroup) and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    if not isinstance(command, TyperCommand):
        return rest[:1]
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in rest if len(word) > 1 and word[0] == "-" and word.partition("=")[0] not in known]


def test_every_command_line_of_the_first_pages_has_only_commands_and_options_that_exist() -> None:
    wrong = []
    for name in (
        "README.md",
        "docs/start/install.md",
        "docs/start/first-document.md",
        "docs/start/questions.md",
        "docs/guides/recipes.md",
    ):
        blocks = re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
        for line in "\n".join(blocks).splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0].rpartition("/")[2] == "inkgate":
                wrong += [(name, line, word) for word in unknown_in(words)]
    assert wrong == []


def test_documentation_of_too_many_words_is_refused(tmp_path: Path) -> None:
    sizes = runpy.run_path(str(ROOT / "scripts" / "check_module_sizes.py"))
    (tmp_path / "page.md").write_text("one word\n" * (sizes["MAX_WORDS"] // 2), encoding="utf-8")
    assert sizes["too_many_words"](tmp_path) == []
    (tmp_path / "more.md").write_text("more", encoding="utf-8")
    assert sizes["too_many_words"](tmp_path) == [f"{tmp_path}: 60001 words, at most 60000: shorten what is there"]
