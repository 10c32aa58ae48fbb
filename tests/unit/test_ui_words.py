"""The page says everything in every language."""

import re
from importlib.resources import files
from string import Formatter

from inkgate import errors
from inkgate.ui.words import LANGUAGES, WORDS, in_language, language_of, say
from inkgate.ui.words_zh import PROBLEMS

ASSETS = {asset.name: asset.read_text(encoding="utf-8") for asset in files("inkgate.ui").joinpath("assets").iterdir()}


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_has_every_word_with_the_same_values() -> None:
    assert set(WORDS) == set(LANGUAGES)
    for language, words in WORDS.items():
        assert set(words) == set(WORDS["en"]), language
        for word, text in words.items():
            assert text, (language, word)
            assert names(text) == names(WORDS["en"][word]), (language, word)


def test_every_word_that_the_page_uses_is_there_and_none_is_left_over() -> None:
    whole = "\n".join(ASSETS.values())
    used = set(re.findall(r'data-(?:word|label|hint)="(\w+)"', whole)) | set(re.findall(r'word\("(\w+)"', whole))
    made = {"task_", "pdf_", "chip_", "state_", "review_"}
    assert used - made <= set(WORDS["en"])
    python = "\n".join(
        file.read_text(encoding="utf-8")
        for file in files("inkgate.ui").iterdir()
        if file.name in {"live.py", "desk.py", "verdict.py"}
    )
    spoken = (whole + python).replace("'", '"')
    unused = {word for word in WORDS["en"] if f'"{word}"' not in spoken and not any(map(word.startswith, made))}
    assert unused == set()


def test_every_error_has_a_title_and_a_remedy_in_chinese() -> None:
    assert set(PROBLEMS) == set(errors.INPUT_CODES) | set(errors.OVERLOAD_CODES) | set(errors.ENGINE_CODES)
    assert all(title and remedy for title, remedy in PROBLEMS.values())


def test_a_problem_is_told_in_the_language_with_its_own_detail() -> None:
    problem = {"code": "pdf_encrypted", "title": "The PDF needs a password", "detail": "x", "remedy": "Remove it."}
    assert in_language(problem, "en") == problem
    told = in_language(problem, "zh")
    assert (told["title"], told["detail"]) == ("PDF 需要密码", "x")
    assert in_language({"code": "new", "title": "New"}, "zh")["title"] == "New"


def test_the_language_is_the_first_that_there_is() -> None:
    cases = [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.1", "en"),
        ("de,zh;q=0.4,en;q=0.3", "zh"),
        ("fr;q=0.9", "en"),
        ("zh;q=0, en;q=0.1", "en"),
        ("zh;q=never", "en"),
    ]
    assert [(header, found) for header, language in cases if (found := language_of(header)) != language] == []


def test_values_are_put_into_words() -> None:
    assert say("en", "live_up", time="3 min") == "up for 3 min"
    assert say("xx", "live_up", time="3 min") == "up for 3 min"
