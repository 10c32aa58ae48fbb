"""Removes characters that a format can't represent from recognised text.

A PDF's text layer may contain anything: lone surrogates, which UTF-8 can't encode, and control characters, which XML
forbids and which would break a text file's page separators.
"""

from __future__ import annotations

import re

# Outside XML 1.0's `Char` production, or a discouraged control character; tab and line feed stay.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_LINE_BREAKS = re.compile("\r\n?")


def printable(text: str) -> str:
    """`text` without control characters, except tabs and line feeds; every line break is one line feed."""
    return _UNPRINTABLE.sub("", _LINE_BREAKS.sub("\n", text))


def one_line(text: str) -> str:
    """`text`, printable, with every run of white space as one space and none at the ends."""
    return " ".join(printable(text).split())
