"""What the arguments of `inkgate read` stand for."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest
import typer

from inkgate.cli.inputs import InputDocument, Inputs, collect


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b/page10.png", "b/page2.PNG", "a/scan.pdf", "a/notes.txt", ".hidden/x.png", "b/.x.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _relative(inputs: Inputs) -> list[str]:
    return [str(source.relative) for source in inputs.sources]


def test_a_folder_gives_its_documents_in_natural_order_with_their_sub_folders(folder: Path) -> None:
    assert _relative(collect(["."])) == ["a/scan.pdf", "b/page2.PNG", "b/page10.png"]
    assert _relative(collect([str(folder / "b")])) == ["page2.PNG", "page10.png"]


def test_a_named_file_is_read_whatever_it_is_called(folder: Path) -> None:
    assert collect(["a/notes.txt"]) == Inputs((InputDocument(Path("a/notes.txt"), PurePath("notes.txt")),))


def test_other_files_of_folders_are_named_as_skipped_unless_they_are_given(folder: Path) -> None:
    assert collect(["."]).skipped == (Path("a/notes.txt"),)
    assert collect(["a", "."]).skipped == (Path("a/notes.txt"),)
    assert collect([".", "a/notes.txt"]).skipped == ()


def test_globs_that_the_shell_left_are_followed_from_their_fixed_part(folder: Path) -> None:
    assert _relative(collect(["b/*.png"])) == ["page10.png"]
    assert _relative(collect(["**/*.pdf"])) == ["a/scan.pdf"]
    assert _relative(collect([f"{folder}/*/scan.*"])) == ["a/scan.pdf"]
    assert _relative(collect(["[a]"])) == ["a/scan.pdf"]
    assert _relative(collect(["b/.*.png"])) == [".x.png"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(folder: Path) -> None:
    Path("scan[1].png").write_bytes(b"")
    assert _relative(collect(["scan[1].png"])) == ["scan[1].png"]


def test_a_document_named_twice_is_read_once(folder: Path) -> None:
    assert _relative(collect(["a/scan.pdf", "a", "./a/../a/scan.pdf", "-", "-"])) == ["scan.pdf", "stdin"]


@pytest.mark.parametrize("argument", ["nowhere.png", "*.gif", ".hidden/..hidden", "empty"])
def test_an_argument_that_names_nothing_is_misuse(
    folder: Path, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    with pytest.raises(typer.Exit) as stopped:
        collect(["a", argument])
    assert stopped.value.exit_code == 2
    assert argument in capsys.readouterr().err
