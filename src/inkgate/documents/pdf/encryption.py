"""What a PDF's encryption asks for, read from its bytes, and the bytes that a password may stand for. Pure.

Neither pdfium nor qpdf tells an encryption that it does not know from a wrong password in every case, and both take a
password as bytes. ISO 32000-2, 7.6; SASLprep is RFC 4013.
"""

from __future__ import annotations

import re
import stringprep
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_Buffer = bytes | memoryview

_LONGEST_UTF8: Final = 127
"""Bytes of a password that revisions 5 and 6 use."""
_PDF_DOC: Final = {
    0x80: 0x2022, 0x81: 0x2020, 0x82: 0x2021, 0x83: 0x2026, 0x84: 0x2014, 0x85: 0x2013, 0x86: 0x0192, 0x87: 0x2044,
    0x88: 0x2039, 0x89: 0x203A, 0x8A: 0x2212, 0x8B: 0x2030, 0x8C: 0x201E, 0x8D: 0x201C, 0x8E: 0x201D, 0x8F: 0x2018,
    0x90: 0x2019, 0x91: 0x201A, 0x92: 0x2122, 0x93: 0xFB01, 0x94: 0xFB02, 0x95: 0x0141, 0x96: 0x0152, 0x97: 0x0160,
    0x98: 0x0178, 0x99: 0x017D, 0x9A: 0x0131, 0x9B: 0x0142, 0x9C: 0x0153, 0x9D: 0x0161, 0x9E: 0x017E, 0xA0: 0x20AC,
    0x18: 0x02D8, 0x19: 0x02C7, 0x1A: 0x02C6, 0x1B: 0x02D9, 0x1C: 0x02DD, 0x1D: 0x02DB, 0x1E: 0x02DA, 0x1F: 0x02DC,
}  # fmt: skip
"""Characters for which PDFDocEncoding differs from Latin-1 (ISO 32000-2, annex D)."""
_PDF_DOC_BYTES: Final = {chr(code): byte for byte, code in _PDF_DOC.items()}
_OLD_CODINGS: Final = ("cp1252", "cp1250", "cp1251", "mac_roman")
"""Codings of the systems on which programs have locked PDFs of revisions 2 to 4, against the standard."""

_ENCRYPT = re.compile(rb"/Encrypt(?=[\s<])\s*(?:(\d{1,9})\s+(\d{1,5})\s+R\b|(?=<<))")
_DICTIONARY_BYTES: Final = 8192
_DEPTH: Final = 6
_TOKEN = re.compile(
    rb"\s*(?:%[^\r\n]*[\r\n]\s*)*(<<|>>|[\[\]]|/[^\s()<>\[\]{}/%]*|\(|<[0-9A-Fa-f\s]*>|[^\s()<>\[\]{}/%]+)", re.DOTALL
)
_IN_STRING = re.compile(rb"\\.|[()]", re.DOTALL)


def password_forms(password: str) -> tuple[bytes, ...]:
    """The bytes that `password` may stand for, the likeliest first; one for a password of ASCII.

    Systems send an accented letter composed or decomposed, and a PDF was locked with either, with the form of SASLprep,
    or, before revision 5, with bytes of an old coding.
    """
    given = password.encode("utf-8", "surrogateescape" if _was_bytes(password) else "replace")
    if password.isascii():
        return (given,)
    text = password
    if _was_bytes(password):  # a command line in another coding than UTF-8
        text = given.decode("latin-1")
    composed = unicodedata.normalize("NFC", text)
    forms = [given]
    for form in (composed, _sasl_prep(text), unicodedata.normalize("NFD", text), unicodedata.normalize("NFKD", text)):
        encoded = form.encode("utf-8", "replace")
        forms += [encoded, encoded[:_LONGEST_UTF8]]
    forms += _old_forms(composed)
    return tuple(dict.fromkeys(forms))


def _was_bytes(password: str) -> bool:
    """Whether Python found bytes that are no UTF-8 in an argument."""
    return any("\udc80" <= character <= "\udcff" for character in password)


def _sasl_prep(text: str) -> str:
    mapped = (" " if stringprep.in_table_c12(each) else each for each in text if not stringprep.in_table_b1(each))
    return unicodedata.normalize("NFKC", "".join(mapped))


def _old_forms(text: str) -> Iterator[bytes]:
    """The forms before revision 5: PDFDocEncoding, and codings that programs used instead."""
    codes = [_PDF_DOC_BYTES.get(character, ord(character)) for character in text]
    if all(code < 0x100 for code in codes):
        yield bytes(codes)
    for coding in _OLD_CODINGS:
        try:
            yield text.encode(coding)
        except UnicodeEncodeError:
            continue


@dataclass(frozen=True, slots=True)
class Encryption:
    """What an encryption dictionary asks for. `known`: whether pdfium can decrypt it, by the right password."""

    revision: int
    known: bool


def encryption_of(data: _Buffer) -> Encryption | None:
    """The encryption of the file `data`; None if it has none, or none that can be found. Time linear in `data`."""
    last = last_match(_ENCRYPT, data)
    if last is None:
        return None
    found = _parsed(data, last.end()) if last[1] is None else _object(data, int(last[1]), int(last[2]))
    if not isinstance(found, dict):
        return None
    return Encryption(_integer(found.get("R")), _is_known(data, found))


def last_match(pattern: re.Pattern[bytes], data: _Buffer) -> re.Match[bytes] | None:
    """The last place of `pattern` in `data`, which its newest part has been appended to."""
    return next(iter(deque(pattern.finditer(data), maxlen=1)), None)


def _is_known(data: _Buffer, entries: dict[str, object]) -> bool:
    version, revision = _integer(entries.get("V")), _integer(entries.get("R"))
    if entries.get("Filter", "Standard") != "Standard" or not 1 <= version <= 5 or not 2 <= revision <= 6:
        return False
    if version < 4:
        return True
    streams, strings = entries.get("StmF", ""), entries.get("StrF", "")
    if streams != strings:
        return False  # pdfium has one key for both
    filters = _resolved(data, entries.get("CF"))
    if not isinstance(filters, dict):
        return False
    if streams == "Identity":
        return True
    used = _resolved(data, filters.get(str(streams)))
    return isinstance(used, dict) and used.get("CFM", "None") in {"V2", "AESV2", "AESV3"}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class _Reference:
    number: int
    generation: int


def _resolved(data: _Buffer, value: object) -> object:
    return _object(data, value.number, value.generation) if isinstance(value, _Reference) else value


def _object(data: _Buffer, number: int, generation: int) -> object:
    """The last object of this number in the file, without looking at the file's table."""
    last = last_match(re.compile(rb"(?<!\d)%d\s+%d\s+obj\b" % (number, generation)), data)
    return None if last is None else _parsed(data, last.end())


def _parsed(data: _Buffer, at: int) -> object:
    """The value at `at`; None if it is not whole within `_DICTIONARY_BYTES`."""
    tokens = _tokens(bytes(data[at : at + _DICTIONARY_BYTES]))
    try:
        return _value(next(tokens), tokens, 0)
    except (StopIteration, ValueError):
        return None


def _tokens(data: bytes) -> Iterator[bytes]:
    at = 0
    while (found := _TOKEN.match(data, at)) is not None:
        at = found.end()
        if found[1] == b"(":
            at = _string_end(data, at)
        yield found[1]


def _string_end(data: bytes, at: int) -> int:
    """Behind the string whose content begins at `at`."""
    depth = 1
    for part in _IN_STRING.finditer(data, at):
        depth += {b"(": 1, b")": -1}.get(part[0], 0)
        if not depth:
            return part.end()
    return len(data)


def _value(token: bytes, tokens: Iterator[bytes], depth: int) -> object:
    """The value that begins with `token`. Strings are None: their content is not of interest."""
    if depth > _DEPTH:
        raise ValueError("too deep")
    if token == b"<<":
        return _dictionary(tokens, depth)
    if token == b"[":
        while (token := next(tokens)) != b"]":
            _value(token, tokens, depth + 1)
        return None
    if token.startswith(b"/"):
        return _name(token)
    try:
        return int(token)
    except ValueError:
        return token == b"true" if token in {b"true", b"false"} else None


def _dictionary(tokens: Iterator[bytes], depth: int) -> dict[str, object]:
    """The entries until `>>`. Of two values behind a key, which are the numbers of a reference, makes one."""
    entries: dict[str, object] = {}
    key, values = "", list[object]()
    for token in tokens:
        if token == b">>":
            return entries
        if token.startswith(b"/") and (not key or values):
            key, values = _name(token), []
            continue
        if token == b"R" and len(values) == 2:
            entries[key] = _Reference(_integer(values[0]), _integer(values[1]))
            continue
        values.append(_value(token, tokens, depth + 1))
        entries[key] = values[0]
    raise ValueError("no end")


def _name(token: bytes) -> str:
    text = re.sub(rb"#([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), token[1:])
    return text.decode("latin-1")
