"""The web page says everything in every language."""

import json
import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

from inkgate import errors
from support.error_details import details_of

ASSETS = files("inkgate.ui").joinpath("assets")
WORDS = {
    language: json.loads(ASSETS.joinpath(f"words.{language}.json").read_text(encoding="utf-8"))
    for language in ("en", "zh")
}
CODE = "\n".join(
    asset.read_text(encoding="utf-8") for asset in ASSETS.iterdir() if asset.name.endswith((".js", ".html"))
)
DETAILS = json.loads(ASSETS.joinpath("details.zh.json").read_text(encoding="utf-8"))
WHYS = ("can't be decoded", "ends early")
PACKAGE = Path(str(files("inkgate")))
VALUES = {
    "{call.what}": ["The document", "Page 7"],
    "{known}.{more}": ["7.", "7. The package inkgate-papers has more."],
    "{is_large}": ["The image is 7×7 pixels"],
    "{presets_with(task.kind)}": ["Presets that support 7: 7."],
    "{self.what}": ["documents in flight", "results being sent"],
    "{why}: error in its {part}": [f"{why}: error in its {part}" for why in WHYS for part in ("header", "pixels")],
}
"""What stands for some values; for the others, a number does."""
ELSEWHERE = re.compile(
    "(cli|bench|batch|integrations|doctor|library|client|settings|runtimes|bootstrap|telemetry|layout)/|"
    "api/(docling|mineru|mistral|layout_parsing|paddleocr_jobs|paddlex|chat|models|events|app)|api/http/(head|origins)|"
    "jobs/(intake|sinks|machine)|engines/(choose|transformers|vlm/(preset|parsers))|model_servers/(managed|launch)|"
    "storage/(objects|local|fetch)|extraction/figures|service/terms|documents/files/searchable"
)
"""Modules that the page's requests don't reach, or that fail when the service starts."""
OF_PROGRAMS = {
    *("base64_invalid", "body_too_complex", "engine_incomplete", "extension_invalid", "file_missing", "head_too_large"),
    *("http_invalid", "json_invalid", "key_reused", "media_type_unsupported", "method_not_allowed", "not_acceptable"),
    *("request_malformed", "route_unknown", "source_forbidden", "url_forbidden"),
    *("`fields.types`: {error}", "{refused}.", "`{name}` must be in the body, because URLs are logged."),
}
"""Codes of requests that the page doesn't send, and details that name settings."""
MADE = re.compile(
    "(advice|check|degraded|download|extraction|field|job|job_act|jobs|kind|legend|level|pdf|review|state|task|type|verdict|view)_"
)
"""Words whose names the scripts put together."""


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_has_every_word_with_the_same_values() -> None:
    for language, words in WORDS.items():
        assert set(words) == set(WORDS["en"]), language
        wrong = [word for word, text in words.items() if not text or names(text) != names(WORDS["en"][word])]
        assert wrong == [], language


def test_every_word_that_the_page_uses_is_there_and_none_is_left_over() -> None:
    used = set(re.findall(r'"?data-(?:word|label|hint|tip)"?(?:=|: )"(\w+)"', CODE))
    used |= set(re.findall(r'word\("(\w+)"', CODE))
    used = {word for word in used if not word.endswith("_")}
    assert used - set(WORDS["en"]) == set()
    unused = [word for word in WORDS["en"] if f'"{word}"' not in CODE and not MADE.match(word)]
    assert unused == []


def test_every_error_has_a_title_and_a_remedy_in_chinese() -> None:
    problems = json.loads(ASSETS.joinpath("problems.zh.json").read_text(encoding="utf-8"))
    assert set(problems) == set(errors.CODES)
    assert [code for code, told in problems.items() if len(told) != 2 or not all(told)] == []


def patterns(texts: dict[str, str]) -> dict[str, re.Pattern[str]]:
    """What each text matches, as words.js makes it."""
    return {text: re.compile(re.sub(r"\\{\w+\\}", ".{1,200}?", re.escape(text))) for text in texts}


def sayings(detail: str) -> list[str]:
    """What the service can say by the detail."""
    found = [detail]
    for value, said in VALUES.items():
        found = [text.replace(value, one) for text in found for one in said]
    return [re.sub(r"\{[^{}]*\}", "7", text) for text in found]


def test_every_detail_of_an_error_that_the_page_can_get_is_told_in_chinese() -> None:
    known = patterns(DETAILS["details"]).values()
    missing = {
        text
        for module, code, detail in details_of(PACKAGE)
        if not (ELSEWHERE.match(module) or code in OF_PROGRAMS or detail in OF_PROGRAMS)
        for text in sayings(detail)
        if not any(one.fullmatch(text) for one in known)
    }
    assert missing == set()


def test_details_in_chinese_are_of_texts_that_the_service_has() -> None:
    said = [text for _, _, detail in details_of(PACKAGE) for text in sayings(detail)]
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for text, pattern in patterns(DETAILS["details"] | DETAILS["parts"]).items():
        assert names(text) == names((DETAILS["details"] | DETAILS["parts"])[text]), text
        pieces = [piece for piece in re.split(r"\{\w+\}", text) if piece.strip(" .:;")]
        if not any(map(pattern.fullmatch, said)):
            assert [piece for piece in pieces if piece.rstrip(".") not in source] == [], text


def test_every_module_is_asked_for_at_once() -> None:
    """Else the browser would find them one after the other."""
    preloaded = re.findall(r'rel="modulepreload" href="([\w.]+)"', CODE)
    modules = {asset.name for asset in ASSETS.iterdir() if asset.name.endswith(".js")}
    assert sorted(preloaded) == sorted(modules - {"main.js", "diagrams.js"})  # the latter with the first diagram


def test_no_script_makes_html_of_text() -> None:
    """The Content-Security-Policy forbids it too; here it fails before a browser does."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser"
    )
    assert forbidden.findall(CODE) == []
    assert re.findall(r"https?://(?!127\.0\.0\.1|www\.w3\.org/2000/svg)[\w.]+", CODE) == []
