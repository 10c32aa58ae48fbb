"""The known models: one module per family here, and the user's own files. Each defines `PRESETS`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from inkgate.engines.vlm.preset import Preset
from inkgate.errors import InputRejected
from inkgate.settings import EngineSettings
from inkgate_client.types import TaskKind


def known_presets(folder: Path | None = None) -> tuple[Preset, ...]:
    """Every preset: those of the user's `*.py` files in `folder`, by file name, then inkgate's own.

    Files of `folder` are run as Python: they must be as trusted as inkgate itself.

    Raises:
        ValueError: a file can't be loaded, or has no tuple `PRESETS` of Preset; or the folder does not exist.
    """
    own = () if folder is None else tuple(_own_modules(folder))
    return tuple(preset for module in (*own, *_shipped_modules()) for preset in _presets_of(module))


def find_preset(name: str, folder: Path | None = None) -> Preset:
    """The preset with this name, alias, or served model name; case-insensitive.

    A server that was given a path uses it as the model's name: then its last part counts. The user's own presets win.

    Raises:
        InputRejected: `engine_unknown`; the detail lists the known ones.
        ValueError: as `known_presets`.
    """
    presets = known_presets(folder)
    given = name.strip().rstrip("/").lower()
    for candidate in (given, given.rpartition("/")[2]):
        for preset in presets:
            if candidate in {known.lower() for known in preset.names}:
                return preset
    known = ", ".join(preset_names(folder))
    raise InputRejected("engine_unknown", f"There is no preset for {name!r}; there are: {known}.")


def preset_of(engine: EngineSettings) -> Preset | None:
    """The preset that the settings choose; None for an engine without one. Raises ValueError, as `known_presets`."""
    name = {"vllm": engine.vllm.preset, "transformers": engine.transformers.preset}.get(engine.name, engine.name)
    folder = engine.vllm.preset_folder
    try:
        return find_preset(name, Path(folder) if folder else None)
    except InputRejected:
        return None


def preset_names(folder: Path | None = None) -> list[str]:
    """The names of all presets, sorted. Raises ValueError, as `known_presets`."""
    return sorted({preset.name for preset in known_presets(folder)})


def presets_with(kind: TaskKind) -> str:
    """Which of inkgate's own presets support the task, in a sentence."""
    names = sorted(preset.name for preset in known_presets() if kind in preset.tasks)
    return f"Presets that support {kind}: {', '.join(names) or 'none'}."


def _shipped_modules() -> Iterator[ModuleType]:
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        yield importlib.import_module(f"{__name__}.{module.name}")


def _own_modules(folder: Path) -> Iterator[ModuleType]:
    if not folder.is_dir():
        raise ValueError(f"there is no folder of presets at {folder}")
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"inkgate_own_preset_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{path} can't be loaded")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # the user's file may raise anything; the message names the file
            raise ValueError(f"{path} can't be loaded: {error}") from error
        yield module


def _presets_of(module: ModuleType) -> tuple[Preset, ...]:
    presets = vars(module).get("PRESETS")
    if not isinstance(presets, tuple) or not all(isinstance(preset, Preset) for preset in presets):
        raise ValueError(f"{module.__file__} must define PRESETS, a tuple of Preset")
    return presets
