"""The texts of the page, one table per language."""

from __future__ import annotations

from collections.abc import Mapping

from inkgate.ui import words_en, words_zh

LANGUAGES: Mapping[str, str] = {"en": "English", "zh": "中文"}
"""Languages by code, with their own names."""
WORDS: Mapping[str, Mapping[str, str]] = {"en": words_en.WORDS, "zh": words_zh.WORDS}


def language_of(accepted: str) -> str:
    """The best supported language of an Accept-Language header; English by default.

    Weights as in RFC 9110, 12.5.4; of equal weights, the first wins.
    """
    best, weight = "en", 0.0
    for part in accepted.split(","):
        tag, _, quality = part.strip().partition(";")
        language = tag.strip().lower().split("-")[0]
        digits = quality.strip().removeprefix("q=") or "1"
        given = float(digits) if digits.replace(".", "", 1).isdecimal() else 0.0
        if language in LANGUAGES and given > weight:
            best, weight = language, given
    return best


def say(language: str, word: str, /, **values: object) -> str:
    """The text in the language, formatted with `values`."""
    return WORDS.get(language, words_en.WORDS)[word].format(**values)


def in_language(problem: Mapping[str, str], language: str) -> dict[str, str]:
    """The problem with title and remedy in the language; its detail stays in English."""
    told = dict(problem)
    if language == "zh" and (known := words_zh.PROBLEMS.get(problem.get("code", ""))):
        told["title"], told["remedy"] = known
    return told
