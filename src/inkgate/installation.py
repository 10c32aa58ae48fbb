"""How this installation of inkgate gets a package that it lacks. Many modules say it in their errors.

inkgate is not on PyPI, so no command names it there: an extra is installed by the names of its packages, which others
publish, and a package of inkgate's repository from the checkout, or from the wheel beside that of inkgate.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import inkgate

_OF_EXTRA: Final = re.compile(r"([^;]+?)\s*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with inkgate in it.

    Attributes:
        prefix: the folder of the environment.
        python: its Python.
        requirements: what inkgate's metadata says that it requires, extras included.
        source: the folder or wheel that inkgate was installed from; None if unknown.
        editable: `source` is a checkout, and its code runs.
        has_pip: whether pip is in the environment.
    """

    prefix: Path
    python: Path
    requirements: tuple[str, ...] = ()
    source: Path | None = None
    editable: bool = False
    has_pip: bool = True

    @classmethod
    def here(cls) -> Installation:
        """The environment of this process."""
        requirements: tuple[str, ...] = ()
        source, editable = Path(inkgate.__file__).parents[2], True
        try:
            found = distribution("inkgate")
        except PackageNotFoundError:
            pass
        else:
            requirements = tuple(found.requires or ())
            origin = json.loads(found.read_text("direct_url.json") or "{}")
            url = urlsplit(origin.get("url", ""))
            if url.scheme == "file":
                source, editable = Path(unquote(url.path)), origin.get("dir_info", {}).get("editable", False)
        known = source if source.suffix == ".whl" or (source / "packages").is_dir() else None
        python = Path(sys.executable)
        return cls(Path(sys.prefix), python, requirements, known, editable, find_spec("pip") is not None)

    def install_extra(self, extra: str) -> str:
        """How an extra is installed, as a part of a sentence."""
        found = (_OF_EXTRA.fullmatch(line) for line in self.requirements)
        names = [match[1] for match in found if match and match[2] == extra]
        if self._is_image:
            return f"build the image with `{extra}` in `--build-arg EXTRAS=`"
        if not names:
            return f"`pip install '.[{extra}]'` in inkgate's checkout"
        return f"`{self._command} {shlex.join(names)}`"

    def install_package(self, package: str) -> str:
        """How a package of inkgate's repository is installed beside inkgate, as a part of a sentence."""
        wheel = f"{package.replace('-', '_')}-{inkgate.__version__}-py3-none-any.whl"
        if self._is_image:
            return f"build the image with `{package}` in `--build-arg PACKAGES=`"
        if self.source is not None and self.source.suffix != ".whl":
            option = "--editable " if self.editable else ""
            return f"`{self._command} {option}{shlex.quote(_shown(self.source / 'packages' / package))}`"
        if self.source is not None and (beside := self.source.with_name(wheel)).is_file():
            return f"`{self._command} {shlex.quote(_shown(beside))}`"
        return f"`{self._command} {wheel}`, which `make wheel` writes into dist/ of inkgate's checkout"

    @property
    def _is_image(self) -> bool:
        """Whether this is the container image, whose files are read-only (deploy/docker)."""
        return (self.prefix / "bin" / "healthy").is_file()

    @property
    def _command(self) -> str:
        """The command that installs into the environment, without what it installs."""
        python = shlex.quote(_shown(self.python))
        if (self.prefix / "pipx_metadata.json").is_file():
            return "pipx inject inkgate"
        if (self.prefix / "uv-receipt.toml").is_file() or not self.has_pip:
            return f"uv pip install --python {python}"
        return f"{python} -m pip install"


def install_extra(extra: str) -> str:
    """How an extra of inkgate is installed here, as a part of a sentence."""
    return Installation.here().install_extra(extra)


def install_package(package: str) -> str:
    """How a package of inkgate's repository is installed here, as a part of a sentence."""
    return Installation.here().install_package(package)


def _shown(path: Path) -> str:
    """The path, relative if it is below the current folder."""
    try:
        below = path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return str(path)
    return str(below) if below.parts[0].startswith(".") else f"./{below}"
