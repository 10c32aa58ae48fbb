"""The engine of this process, for loaders and OCRmyPDF. inkgate-client lacks it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Lock

from inkgate.library import Ocr, SettingsSource
from inkgate.library.arguments import settings_of
from inkgate.settings import Settings
from inkgate_client.loaders.readers import PortalReader


@dataclass(frozen=True, slots=True)
class _LoadedEngines:
    """Engines of a process by their settings: loaded when they are first used, freed at its end."""

    loaded: list[tuple[int, Settings, Ocr]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def engine(self, settings: Settings) -> Ocr:
        """Raises InkgateError if it does not start."""
        with self.lock:
            for process, known, ocr in self.loaded:
                if process == os.getpid() and known == settings:
                    return ocr
            ocr = Ocr(settings)
            ocr.__enter__()  # left by its own atexit handler
            self.loaded.append((os.getpid(), settings, ocr))
            return ocr


_ENGINES = _LoadedEngines()


def loaded_engine(settings: SettingsSource) -> PortalReader:
    """The engine with these settings, which stays loaded until the process ends. Raises InkgateError."""
    ocr = _ENGINES.engine(settings_of(settings))
    return PortalReader(ocr.portal, ocr.reader)
