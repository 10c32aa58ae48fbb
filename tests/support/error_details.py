"""The details of errors that the source can raise, as texts with `{expression}` where values stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ERRORS = frozenset({"InputRejected", "Overloaded", "EngineFailed", "PdfFault", "WriteFault", "timeout_error"})
"""What is called with a code and a detail; `timeout_error` with a detail alone."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def details_of(package: Path) -> list[tuple[str, str, str]]:
    """The module's path below `package`, the error's code ("" if it is computed), and the detail, of each error that is
    made with a detail that the same function writes.
    """
    return [
        (path.relative_to(package).as_posix(), code, text)
        for path in sorted(package.rglob("*.py"))
        if any(name in (source := path.read_text(encoding="utf-8")) for name in _ERRORS)
        for scope in ast.walk(ast.parse(source))
        if isinstance(scope, _Function)
        for code, texts in _raised(scope, _assigned(scope))
        for text in texts
    ]


def _raised(scope: _Function, named: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and _name(node.func) in _ERRORS and node.args:
            code, detail = (None, node.args[0]) if len(node.args) == 1 else node.args[:2]
            texts = named.get(detail.id, []) if isinstance(detail, ast.Name) else _texts(detail)
            yield (code.value if isinstance(code, ast.Constant) and isinstance(code.value, str) else ""), texts


def _name(called: ast.expr) -> str:
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def _assigned(scope: _Function) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).extend(_texts(node.value))
    return found


def _texts(node: ast.expr) -> list[str]:
    """What the expression can be, as far as it is written there."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(_piece(value) for value in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*_texts(body), *_texts(orelse)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [one + other for one in _texts(left) or ["{}"] for other in _texts(right) or ["{}"]]
    return []


def _piece(value: ast.expr) -> str:
    return (
        str(value.value)
        if isinstance(value, ast.Constant)
        else f"{{{ast.unparse(value.value) if isinstance(value, ast.FormattedValue) else ''}}}"
    )
