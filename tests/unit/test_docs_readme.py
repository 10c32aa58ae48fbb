"""The README begins with the two commands, and no link in the documentation leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("benchmarks/*.md")]
)
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_every_make_target_named_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)", README)) - targets == set()


def test_every_page_that_code_and_messages_name_exists() -> None:
    dead = []
    for folder in ("src", "scripts", "deploy", "benchmarks", "tests", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in {".py", ".yml", ".yaml", ".toml", ".json", ".sh"} or "guide" in path.parts:
                continue
            named = set(re.findall(r"(?<![\w/])docs/[\w/-]+\.md", path.read_text(encoding="utf-8")))
            dead += [(path.relative_to(ROOT), name) for name in named if not (ROOT / name).exists()]
    assert dead == []
