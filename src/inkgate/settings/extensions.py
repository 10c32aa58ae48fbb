"""Loads what settings name as `module:name`: engines, layers, wire formats and sinks of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from inkgate.errors import InkgateError, InputRejected


def is_extension(name: str) -> bool:
    """Whether `name` has the form `module:name`."""
    module, colon, attribute = name.partition(":")
    return bool(module and colon and attribute)


@dataclass(frozen=True, slots=True)
class ExtensionPort:
    """What an extension makes, and the names that it must have."""

    what: str
    names: tuple[str, ...]


ENGINE_PORT: Final = ExtensionPort("engine", ("name", "start", "read", "stop"))
SINK_PORT: Final = ExtensionPort("sink", ("__aenter__", "__aexit__", "deliver"))


def make_extension(name: str, setting: str, *arguments: object, port: ExtensionPort = ENGINE_PORT) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """What the function or class that `name` refers to makes of `arguments`. `setting`: where it stands, for messages.

    Raises:
        InputRejected: "extension_invalid": it can't be imported, raised, or made something else.
    """
    make = load_extension(name, setting)
    try:
        return _checked(make(*arguments), port)
    except InkgateError:
        raise
    except Exception as error:  # whatever its code raises
        detail = f"`{setting}`: {name} can't be used: {type(error).__name__}: {error}."
        raise InputRejected("extension_invalid", detail) from error


def _checked(made: Any, port: ExtensionPort) -> Any:  # noqa: ANN401 - what another package made
    if missing := [f"`{each}`" for each in port.names if not hasattr(made, each)]:
        raise TypeError(f"{type(made).__name__} is no {port.what}, it has no {', '.join(missing)}")
    return made


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
