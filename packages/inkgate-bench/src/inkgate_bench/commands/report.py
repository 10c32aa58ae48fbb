"""`inkgate report`: a load test, a search for settings or an evaluation as a page; two of a kind compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from inkgate.cli.commands import MEASURING, Command
from inkgate.cli.messages import failure, misuse, say, writing_outputs

if TYPE_CHECKING:
    from inkgate_bench.load.results import LoadReport
    from inkgate_bench.reports.comparison import LoadComparison
    from inkgate_bench.reports.files import Report


def report(  # noqa: PLR0913  # one parameter for each option of the command
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="JSON written by `inkgate loadtest`, `tune` or `eval`.")
    ],
    *,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare two load tests or two evaluations, A and B.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with charts and tables.")] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all charts as one SVG image.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all charts as one PNG image.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one row per run or trial.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="With --compare: write all figures.")] = None,
) -> None:
    """Show the results of a load test, a search for settings or an evaluation as a web page, charts or tables.

    Without options, the page is written next to FILE. `--compare A.json B.json` prints whether B differs from A in
    goodput and in the 95th percentile of latency; each test needs at least three repeats. Of two evaluations, it
    prints the difference of every figure by group, and the documents that changed most. The page "Reports" of the
    documentation explains the figures.
    """
    paths = [(path, suffix) for path, suffix in ((html, ".html"), (svg, ".svg"), (png, ".png"), (csv, ".csv")) if path]
    for path, suffix in paths:
        if path.suffix.lower() != suffix:
            raise misuse(f"{path} should end in {suffix}.")
    wanted = [path for path, _ in paths]
    with writing_outputs():
        if compare:
            if csv is not None:
                raise misuse("--csv does not work with --compare; --json has all figures.")
            if _are_evaluations(files):
                if wanted or json is not None:
                    raise misuse("The comparison of two evaluations is only printed.")
                _print_difference(files)
                return
            found = _comparison(files)
            for sentence in (*found.statement, *found.concerns):
                print(sentence)
            _write(found, [*wanted, *([json] if json is not None else [])])
        else:
            if len(files) != 1 or json is not None:
                raise misuse("Give one FILE, or --compare and two of them; --json works with --compare only.")
            _write(_report(files[0]), wanted or [files[0].with_suffix(".html")])


def _write(report: Report | LoadComparison, paths: list[Path]) -> None:
    from inkgate_bench.reports.files import ReportUnwritable, write_report

    for path in paths:
        try:
            write_report(report, path)
        except ReportUnwritable as error:
            raise failure(str(error)) from error
        say(f"wrote {path}")


def _comparison(files: list[Path]) -> LoadComparison:
    from inkgate_bench.reports.comparison import compare

    if len(files) != 2:
        raise misuse(f"--compare takes two files; {len(files)} {'was' if len(files) == 1 else 'were'} given.")
    a, b = (_load_test(file) for file in files)
    same_names = files[0].name == files[1].name
    return compare(a, b, (str(files[0]), str(files[1])) if same_names else (files[0].name, files[1].name))


def _are_evaluations(files: list[Path]) -> bool:
    from inkgate_bench.accuracy.results import AccuracyReport

    if len(files) != 2:
        return False
    kinds = [isinstance(_report(file), AccuracyReport) for file in files]
    if any(kinds) and not all(kinds):
        raise misuse("An evaluation can only be compared with another evaluation.")
    return all(kinds)


def _print_difference(files: list[Path]) -> None:
    from inkgate_bench.accuracy.difference import NotComparable, compare_evaluations, difference_tables
    from inkgate_bench.accuracy.results import AccuracyReport
    from inkgate_bench.commands.eval import print_wide

    before, after = (each for file in files if isinstance(each := _report(file), AccuracyReport))
    try:
        found = compare_evaluations(before, after, (str(files[0]), str(files[1])))
    except NotComparable as error:
        raise misuse(str(error)) from error
    print_wide(difference_tables(found))


def _report(file: Path) -> Report:
    from inkgate_bench.reports.files import ReportUnreadable, load_report

    try:
        return load_report(file)
    except ReportUnreadable as error:
        raise misuse(str(error)) from error


def _load_test(file: Path) -> LoadReport:
    from inkgate_bench.load.results import LoadReport

    report = _report(file)
    if not isinstance(report, LoadReport):
        raise misuse(f"{file} is a report of `inkgate tune`; only load tests and evaluations can be compared.")
    return report


COMMAND: Final = Command(report, MEASURING, explain=True)
