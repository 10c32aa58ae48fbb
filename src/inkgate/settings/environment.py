"""Settings from the environment, from files that it names, and from systemd's credentials.

`INKGATE_AUTH__KEY_HASHES_FILE=/run/secrets/keys` sets what `INKGATE_AUTH__KEY_HASHES` sets, and so does the credential
`inkgate.auth.key_hashes`: a secret that is in neither the command line, the environment nor the settings file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_origin

from pydantic import BaseModel
from pydantic_settings import EnvSettingsSource

PREFIX = "inkgate_"
FILE_SUFFIX = "_file"
CREDENTIAL_PREFIX = "inkgate."
_MAX_CHARACTERS = 1_000_000


class SettingFileError(ValueError):
    """A file that should hold the value of a setting can't be used. The message does not contain its content."""


class EnvironmentSource(EnvSettingsSource):
    """Variables, and files in their place.

    Attributes:
        from_files: the file of each variable, in lower case, whose value was read from one.
    """

    def _load_env_vars(self) -> Mapping[str, str | None]:
        variables = dict(super()._load_env_vars())
        self.from_files = {**_named_files(self.settings_cls, variables), **_credentials(self.settings_cls, variables)}
        for name, path in self.from_files.items():
            if name in variables:
                raise SettingFileError(f"{name.upper()} is set, and {path} sets it too. Remove one of them.")
            variables.pop(name + FILE_SUFFIX, None)
            variables[name] = _value(self.settings_cls, name, path)
        return variables


def _named_files(root: type[BaseModel], variables: Mapping[str, str | None]) -> dict[str, Path]:
    names = [name for name in variables if name.startswith(PREFIX) and name.endswith(FILE_SUFFIX)]
    files = {name.removesuffix(FILE_SUFFIX): Path(variables[name] or "") for name in names}
    return {name: path for name, path in files.items() if _annotation(root, name) is not None}


def _credentials(root: type[BaseModel], variables: Mapping[str, str | None]) -> dict[str, Path]:
    folder = variables.get("credentials_directory")
    if not folder or not Path(folder).is_dir():
        return {}
    found = {}
    for path in sorted(Path(folder).glob(CREDENTIAL_PREFIX + "*")):
        name = PREFIX + path.name.removeprefix(CREDENTIAL_PREFIX).replace(".", "__")
        if _annotation(root, name) is None:
            raise SettingFileError(f"The credential {path.name} names no setting. See docs/reference/settings.md.")
        found[name] = path
    return found


def _annotation(root: type[BaseModel], name: str) -> object:
    """The type of the setting or branch that the variable `name`, in lower case, sets; None if it sets none."""
    kind: object = root
    for step in name.removeprefix(PREFIX).split("__"):
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)) or step not in kind.model_fields:
            return None
        kind = kind.model_fields[step].annotation
    return kind


def _value(root: type[BaseModel], name: str, path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MAX_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingFileError(f"{path}, which should hold {name.upper()}, can't be read: {reason}.") from error
    if len(text) > _MAX_CHARACTERS:
        raise SettingFileError(f"{path}, which should hold {name.upper()}, is too large.")
    text = text.strip()
    kind = _annotation(root, name)
    if get_origin(kind) is tuple and not text.startswith("["):
        lines = (line.strip() for line in text.splitlines())
        items = [line for line in lines if line and not line.startswith("#")]
        text = json.dumps(items) if items else ""
    if not text:  # a secret that is missing: without its keys, for example, the service would be open
        raise SettingFileError(f"{path}, which should hold {name.upper()}, is empty.")
    if (get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, BaseModel))) and not _is_json(text):
        raise SettingFileError(f"{path}, which should hold {name.upper()}, is not valid JSON.")
    return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
