"""Soft hyphens in words, by Liang's algorithm and the patterns of Debian's hyphen-* packages (F. M. Liang, 1983)."""

import functools
import re
from pathlib import Path

_FILES = {
    "en": "hyph_en_US", "de": "hyph_de_DE", "fr": "hyph_fr_FR", "es": "hyph_es_ES", "it": "hyph_it_IT",
    "pt": "hyph_pt_PT", "nl": "hyph_nl_NL", "pl": "hyph_pl_PL", "ru": "hyph_ru_RU",
}  # fmt: skip
SOFT_HYPHEN = "\u00ad"


@functools.cache
def _patterns(language: str) -> dict[str, tuple[int, ...]]:
    name = _FILES.get(language)
    path = Path("/usr/share/hyphen", f"{name}.dic")
    if not name or not path.is_file():
        return {}
    lines = path.read_bytes().split(b"\n")
    encoding = lines[0].decode("ascii", "ignore").strip() or "utf-8"
    found = {}
    for raw in lines[1:]:
        line = raw.decode(encoding, "ignore").strip()
        if not line or line.startswith(("%", "#")) or "/" in line or re.match(r"[A-Z]+ ?\d*", line):
            continue
        letters = re.sub(r"\d", "", line)
        values = [int(value or 0) for value in re.split(r"[^\d]", line)]
        found[letters] = tuple(values[: len(letters) + 1])
    return found


@functools.lru_cache(maxsize=50_000)
def soft(word: str, language: str) -> str:
    """`word` with soft hyphens where the language allows a break; unchanged where no patterns are installed."""
    patterns = _patterns(language)
    if not patterns or len(word) < 6 or not word.isalpha():
        return word
    padded = f".{word.lower()}."
    values = [0] * (len(padded) + 1)
    for start in range(len(padded)):
        for end in range(start + 1, min(len(padded), start + 12) + 1):
            pattern = patterns.get(padded[start:end])
            for offset, value in enumerate(pattern or ()):
                values[start + offset] = max(values[start + offset], value)
    breaks = {index for index in range(2, len(word) - 2) if values[index + 1] % 2}
    return "".join((SOFT_HYPHEN if index in breaks else "") + letter for index, letter in enumerate(word))


def hyphenated(text: str, language: str) -> str:
    """The text with soft hyphens in its words."""
    return re.sub(r"\w+", lambda match: soft(match.group(), language), text)
