"""The table of clients has every client that a page promises to serve."""

from __future__ import annotations

import re
from collections import Counter

from clients.table import FOLDER, ROOT, Table


def _first_column(page: str, heading: str) -> list[str]:
    """The first cells of the first table under a heading, without links."""
    text = f"\n{(ROOT / page).read_text('utf-8')}".partition(f"\n{heading}\n")[2]
    rows = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert rows, f"{page}: no table under {heading}"
    cells = [row.split("|")[1].strip() for row in rows[0].splitlines()[2:]]
    return [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell) for cell in cells]


def _listed(page: str, sentence: str) -> str:
    found = re.search(sentence, (ROOT / page).read_text("utf-8"), re.DOTALL)
    assert found, f"{page} has no sentence {sentence!r}"
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found[1])


def promised() -> set[str]:
    """Names of clients, as README, http.md and recipes.md have them."""
    cells = _first_column("docs/reference/http.md", "## Protocols")
    cells += _first_column("docs/guides/recipes.md", "# Recipes")
    cells.append(_listed("README.md", r"\*\*Existing clients\*\* work without changes: those of (.*?) \("))
    cells.append(_listed("README.md", r"\*\*\[In other programs\]\([^)]*\)\*\*: (.*?)\.\n"))
    return {
        name.strip()
        for cell in cells
        for name in re.split(r",\s+(?:and )?(?!asynchronous)| and ", cell)
        if name.strip()
    }


def test_every_client_that_a_page_promises_is_run_or_says_why_not() -> None:
    table = Table.read()
    covered = {name for rows in (table.client, table.not_run) for row in rows for name in row.covers}
    assert promised() - covered == set(), "add a row, or [[not_run]], for these"
    assert covered - promised() == set(), "no page has these names"


def test_rows_have_names_and_scripts_of_their_own() -> None:
    rows = Table.read().client
    names = Counter(row.name for row in rows)
    assert [name for name, count in names.items() if count > 1] == []
    assert [row.call for row in rows if not row.script.is_file()] == []
    scripts = {path.name for path in (FOLDER / "calls").iterdir() if path.suffix in {".py", ".mjs"}}
    assert scripts - {row.call for row in rows} == set()


def test_packages_are_pinned() -> None:
    rows = Table.read().client
    unpinned = [pin for row in rows for pin in row.packages if "==" not in pin and not pin.startswith("./")]
    unpinned += [pin for row in rows for pin in row.npm if "@" not in pin[1:]]
    assert unpinned == []
