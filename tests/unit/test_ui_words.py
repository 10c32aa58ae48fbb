"""The web page says everything in every language."""

import json
import re
from importlib.resources import files
from pathlib import Path
from string import Formatter

from inkgate import errors

ASSETS = files("inkgate.ui").joinpath("assets")
WORDS = {
    language: json.loads(ASSETS.joinpath(f"words.{language}.json").read_text(encoding="utf-8"))
    for language in ("en", "zh")
}
CODE = "\n".join(
    asset.read_text(encoding="utf-8") for asset in ASSETS.iterdir() if asset.name.endswith((".js", ".html"))
)
MADE = re.compile(
    "(advice|check|download|extraction|field|job|job_act|jobs|kind|legend|pdf|review|state|task|type|verdict|view)_"
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


def test_details_in_chinese_are_of_texts_that_the_service_has() -> None:
    told = json.loads(ASSETS.joinpath("details.zh.json").read_text(encoding="utf-8"))
    package = Path(str(files("inkgate")))
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    image = "The {type} image {why}: error in its {part}."
    assert image.replace("type", "file_type.label") in source
    for text, said in (told["details"] | told["parts"]).items():
        assert names(text) == names(said), text
        if ": error in its " not in text:  # put together of the above
            pieces = [piece for piece in re.split(r"\{\w+\}|;", text) if piece.strip(" .:;")]
            assert [piece for piece in pieces if piece.rstrip(".") not in source] == [], text


def test_every_module_is_asked_for_at_once() -> None:
    """Else the browser would find them one after the other."""
    preloaded = re.findall(r'rel="modulepreload" href="([\w.]+)"', CODE)
    modules = {asset.name for asset in ASSETS.iterdir() if asset.name.endswith(".js")}
    assert sorted(preloaded) == sorted(modules - {"main.js"})


def test_no_script_makes_html_of_text() -> None:
    """The Content-Security-Policy forbids it too; here it fails before a browser does."""
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser"
    )
    assert forbidden.findall(CODE) == []
    assert re.findall(r"https?://(?!127\.0\.0\.1|www\.w3\.org/2000/svg)[\w.]+", CODE) == []
