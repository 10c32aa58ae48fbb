"""The reference of the command line as Markdown, from the commands themselves."""

from __future__ import annotations

import html
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from inkgate.cli.app import app
from inkgate.cli.commands import name_values


def commands_markdown() -> str:
    """One section for each command: its usage, what it does, its arguments and its options."""
    group = typer.main.get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError("inkgate has one command; this page is written for several")
    name_values(group)
    with typer.Context(group, info_name="inkgate") as context:
        return "\n".join(_sections("inkgate", group, context))


def _sections(before: str, group: TyperGroup, parent: typer.Context) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            with typer.Context(command, info_name=name, parent=parent) as context:
                yield from _sections(f"{before} {name}", command, context)
        elif isinstance(command, TyperCommand):
            yield _section(f"{before} {name}", command, parent)


def _section(name: str, command: TyperCommand, parent: typer.Context) -> str:
    with typer.Context(command, info_name=name.rpartition(" ")[2], parent=parent) as context:
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        arguments = _rows("argument", [one for one in command.params if isinstance(one, TyperArgument)], context)
        options = _rows("option", [one for one in command.params if isinstance(one, TyperOption)], context)
    text = (command.help or "").replace("\b", "").replace("\f", "")
    return "\n\n".join([f"## {name}", f"```sh\n{usage}\n```", text, *arguments, *options, ""])


def _rows(title: str, parameters: list[TyperArgument] | list[TyperOption], context: typer.Context) -> list[str]:
    """A table of what `--help` lists; empty if it lists nothing."""
    records = [record for record in (parameter.get_help_record(context) for parameter in parameters) if record]
    if not records:
        return []
    rows = [f"| {_code(name)} | {_cell(text)} |" for name, text in records]
    return [f"| {title} | |\n| --- | --- |\n" + "\n".join(rows)]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _code(text: str) -> str:
    """`text` as HTML code in a table cell, since a bar escaped inside backticks shows its backslash."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"
