"""What inkgate says to type for a missing package is right where it was installed, and takes no name on PyPI."""

from __future__ import annotations

from pathlib import Path

import pytest

import inkgate
from inkgate.installation import Installation, install_extra, install_package

REQUIREMENTS = ("typer>=0.15", 'mcp>=2.3; extra == "mcp"', "psycopg[binary]>=3.3 ; extra == 'postgres'", "nats")
WHEEL = f"inkgate-{inkgate.__version__}-py3-none-any.whl"
NOTION = f"inkgate_notion-{inkgate.__version__}-py3-none-any.whl"


def installation(folder: Path, *, pip: bool = True, source: Path | None = None, editable: bool = False) -> Installation:
    prefix = folder / "env"
    return Installation(prefix, prefix / "bin" / "python", REQUIREMENTS, source, editable, pip)


def test_an_extra_is_installed_by_the_packages_that_it_stands_for(tmp_path: Path) -> None:
    here = installation(tmp_path)
    assert here.install_extra("mcp") == f"`{tmp_path}/env/bin/python -m pip install 'mcp>=2.3'`"
    assert here.install_extra("postgres").endswith(" install 'psycopg[binary]>=3.3'`")


def test_the_command_is_that_of_what_made_the_environment(tmp_path: Path) -> None:
    python = f"{tmp_path}/env/bin/python"
    assert installation(tmp_path, pip=False).install_extra("mcp") == f"`uv pip install --python {python} 'mcp>=2.3'`"
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "uv-receipt.toml").touch()
    assert installation(tmp_path).install_extra("mcp") == f"`uv pip install --python {python} 'mcp>=2.3'`"
    (tmp_path / "env" / "pipx_metadata.json").touch()
    assert installation(tmp_path).install_extra("mcp") == "`pipx inject inkgate 'mcp>=2.3'`"
    (tmp_path / "env" / "bin" / "healthy").touch()
    assert "--build-arg EXTRAS=" in installation(tmp_path).install_extra("mcp")
    assert "--build-arg PACKAGES=" in installation(tmp_path).install_package("inkgate-notion")


def test_a_package_comes_from_where_inkgate_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my checkout" / "packages" / "inkgate-notion").mkdir(parents=True)
    checkout = tmp_path / "my checkout"
    pip = f"{tmp_path}/env/bin/python -m pip install"
    said = installation(tmp_path, source=checkout).install_package("inkgate-notion")
    assert said == f"`{pip} '{checkout}/packages/inkgate-notion'`"
    said = installation(tmp_path, source=checkout, editable=True).install_package("inkgate-notion")
    assert said == f"`{pip} --editable '{checkout}/packages/inkgate-notion'`"
    said = installation(tmp_path, source=tmp_path / WHEEL).install_package("inkgate-notion")
    assert said == f"`{pip} {NOTION}`, which `make wheel` writes into dist/ of inkgate's checkout"
    (tmp_path / NOTION).touch()
    said = installation(tmp_path, source=tmp_path / WHEEL).install_package("inkgate-notion")
    assert said == f"`{pip} {tmp_path}/{NOTION}`"
    monkeypatch.chdir(checkout)
    said = installation(checkout, source=checkout).install_package("inkgate-notion")
    assert said == "`./env/bin/python -m pip install ./packages/inkgate-notion`"


def test_this_installation_is_a_checkout_with_its_requirements() -> None:
    assert "pip install 'mcp>=" in install_extra("mcp")
    assert (Path(install_package("inkgate-notion").split()[-1].strip("`")).resolve() / "pyproject.toml").is_file()
