"""Natural text in twelve languages, taken from documentation that Debian packages install.

The texts are read where they lie and never stored. Without the packages (debian-handbook, installation-guide-amd64,
debian-reference-*, debian-faq-*), sentences are made of a short list of words, so that tests run anywhere.
"""

import functools
import gettext
import html
import random
import re
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "zh", "ja", "fa", "ar")
NO_SPACES = frozenset({"zh", "ja"})
RIGHT_TO_LEFT = frozenset({"fa", "ar"})

_DOC = Path("/usr/share/doc")
_SOURCES: dict[str, tuple[str, ...]] = {
    "en": ("debian-handbook/html/en-US/*.html", "installation-guide-amd64/en/*.html", "../debian-reference/*.en.html"),
    "de": ("debian-handbook/html/de-DE/*.html", "installation-guide-amd64/de/*.html", "../debian-reference/*.de.html"),
    "fr": ("debian-handbook/html/fr-FR/*.html", "installation-guide-amd64/fr/*.html", "../debian-reference/*.fr.html"),
    "es": ("debian-handbook/html/es-ES/*.html", "installation-guide-amd64/es/*.html", "../debian-reference/*.es.html"),
    "it": ("debian-handbook/html/it-IT/*.html", "installation-guide-amd64/it/*.html", "../debian-reference/*.it.html"),
    "pt": ("debian-handbook/html/pt-BR/*.html", "installation-guide-amd64/pt/*.html", "../debian-reference/*.pt.html"),
    "nl": ("debian-handbook/html/nl-NL/*.html", "installation-guide-amd64/nl/*.html", "debian/FAQ/*.nl.html"),
    "pl": ("debian-handbook/html/pl-PL/*.html",),
    "ru": ("debian-handbook/html/ru-RU/*.html", "installation-guide-amd64/ru/*.html", "debian/FAQ/*.ru.html"),
    "zh": (
        "debian-handbook/html/zh-CN/*.html",
        "installation-guide-amd64/zh_CN/*.html",
        "../debian-reference/*.zh-cn.html",
    ),
    "ja": ("debian-handbook/html/ja-JP/*.html", "installation-guide-amd64/ja/*.html", "../debian-reference/*.ja.html"),
    "fa": ("debian-handbook/html/fa-IR/*.html",),
    "ar": ("debian-handbook/html/ar-MA/*.html",),
}
_SCRIPTS = {
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ja": re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]"),
    "fa": re.compile(r"[\u0600-\u06ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
}
_OWN_WORDS = {  # words that tell a translation from a page left in English
    "de": " der die und ist nicht ", "fr": " le la les des est ", "es": " el la los que una ", "it": " il che di per una ",
    "pt": " que uma para os do ", "nl": " het een van voor niet ", "pl": " jest nie na do się ", "en": " the and of is to ",
}  # fmt: skip
_FALLBACK = (
    "amber bridge candle distant early forest garden harbour island journey kettle lantern morning narrow orchard paper "
    "quiet river silver table under valley winter yellow stone market letter window summer evening number"
)
_PARAGRAPHS_PER_LANGUAGE = 6000


@dataclass(frozen=True, slots=True)
class Texts:
    """Sentences of one language, grouped in the order of their source, and short titles."""

    language: str
    sentences: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def joiner(self) -> str:
        """What stands between two sentences."""
        return "" if self.language in NO_SPACES else " "

    def paragraph(self, rng: random.Random, sentences: int) -> str:
        """As many consecutive sentences."""
        first = rng.randrange(max(1, len(self.sentences) - sentences))
        return self.joiner.join(self.sentences[first : first + sentences])

    def title(self, rng: random.Random, longest: int = 60) -> str:
        """A title of at most `longest` characters."""
        for _ in range(30):
            chosen = rng.choice(self.titles)
            if len(chosen) <= longest:
                return chosen
        return self.words(rng, 3)

    def words(self, rng: random.Random, count: int) -> str:
        """As many consecutive words (in Chinese and Japanese: twice as many characters), without a full stop."""
        sentence = rng.choice(self.sentences)
        if self.language in NO_SPACES:
            start = rng.randrange(max(1, len(sentence) - 2 * count))
            return re.sub(r"[\s。，、！？；：.,()（）「」“”]", "", sentence[start : start + 2 * count]) or "文書"
        words = [word.strip(".,;:()!?\"'«»“”„") for word in sentence.split()]
        words = [word for word in words if word]
        start = rng.randrange(max(1, len(words) - count))
        text = " ".join(words[start : start + count]) or "text"
        return text[0].upper() + text[1:]


def _plain(fragment: str) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", "", fragment))
    return re.sub(r"\s+", " ", text).strip()


def _sentences(paragraph: str, language: str) -> list[str]:
    if language in NO_SPACES:
        parts = re.split(r"(?<=[。！？])", re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", paragraph))
    else:
        parts = re.split(r"(?<=[.!?؟])\s+", paragraph)
    return [part.strip() for part in parts if _usable(part.strip(), language)]


def _usable(sentence: str, language: str) -> bool:
    if not (12 if language in NO_SPACES else 25) <= len(sentence) <= 320 or "://" in sentence:
        return False
    if re.search(r"[\u2190-\u2bff\ue000-\uf8ff\ufffd<>{}|\\#$*=~`\"]|^\W| -", sentence.replace("\u201c", "")):
        return False
    if language not in NO_SPACES and any(len(word) > 24 for word in sentence.split()):
        return False
    if sentence[-1] not in ".!?。！？:؟":
        return False
    script = _SCRIPTS.get(language)
    if script:
        return len(script.findall(sentence)) > 0.6 * len(re.sub(r"\s", "", sentence))
    own = _OWN_WORDS.get(language, "")
    return any(f" {word} " in sentence for word in own.split())


def _made_up() -> tuple[tuple[str, ...], tuple[str, ...]]:
    rng = random.Random(7)
    words = _FALLBACK.split()
    sentences = tuple(" ".join(rng.choices(words, k=rng.randint(6, 18))).capitalize() + "." for _ in range(400))
    titles = tuple(" ".join(rng.choices(words, k=rng.randint(2, 6))).capitalize() for _ in range(80))
    return sentences, titles


def _fortunes(language: str) -> list[str]:
    """Paragraphs of the fortunes-* packages: literature and sayings."""
    names = {"en": ("literature", "wisdom", "people", "work", "education", "science"), "de": ("de/*",), "es": ("es/*",)}
    names |= {"it": ("it/*", "italia", "luttazzi"), "pl": ("pl/*",), "ru": ("ru/*",), "pt": ("brasil",)}
    found: list[str] = []
    for name in names.get(language, ()):
        for path in sorted(Path("/usr/share/games/fortunes").glob(name)):
            if path.suffix not in {".dat", ".u8"} and "ascii" not in path.name and path.is_file():
                found += re.split(r"\n%\n", path.read_text(encoding="utf-8", errors="ignore"))
    return [text for text in found if "\x08" not in text]


def _catalogue(language: str) -> list[str]:
    """Sentences of the installed programs' translations, for languages with little documentation."""
    found: list[str] = []
    for path in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo")):
        try:
            with path.open("rb") as file:
                messages = gettext.GNUTranslations(file)
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        catalogue: dict[object, str] = vars(messages)["_catalog"]
        found += [text for text in catalogue.values() if "%" not in text]
    return found


@functools.cache
def texts(language: str) -> Texts:
    """The texts of `language`; made-up English where nothing is installed."""
    sentences: list[str] = []
    titles: list[str] = []
    script = _SCRIPTS.get(language)
    for pattern in _SOURCES[language]:
        for path in sorted(_DOC.glob(pattern) if not pattern.startswith("..") else _DOC.parent.glob(pattern[3:])):
            page = path.read_text(encoding="utf-8", errors="ignore")
            for paragraph in re.findall(r"<p[^>]*>(.*?)</p>", page, re.DOTALL):
                sentences += _sentences(_plain(paragraph), language)
            for heading in re.findall(r"<h[1-4][^>]*>(.*?)</h[1-4]>", page, re.DOTALL):
                title = re.sub(r"^[\s\w]{0,10}?[\dA-Z]+(\.\d+)*\.?\s+", "", _plain(heading).replace("\xa0", " "))
                if 3 <= len(title) <= 80 and not re.search(r"[\u2190-\u2bff\ue000-\uf8ff<>{}|\\]", title):
                    titles.append(title)
        if len(sentences) > 3 * _PARAGRAPHS_PER_LANGUAGE:
            break
    for paragraph in _fortunes(language):
        sentences += _sentences(re.sub(r"\s+", " ", paragraph).strip(), language)
    if len(sentences) < 300:
        for message in _catalogue(language):
            sentences += _sentences(_plain(message), language)
    titles = [title for title in titles if not script or script.search(title)]
    if len(sentences) < 50:
        return Texts(language, *_made_up())
    made = Texts(language, tuple(sentences), tuple(titles))
    if len(titles) < 30:
        rng = random.Random(3)
        made = Texts(language, tuple(sentences), tuple(made.words(rng, rng.randint(2, 6)) for _ in range(200)))
    return made
