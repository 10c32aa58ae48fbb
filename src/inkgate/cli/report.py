"""`inkgate report`: what a load test or a search for settings found, as page, charts or tables; two tests compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkgate.cli.messages import failure, misuse, say

if TYPE_CHECKING:
    from inkgate.bench.load.results import LoadReport
    from inkgate.bench.reports.files import Report


def report(  # noqa: PLR0913  # one parameter for each option of the command
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="JSON of `inkgate loadtest` or `inkgate tune`.")
    ],
    *,
    compare: Annotated[bool, typer.Option("--compare", help="Two load tests: does the second differ?")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="One page with everything in it.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="The charts on one sheet.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="The same as pixels.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="A row for each run or trial.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Of --compare: all that was found.")] = None,
) -> None:
    """Show what a load test or a search for settings found: a page to open in a browser, charts, tables.

    Without any option the page is written beside FILE. `--compare A.json B.json` says whether B really differs from A
    in answers in time and in the 95th percentile of latency, or that it can't be told (docs/reference/reports.md).
    Charts need the extra `bench`: `pip install '.[bench]'` in inkgate's checkout.
    """
    wanted = [(path, suffix) for path, suffix in ((html, ".html"), (svg, ".svg"), (png, ".png"), (csv, ".csv")) if path]
    for path, suffix in wanted:
        if path.suffix.lower() != suffix:
            raise misuse(f"{path} should end in {suffix}.")
    try:
        if compare:
            if csv is not None:
                raise misuse("--csv is not there for --compare; --json has all figures.")
            _compare(files, [path for path, _ in wanted], json)
        else:
            if len(files) != 1 or json is not None:
                raise misuse("Give one FILE, or --compare and two of them; --json is there for --compare.")
            _write(files[0], [path for path, _ in wanted] or [files[0].with_suffix(".html")])
    except OSError as error:
        raise failure(f"{error.filename or 'A file'} can't be written: {error.strerror}.") from error


def _write(file: Path, wanted: list[Path]) -> None:
    from inkgate.bench.reports.files import ReportUnwritable, write_report

    found = _loaded(file)
    for path in wanted:
        try:
            write_report(found, path)
        except ReportUnwritable as error:
            raise failure(str(error)) from error
        say(f"wrote {path}")


def _compare(files: list[Path], wanted: list[Path], json: Path | None) -> None:
    from inkgate.bench.reports.compare import compare
    from inkgate.bench.reports.compare_files import write_comparison
    from inkgate.bench.reports.files import ReportUnwritable

    if len(files) != 2:
        raise misuse(f"--compare takes two files; {len(files)} {'was' if len(files) == 1 else 'were'} given.")
    a, b = (_load_test(file) for file in files)
    same_names = files[0].name == files[1].name
    found = compare(a, b, (str(files[0]), str(files[1])) if same_names else (files[0].name, files[1].name))
    for sentence in (*found.statement, *found.concerns):
        print(sentence)
    for path in [*wanted, *([json] if json is not None else [])]:
        try:
            write_comparison(found, path)
        except ReportUnwritable as error:
            raise failure(str(error)) from error
        say(f"wrote {path}")


def _loaded(file: Path) -> Report:
    from inkgate.bench.reports.files import ReportUnreadable, load_report

    try:
        return load_report(file)
    except ReportUnreadable as error:
        raise misuse(str(error)) from error


def _load_test(file: Path) -> LoadReport:
    from inkgate.bench.load.results import LoadReport

    found = _loaded(file)
    if not isinstance(found, LoadReport):
        raise misuse(f"{file} is a search for settings; load tests can be compared.")
    return found
