"""The folder of a demo: everything that it writes is below it, and nothing that is somebody else's is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from shlex import quote

from inkgate.cli.messages import failure, misuse
from inkgate.cli.watched_folder import FolderInUse, owned
from inkgate_client.whole_files import write_whole

INTO = Path("inkgate-demo")
MARK = "ABOUT.txt"
_SAMPLES = files("inkgate.cli.demo") / "samples"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """`path` is absolute; `shown` is what commands that are printed say."""

    path: Path
    shown: str

    @property
    def is_own(self) -> bool:
        """Whether a demo made the folder."""
        return (self.path / MARK).is_file()

    @property
    def documents(self) -> Path:
        return self.path / "documents"

    @property
    def settings_file(self) -> Path:
        return self.path / "inkgate.toml"

    def said(self, *below: str) -> str:
        """A path below the folder, quoted for a shell."""
        return quote(str(Path(self.shown, *below)))

    def write(self, name: str, data: bytes) -> None:
        """Writes a file below the folder. Raises OSError."""
        write_whole(self.path / name, data, parents=True)

    def copy_samples(self, kind: str, into: str = "documents") -> list[Path]:
        """Copies the sample documents of a demo that are not there yet; returns them all in order. Raises OSError."""
        copies = []
        for sample in sorted(sample_files(kind)):
            copy = self.path / into / sample
            if not copy.exists():
                self.write(f"{into}/{sample}", sample_bytes(kind, sample))
            copies.append(copy)
        return copies


def sample_files(kind: str) -> list[str]:
    """Names of the sample documents of a demo."""
    return [each.name for each in (_SAMPLES / kind).iterdir() if each.is_file()]


def sample_bytes(*path: str) -> bytes:
    """A file of the samples."""
    return _SAMPLES.joinpath(*path).read_bytes()


@contextmanager
def claimed(into: Path, name: str) -> Iterator[DemoFolder]:
    """The folder `name` in `into`, which is made, or was made by this demo before. No other demo uses it inside.

    Raises:
        typer.Exit: with status 2: it belongs to somebody else, or another demo uses it; 1: it can't be written.
    """
    path = (into / name).absolute()
    folder = DemoFolder(path, str(into / name))
    try:
        if path.exists() and not folder.is_own and (not path.is_dir() or any(path.iterdir())):
            raise misuse(
                f"{into / name} exists and was not made by this command: nothing in it was changed.",
                "Choose another folder with --into.",
            )
        path.mkdir(parents=True, exist_ok=True)
        folder.write(MARK, _about(folder).encode())
        with owned(path):
            yield folder
    except FolderInUse as error:
        raise misuse(f"Another demo uses {into / name}. Stop it, or choose another folder with --into.") from error
    except OSError as error:
        raise failure(f"{error.filename or path}: {error.strerror or error}.", "Choose another --into.") from error


def _about(folder: DemoFolder) -> str:
    return (
        "`inkgate demo` made this folder. The sample documents are invented, and licensed as inkgate is (Apache-2.0).\n"
        "Nothing outside of it was written, but the compiled models that all commands of inkgate keep in their cache.\n"
        f"To remove everything: rm -r {quote(str(folder.path))}\n"
    )
