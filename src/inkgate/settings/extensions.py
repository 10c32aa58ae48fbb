"""Loads what settings name as `module:name`: engines, layers and wire formats of other packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from inkgate.errors import InkgateError, InputRejected


def is_extension(name: str) -> bool:
    """Whether `name` has the form `module:name`."""
    module, colon, attribute = name.partition(":")
    return bool(module and colon and attribute)


def make_extension(name: str, setting: str, argument: object) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """What the function or class that `name` refers to makes of `argument`. `setting`: where it stands, for messages.

    Raises:
        InputRejected: "extension_invalid": it can't be imported, or raised.
    """
    make = load_extension(name, setting)
    try:
        return make(argument)
    except InkgateError:
        raise
    except Exception as error:  # whatever its code raises
        detail = f"`{setting}`: {name} can't be used: {type(error).__name__}: {error}."
        raise InputRejected("extension_invalid", detail) from error


def load_extension(name: str, setting: str) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """The object that `name` refers to.

    Raises:
        InputRejected: "extension_invalid": it can't be imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InputRejected("extension_invalid", f"`{setting}`: {name} can't be imported: {error}.") from error
        detail = f"`{setting}`: there is no module {module!r}. Install its package, or add its folder to PYTHONPATH."
        raise InputRejected("extension_invalid", detail) from error
    except AttributeError as error:
        detail = f"`{setting}`: the module {module!r} has no {attribute!r}."
        raise InputRejected("extension_invalid", detail) from error
    except Exception as error:  # whatever its code raises
        detail = f"`{setting}`: {name} can't be imported: {type(error).__name__}: {error}."
        raise InputRejected("extension_invalid", detail) from error
