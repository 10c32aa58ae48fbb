"""Which files agents may name, and the documents that a server keeps for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inkgate.integrations.mcp.files import AllowedFiles, FileRefused
from inkgate.integrations.mcp.kept import KeptDocuments, search
from inkgate_client.types import DocumentResult, Line, PageResult


def lines(*texts: str) -> tuple[Line, ...]:
    return tuple(
        Line(text, ((0, 20.0 * row), (90, 20.0 * row), (90, 20.0 * row + 10), (0, 20.0 * row + 10)), 0.9)
        for row, text in enumerate(texts)
    )


def document(*pages: PageResult) -> DocumentResult:
    return DocumentResult("a.pdf", "application/pdf", 9, len(pages), "ppocr", pages)


def test_only_files_below_the_folders_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a b.png").write_bytes(b"12345")
    (outside / "secret.png").write_bytes(b"secret")
    (inside / "link.png").symlink_to(outside / "secret.png")
    os.mkfifo(inside / "pipe")
    files = AllowedFiles.below([inside], 5, anywhere=True)
    assert files.load(str(inside / "a b.png")).data == b"12345"
    assert files.load((inside / "a b.png").as_uri()).data == b"12345"
    assert files.load("data:image/png;base64,MTIzNDU=").data == b"12345"
    refused = {
        str(outside / "secret.png"): "outside",
        str(inside / "link.png"): "outside",
        str(inside / ".." / "out" / "secret.png"): "outside",
        str(inside / "missing.png"): "No such file",
        str(inside / "pipe"): "is not a file",
        str(inside): "directory",
        "a\0b": "not the name of a file",
        "https://example.org/a.png": "Download the document",
        "file://example.org/a.png": "Download the document",
        "data:image/png,abc": "must have the form",
        "data:image/png;base64,a b": "not base64",
        "data:image/png;base64," + "A" * 40: "larger than",
    }
    wrong = []
    for name, said in refused.items():
        try:
            files.load(name)
        except FileRefused as error:
            if said not in str(error):
                wrong.append((name, str(error)))
        else:
            wrong.append((name, "was read"))
    assert wrong == []


class LinkedMeanwhile(AllowedFiles):
    """Somebody puts a link in the place of a file between the check of its name and its opening."""

    def _path(self, document: str) -> Path:
        path = super()._path(document)
        path.unlink()
        path.symlink_to(path.parent.parent / "secret.png")
        return path


def test_a_link_put_in_a_files_place_meanwhile_is_not_followed_out_of_the_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(b"a")
    (tmp_path / "secret.png").write_bytes(b"secret")
    with pytest.raises(FileRefused, match="outside"):
        LinkedMeanwhile((tmp_path / "in",), 100).load(str(tmp_path / "in" / "a.png"))


def test_a_file_that_is_too_large_is_refused_and_without_folders_http_reads_none(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"123456")
    with pytest.raises(FileRefused, match="larger than"):
        AllowedFiles.below([], 5, anywhere=True).load(str(tmp_path / "a.png"))
    with pytest.raises(FileRefused, match="data: URL"):
        AllowedFiles.below([], 50, anywhere=False).load(str(tmp_path / "a.png"))


def test_search_finds_text_over_the_ends_of_lines_whatever_case_and_width() -> None:
    read = document(
        PageResult(0, lines=lines("Total am", "ount ＥＵＲ 5", "total amount")),
        PageResult(1, text="no lines\nTOTAL  Amount here"),
    )
    found = [(match.page, match.text, match.box is None) for match in search(read, "total Amount", 10)]
    assert found == [(1, "Total am", False), (1, "total amount", False), (2, "TOTAL  Amount here", True)]
    assert [match.text for match in search(read, "eur5", 10)] == ["ount ＥＵＲ 5"]
    assert len(search(read, "t", 2)) == 2
    assert search(read, " ", 2) == ()


def test_documents_used_longest_ago_are_dropped_first() -> None:
    kept = KeptDocuments(most_documents=2, most_lines=1_000)
    first, second = kept.add(document(PageResult(0))), kept.add(document(PageResult(0)))
    assert kept.get(first) is not None
    third = kept.add(document(PageResult(0)))
    assert (kept.get(first) is None, kept.get(second) is None, kept.get(third) is None) == (False, True, False)
    large = kept.add(document(PageResult(0, lines=lines(*["x"] * 1_000))))
    assert kept.get(large) is not None
    assert kept.get(first) is None
