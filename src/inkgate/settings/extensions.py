"""Loads what settings name as `module:name`: engines, layers and wire formats of other packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from inkgate.errors import InkgateError, InputRejected


def is_extension(name: str) -> bool:
    """Whether `name` has the form `module:name`."""
    module, colon, attribute = name.partition(":")
    return bool(module and colon and attribute)


_OF_AN_ENGINE = ("name", "start", "read", "stop")


def make_extension(name: str, setting: str, argument: object) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """The engine that the function or class that `name` refers to makes of `argument`. `setting`: where it stands, for
    messages.

    Raises:
        InputRejected: "extension_invalid": it can't be imported, raised, or made something else.
    """
    make = load_extension(name, setting)
    try:
        return _checked(make(argument))
    except InkgateError:
        raise
    except Exception as error:  # whatever its code raises
        detail = f"`{setting}`: {name} can't be used: {type(error).__name__}: {error}."
        raise InputRejected("extension_invalid", detail) from error


def _checked(engine: Any) -> Any:  # noqa: ANN401 - what another package made
    if missing := [f"`{each}`" for each in _OF_AN_ENGINE if not hasattr(engine, each)]:
        raise TypeError(f"{type(engine).__name__} is no engine, it has no {', '.join(missing)}")
    return engine


def load_extension(name: str, setting: str) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """The object that `name` refers to.

    Raises:
        InputRejected: "extension_invalid": it can't be imported.
    """
    module, _, attribute = name.partition(":")
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InputRejected("extension_invalid", f"`{setting}`: {name} can't be imported: {error}.") from error
        detail = f"`{setting}`: there is no module {module!r}. Install its package, or add its folder to PYTHONPATH."
        raise InputRejected("extension_invalid", detail) from error
    except Exception as error:  # whatever its code raises
        detail = f"`{setting}`: {name} can't be imported: {type(error).__name__}: {error}."
        raise InputRejected("extension_invalid", detail) from error
    try:
        return getattr(imported, attribute)
    except AttributeError as error:
        detail = f"`{setting}`: the module {module!r} has no {attribute!r}."
        raise InputRejected("extension_invalid", detail) from error
