"""The table of errors is the only list of their codes, and errors cross processes whole."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from inkgate.errors import (
    CODES,
    AnswerLost,
    AnswerTruncated,
    Blame,
    EngineFailed,
    InkgateError,
    InputRejected,
    OutputRepeats,
    OutputUnusable,
    Overloaded,
    ServiceFull,
    TaskUnsupported,
    error_class,
    from_page_error,
)
from inkgate_client.types import PageError

ROOT = Path(__file__).parents[2]
MODULES = sorted([*ROOT.glob("src/inkgate/**/*.py"), *ROOT.glob("packages/*/src/**/*.py")])
ALLOWED = {"src/inkgate/errors.py", "packages/inkgate-client/src/inkgate_client/errors.py"}
"""The client sorts responses; the service's errors are not in its package."""


def codes_in(node: ast.AST) -> Iterator[str]:
    """The codes that a display of several values consists of."""
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = [key for key in node.keys if key is not None]
    else:
        return
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value in CODES:
            yield part.value


def test_no_other_module_lists_codes() -> None:
    found = []
    for path in MODULES:
        name = str(path.relative_to(ROOT))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lists = [codes for node in ast.walk(tree) if len(codes := list(codes_in(node))) >= 2]
        if lists and name not in ALLOWED:
            found.append((name, lists))
    assert found == []


def test_nobody_compares_codes() -> None:
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Constant) and side.value in CODES for side in sides):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_an_error_has_what_the_table_says() -> None:
    error = EngineFailed("upstream_unreachable", "Nobody is there.")
    assert (error.status, error.blame, error.transient, error.retry_after_s) == (502, Blame.SERVER, True, 10)
    assert error.title == CODES["upstream_unreachable"].title


@pytest.mark.parametrize(
    ("kind", "code", "made"),
    [
        (EngineFailed, "upstream_stalled", AnswerLost),
        (EngineFailed, "output_repeats", OutputRepeats),
        (OutputUnusable, "output_repeats", OutputRepeats),
        (EngineFailed, "output_truncated", AnswerTruncated),
        (EngineFailed, "internal", EngineFailed),
        (InputRejected, "task_unsupported", TaskUnsupported),
    ],
)
def test_the_constructor_makes_the_class_of_the_code(
    kind: type[EngineFailed | InputRejected], code: str, made: type[EngineFailed | InputRejected]
) -> None:
    error = kind(code, "So.")
    assert type(error) is made
    assert error_class(code) is made
    assert type(from_page_error(error.as_page_error())) is made
    assert type(pickle.loads(pickle.dumps(error))) is made  # noqa: S301 - its own


def test_a_code_of_another_class_is_refused() -> None:
    for kind, code in ((EngineFailed, "pdf_corrupt"), (InputRejected, "service_full"), (AnswerLost, "internal")):
        with pytest.raises(ValueError, match=code):
            kind(code, "So.")


def test_an_overload_keeps_its_time_as_the_error_of_a_page() -> None:
    again = from_page_error(Overloaded("service_full", "Full.", 7.0).as_page_error())
    assert (type(again), again.retry_after_s) == (ServiceFull, 7.0)


def test_a_code_of_an_extension_is_a_failure_on_its_page() -> None:
    error = from_page_error(PageError("its_own", "So.", "Do."))
    assert (type(error), error.code, error.blame, error.detail) == (EngineFailed, "engine_failed", Blame.PAGE, "So.")


def test_what_blames_the_caller_or_a_page_has_a_status_of_the_client_and_what_may_pass_does_not_blame_a_page() -> None:
    wrong = [code for code, meaning in CODES.items() if meaning.blame is Blame.PAGE and meaning.transient]
    wrong += [code for code, meaning in CODES.items() if meaning.blame is Blame.SERVER and meaning.status < 500]
    assert wrong == []


@pytest.mark.parametrize(
    "error",
    [
        InputRejected("page_broken", "Torn."),
        EngineFailed("engine_failed", "Lost."),
        Overloaded("service_full", "64 pages wait already.", 2.5),
    ],
)
def test_errors_survive_pickling(error: InkgateError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled on the line before
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.as_page_error() == error.as_page_error()
