"""multipart/form-data, however it is cut into chunks."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.api.http.uploads import MultipartReader, clean_name
from inkgate.errors import InputRejected

BODY = (
    b'--B\r\nContent-Disposition: form-data; name="file"; filename="C:\\\\dir\\\\\xc3\xbcber.png"\r\n'
    b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--not the end\r\n\r\n"
    b'\r\n--B\r\nContent-Disposition: form-data; name="pages"\r\n\r\n1-3\r\n--B--\r\n'
)


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_parts_are_the_same_however_the_body_is_cut(cuts: list[int]) -> None:
    reader = MultipartReader("multipart/form-data; boundary=B")
    edges = [0, *sorted(cuts), len(BODY)]
    for start, end in pairwise(edges):
        reader.feed(BODY[start:end])
    file, pages = reader.finish()
    assert (file.name, file.filename, file.content_type, file.text) == ("file", "über.png", "image/png", None)
    assert file.data == b"\x89PNG\r\n--not the end\r\n\r\n"
    assert (pages.name, pages.filename, pages.text) == ("pages", None, "1-3")


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    reader = MultipartReader("multipart/form-data; boundary=B")
    with suppress(InputRejected):
        reader.feed(b"--B\r\n" + data)
        assert all(part.name for part in reader.finish())


def test_names_lose_folders_and_control_characters() -> None:
    cases = [
        ("a.png", "a.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\scans\\a.pdf", "a.pdf"),
        ("a\r\nX: y", "aX: y"),
        ("x" * 500, "x" * 200),
        ("报告.pdf", "报告.pdf"),
        ("", ""),
    ]
    assert [(name, found) for name, clean in cases if (found := clean_name(name)) != clean] == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("filename*=UTF-8''r%C3%A9sum%C3%A9.png", "résumé.png"),
        ("filename=\"r?sum?.png\"; filename*=utf-8'fr'r%C3%A9sum%C3%A9.png", "résumé.png"),
        ("filename*=iso-8859-1''%A3.png; filename=x.png", "£.png"),
        ("filename=x.png; filename*=koi8-r''%C1.png", "x.png"),
        ("filename*=UTF-8''..%2Fa%0A.png", "a.png"),
    ],
)
def test_an_encoded_file_name_wins(names: str, expected: str) -> None:
    reader = MultipartReader("multipart/form-data; boundary=B")
    reader.feed(f'--B\r\nContent-Disposition: form-data; name="file"; {names}\r\n\r\nx\r\n--B--\r\n'.encode())
    assert [part.filename for part in reader.finish()] == [expected]
