"""Loads what settings name of other packages: engines, layers, wire formats and sinks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from inkgate.errors import InkgateError, InputRejected


def is_extension(name: str) -> bool:
    """Whether `name` has the form `module:name`."""
    module, colon, attribute = name.partition(":")
    return bool(module and colon and attribute)


def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of installed packages in `group`, by name."""
    return {point.name: point for point in entry_points(group=group)}


@dataclass(frozen=True, slots=True)
class ExtensionPort:
    """What an extension makes, the names that it must have, and the group of its entry points, if it has one."""

    what: str
    names: tuple[str, ...]
    group: str = ""


ENGINES: Final = "inkgate.engines"
FORMATS: Final = "inkgate.formats"
ENGINE_PORT: Final = ExtensionPort("engine", ("name", "start", "read", "stop"), ENGINES)
LAYER_PORT: Final = ExtensionPort("engine", ENGINE_PORT.names)
SINK_PORT: Final = ExtensionPort("sink", ("__aenter__", "__aexit__", "deliver"), "inkgate.sinks")


def make_extension(name: str, setting: str, *arguments: object, port: ExtensionPort) -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """What the function or class that `name` refers to makes of `arguments`. `setting`: where it stands, for messages.

    Raises:
        InputRejected: "extension_invalid": it can't be imported, raised, or made something else.
    """
    make = load_extension(name, setting, port.group)
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


def load_extension(name: str, setting: str, group: str = "") -> Any:  # noqa: ANN401 - each caller knows what it asks for
    """The object that `name` refers to: `module:name`, or the name of an entry point in `group`.

    Raises:
        InputRejected: "extension_invalid": it can't be imported.
    """
    if not is_extension(name):
        name = _registered_object(name, setting, group)
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


def _registered_object(name: str, setting: str, group: str) -> str:
    """The object of an entry point, as `module:name`."""
    points = registered(group) if group else {}
    if name in points:
        return points[name].value
    known = f"; installed packages have {', '.join(sorted(points))}" if points else ""
    detail = f"`{setting}`: there is no {name!r}{known}. Write `module:name`, or install the package that has it."
    raise InputRejected("extension_invalid", detail)
