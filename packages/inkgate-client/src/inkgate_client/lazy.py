"""Names of a package that are imported at their first use."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package. `modules`: the names that each module defines."""
    homes = {name: module for module, names in modules.items() for name in names}

    def import_name(name: str) -> object:
        if name not in homes:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[package])  # which Python needs for its hints
        found: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return import_name, all_names
