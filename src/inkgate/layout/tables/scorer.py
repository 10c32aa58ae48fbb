"""The probability that rows of a page are a table with certain cells: boosted trees over the measures of features.py.

More precisely, how right they are: the F1 of the cells' neighbours (M. Göbel, T. Hassan, E. Oro, G. Orsi, "ICDAR 2013
table competition"), less for rows too many or missing. training/layout/fit_tables.py fits it
to generated and annotated pages.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from inkgate.runtimes.trees import BoostedTrees


@cache
def table_scorer() -> BoostedTrees:
    """The scorer that is shipped."""
    return BoostedTrees.of(json.loads((Path(__file__).parent / "scorer.json").read_text("utf-8")))
