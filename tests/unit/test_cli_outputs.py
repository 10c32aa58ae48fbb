"""Where results go: no two onto one file, nothing half-written, nothing mixed up on standard output."""

from __future__ import annotations

import json
from pathlib import Path, PurePath

import pytest
import typer

from inkgate.cli.extract_outputs import WrittenFields
from inkgate.cli.inputs import InputDocument
from inkgate.cli.outputs import ExistingResults, to_folder, to_stdout
from inkgate_client.formats import Format
from inkgate_client.types import DocumentResult, PageResult

TEXT = (Format.TEXT,)
RESULT = DocumentResult("a.png", "image/png", 1, 1, "none", (PageResult(0, 10, 10, text="words"),))


def source(path: str, relative: str | None = None) -> InputDocument:
    return InputDocument(Path(path), PurePath(relative or Path(path).name))


def places(*sources: InputDocument) -> list[str]:
    return [str(place) for place in to_folder(Path("out"), TEXT, sources).places.values()]


def test_files_are_named_after_the_document_and_keep_sub_folders() -> None:
    assert places(source("x/a.png"), source("x/b/c.tar.pdf", "b/c.tar.pdf")) == ["out/a", "out/b/c.tar"]


def test_two_documents_that_differ_in_suffix_alone_keep_it() -> None:
    assert places(source("x/a.png"), source("x/a.pdf"), source("x/b.pdf")) == ["out/a.png", "out/a.pdf", "out/b"]


def test_results_of_another_document_keep_their_names() -> None:
    assert places(source("x/a.png"), source("x/a.fields.png"), source("x/a.Error.pdf")) == [
        "out/a",
        "out/a.fields.png",
        "out/a.Error.pdf",
    ]


def test_fields_of_two_documents_are_not_written_onto_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    apart = WrittenFields.into(Path("out"), [source("x/a.png"), source("x/a.pdf"), source("x/b.pdf")], overwrite=False)
    assert list(map(str, apart.files.values())) == ["out/a.png.json", "out/a.pdf.json", "out/b.json"]
    with pytest.raises(typer.Exit):
        WrittenFields.into(Path("out"), [source("x/a.png"), source("y/a.png")], overwrite=False)
    assert "would both be written to out/a" in capsys.readouterr().err


@pytest.mark.parametrize(
    "sources",
    [
        (source("x/a.png"), source("y/a.png")),
        (source("a.png"), source("a.pdf"), source("a.png.webp")),
    ],
)
def test_two_documents_onto_one_file_are_refused(
    sources: tuple[InputDocument, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as stopped:
        to_folder(Path("out"), TEXT, sources)
    assert stopped.value.exit_code == 2
    assert "would both be written to out/a" in capsys.readouterr().err


def test_a_file_in_place_of_the_folder_is_misuse(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("kept")
    with pytest.raises(typer.Exit):
        to_folder(tmp_path / "out", TEXT, [source("a.png")])
    assert (tmp_path / "out").read_text() == "kept"


@pytest.mark.parametrize(("existing", "text"), [(ExistingResults.REPLACE, "words\n"), (ExistingResults.KEEP, "old")])
def test_each_format_is_a_file_and_one_that_exists_is_replaced_or_kept_as_was_asked(
    tmp_path: Path, existing: ExistingResults, text: str
) -> None:
    (tmp_path / "a.txt").write_text("old")
    document = source("a.png")
    to_folder(tmp_path, (Format.TEXT, Format.ALTO), [document], existing).write(document, RESULT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.alto.xml", "a.txt"]
    assert (tmp_path / "a.txt").read_text() == text


def test_results_that_exist_are_refused_unless_something_else_was_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.txt").write_text("old")
    (tmp_path / "b.alto.xml").write_text("old")
    with pytest.raises(typer.Exit) as stopped:
        to_folder(tmp_path, (Format.TEXT, Format.ALTO), [source("a.png"), source("b.png")])
    assert stopped.value.exit_code == 2
    said = capsys.readouterr().err
    assert "b.txt and 1 more would be overwritten" in said
    assert "--overwrite" in said
    assert "--skip-existing" in said


def test_a_folder_of_images_that_exists_is_refused_if_images_were_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.images").mkdir()
    to_folder(tmp_path, (Format.MARKDOWN,), [source("a.png")])
    with pytest.raises(typer.Exit):
        to_folder(tmp_path, (Format.MARKDOWN,), [source("a.png")], images=True)
    assert "a.images would be overwritten" in capsys.readouterr().err


def test_standard_output_takes_what_can_be_told_apart_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        to_stdout((Format.TEXT, Format.JSON), 1)
    with pytest.raises(typer.Exit):
        to_stdout((Format.ALTO,), 2)
    assert "-o DIR" in capsys.readouterr().err
    assert to_stdout((Format.ALTO,), 1).several is False


def test_several_texts_are_printed_below_their_names(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    out = to_stdout(TEXT, 2)
    out.write(source("x/a é.png"), RESULT)
    out.write(source("b.png"), RESULT)
    printed = capsysbinary.readouterr().out.decode()
    assert printed == "==> x/a é.png <==\nwords\n==> b.png <==\nwords\n"


def test_several_json_documents_are_printed_one_a_line(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    out = to_stdout((Format.JSON,), 2)
    out.write(source("a.png"), RESULT)
    out.write(source("b.png"), RESULT)
    lines = capsysbinary.readouterr().out.splitlines()
    assert [json.loads(line)["pages"][0]["text"] for line in lines] == ["words", "words"]
