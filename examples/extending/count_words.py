"""A command outside of inkgate: `inkgate words scan.pdf` prints how many words a document has."""

from pathlib import Path

import inkgate


def words(files: list[Path]) -> None:
    """Count the words of documents."""
    for file in files:
        print(f"{file.name}: {len(inkgate.read(file).text.split())} words")
