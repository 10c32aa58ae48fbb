"""Bytes out of base64, data: URLs and uploaded files."""

import base64
import binascii
from contextlib import suppress

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from inkgate.api.http.decoding import decode_base64, decode_data_url
from inkgate.api.http.sources import SignedUrls
from inkgate.errors import InputRejected, Overloaded
from inkgate.storage.files import FILE_BYTES, RETENTION_S, MemoryFiles


@given(st.binary(max_size=200), st.integers(1, 80), st.booleans(), st.booleans())
@example(bytes(14), 2, False, False)
def test_base64_is_decoded_however_it_is_written(data: bytes, width: int, urlsafe: bool, padded: bool) -> None:
    text = (base64.urlsafe_b64encode if urlsafe else base64.b64encode)(data).decode()
    text = text if padded else text.rstrip("=")
    wrapped = "\r\n".join(text[start : start + width] for start in range(0, len(text), width))
    assert decode_base64(f" {wrapped}\n") == data
    for spaced in (wrapped.replace("\r\n", " \r\n"), wrapped.replace("\r\n", " "), f"{wrapped} ", f"{wrapped}    "):
        found = decoded(spaced)  # without padding, few spaces may be pluses: then it is refused
        assert found == data or (found is None and not padded and spaced.count(" ") < 4)


@given(st.binary(min_size=3, max_size=200).filter(lambda data: b"+" in base64.b64encode(data)[1:]), st.booleans())
def test_pluses_that_a_form_made_spaces_are_found_again(data: bytes, ended: bool) -> None:
    assume(base64.b64encode(data)[:1] != b"+")
    text = base64.b64encode(data).decode().replace("+", " ")
    assume(len(text.replace(" ", "")) % 4)
    found = decoded(text + "\n" * ended)
    assert found == data or (found is None and text.count(" ") < 4)


@pytest.mark.parametrize("text", ["a", "####", "aGk=aGk=", "äöü", "aGk*", "abcde", "%50%51"])
def test_what_is_no_base64_is_refused(text: str) -> None:
    with pytest.raises(InputRejected) as rejected:
        decode_base64(text)
    assert rejected.value.code == "base64_invalid"


@given(st.text(max_size=60))
def test_any_text_is_decoded_or_refused(text: str) -> None:
    with suppress(InputRejected):
        assert isinstance(decode_base64(text), bytes)


def slowly(text: str) -> bytes | None:
    """What `decode_base64` gives, by the standard library; None where it refuses."""
    try:
        compact = text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/"), b" \t\r\n\f\v").rstrip(b"=")
        return binascii.a2b_base64(compact + b"=" * (-len(compact) % 4), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        return None


def decoded(text: str) -> bytes | None:
    with suppress(InputRejected):
        return decode_base64(text)
    return None


@given(st.text(alphabet="AbZ09+/-_= \t\r\n\f\v\0*é", max_size=40))
def test_it_takes_and_refuses_what_the_standard_library_does(text: str) -> None:
    assume(" " not in text or any(sign in text for sign in "+-_"))  # else spaces may be pluses
    assert decoded(text) == slowly(text)


@given(st.binary(min_size=1000, max_size=3000), st.integers(0, 1299), st.characters(max_codepoint=300))
def test_one_wrong_character_is_found_wherever_it_is(data: bytes, place: int, wrong: str) -> None:
    text = base64.b64encode(data).decode()
    text = text[:place] + wrong + text[place + 1 :]
    assert decoded(text) == slowly(text)


def test_data_urls_carry_bytes() -> None:
    cases = [
        ("data:image/png;base64,aGk=", b"hi"),
        ("data:;base64,aGk", b"hi"),
        ("data:image/png;name=a.png;BASE64,aGk=", b"hi"),
        ("data:text/plain,a%20b", b"a b"),
        ("data:,", b""),
    ]
    assert [(url, found) for url, data in cases if (found := decode_data_url(url)) != data] == []


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.anyio
async def test_files_are_forgotten_when_their_time_is_over() -> None:
    clock = Clock()
    store = MemoryFiles(now=clock)
    urls = SignedUrls(store)
    kept = await store.add("a.png", b"x", "ocr", "me")
    url = await urls.sign(kept.id, "me", "http://here", valid_s=30)
    clock.now += 29
    assert await urls.file(url, "me") == kept
    clock.now += 2
    with pytest.raises(InputRejected, match="expired"):
        await urls.file(url, "me")
    assert await store.get(kept.id, "me") == kept
    clock.now += RETENTION_S - 31
    with pytest.raises(InputRejected, match="file_unknown"):
        await store.get(kept.id, "me")
    assert store.total_bytes == 0


@pytest.mark.anyio
async def test_files_fill_the_room_there_is_and_no_more() -> None:
    clock = Clock()
    store = MemoryFiles(max_total_bytes=10_000 + 4 * FILE_BYTES, now=clock)
    await store.add("a", b"x" * 4_000, "ocr", "me")
    clock.now += 20
    with pytest.raises(Overloaded) as refused:
        await store.add("b", b"x" * 12_000, "ocr", "other")
    assert (refused.value.code, refused.value.retry_after_s) == ("service_full", RETENTION_S - 20)
    clock.now += RETENTION_S
    assert (await store.add("b", b"x" * 12_000, "ocr", "other")).byte_count == 12_000


@pytest.mark.anyio
async def test_urls_that_were_not_signed_here_are_nobodys() -> None:
    cases = [
        "http://here/v1/files/x/content",
        "http://[::1/v1/files",
        f"http://here/v1/files/00000000-0000-4000-8000-000000000000/content?expires={'9' * 5000}&signature=0",
        "data:,",
        "",
        "http://here/v1/files/00000000-0000-4000-8000-000000000000/content?expires=9999999999&signature=é",
        "http://here/v1/files/00000000-0000-4000-8000-000000000000/content?expires=²&signature=0",
        "http://here/v1/files/00000000-0000-4000-8000-000000000000/content?expires=9999999999&signature=0",
    ]
    assert [url for url in cases if await SignedUrls(MemoryFiles()).file(url, "me") is not None] == []
