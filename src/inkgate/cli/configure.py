"""Loads the settings for the command line, and explains what is wrong with them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

from inkgate.cli.messages import misuse
from inkgate.settings import EnvironmentSource, LogSettings, SettingFileError, Settings, load_settings

PREFIX = "INKGATE_"
_HIDDEN = {
    ("auth", "key_hashes"),
    ("cache", "redis_url"),
    ("cache", "secret"),
    ("jobs", "database"),
    ("webhooks",),
    ("storage",),
    ("intake",),
    ("sinks",),
}
"""Settings and branches whose wrong values are not shown: it may be a key in place of its hash, or hold a password."""
_RENAMED = {
    "serving.ladder": "serving.degradation",
    "engine.ppocr.settle_characters": "engine.ppocr.disambiguate_characters",
    "engine.layout.least_confidence": "engine.layout.min_confidence",
    "engine.vllm.managed.restart_pause_most_s": "engine.vllm.managed.max_restart_pause_s",
    "fields.least_confidence": "fields.min_confidence",
    "fields.witness": "fields.grounding_engine",
    "serving.scheduling.retry_after_most_s": "serving.scheduling.max_retry_after_s",
}
"""Former names of settings and branches."""
_REMOVED = ("serving.admission.waiting_chats", "serving.scheduling.overtake_s")
"""Former settings that nothing replaces."""
_USER = re.compile(r"//[^/@]*@")
OTHER_VARIABLES = frozenset(
    {
        "INKGATE_CONFIG",
        "INKGATE_API_KEY",
        "INKGATE_FEISHU_APP_ID",
        "INKGATE_FEISHU_APP_SECRET",
        "INKGATE_FEISHU_APP_SECRET_FILE",
        "INKGATE_MCP_KEY",
        "INKGATE_REQUIRE_ALL",
    }
)
"""Variables of ours that are no settings: the settings' file, keys of clients, and the tests' switch."""

_ENGINE = "Engine and settings"
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="INKGATE_CONFIG",
        metavar="FILE",
        rich_help_panel=_ENGINE,
        help="Settings as a TOML file (docs/reference/settings.md).",
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        rich_help_panel=_ENGINE,
        help="OCR engine: ppocr (built in, CPU), or a model on vLLM, such as paddleocr-vl or hunyuanocr. "
        "Default: from the settings.",
    ),
]
VllmUrlOption = Annotated[
    list[str] | None,
    typer.Option(
        "--vllm-url",
        metavar="URL",
        rich_help_panel=_ENGINE,
        help="Address of a vLLM server, e.g. http://127.0.0.1:8000/v1. Default: inkgate starts one.",
        show_default=False,
    ),
]
VllmModelOption = Annotated[
    str | None,
    typer.Option(
        "--vllm-model",
        metavar="NAME",
        rich_help_panel=_ENGINE,
        help="The model's name on vLLM. Default: the name that vLLM reports.",
    ),
]


def configured(config: Path | None, flags: Mapping[str, Mapping[str, object | None]] | None = None) -> Settings:
    """The settings from `config`, the environment and `flags` (those that are not None).

    Raises:
        typer.Exit: with status 2, after every mistake has been said on standard error.
    """
    given = {
        branch: {name: value for name, value in values.items() if value is not None}
        for branch, values in (flags or {}).items()
    }
    try:
        if unknown := list(unknown_variables(environment())):
            raise misuse(*unknown)
        settings = load_settings(config, **{branch: values for branch, values in given.items() if values})
    except SettingFileError as error:
        raise misuse(str(error)) from error
    except ValidationError as error:
        raise misuse(*(describe(mistake, config) for mistake in error.errors())) from error
    except SettingsError as error:
        raise misuse(*_not_json(error)) from error
    except FileNotFoundError as error:
        raise misuse(f"There is no settings file {config}.") from error
    except tomllib.TOMLDecodeError as error:
        raise misuse(f"{config} is not valid TOML: {error}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise misuse(f"{config} can't be read: {error}.") from error
    _refuse_unused_server(given.get("engine", {}), settings.engine.name)
    return settings


def _refuse_unused_server(flags: Mapping[str, object], engine: str) -> None:
    """Raises typer.Exit: flags name a model server, which the engine would not use."""
    if flags.get("vllm") and engine in {"ppocr", "transformers"}:
        raise misuse(
            f"--vllm-url and --vllm-model are for a model on vLLM, and the engine is {engine}.",
            "Add --engine with the model's name, such as --engine paddleocr-vl.",
        )


def logs_of_command(settings: Settings) -> LogSettings:
    """How a command logs that tells failures itself: errors only, unless the settings name a level."""
    chosen = "level" in settings.log.model_fields_set
    return settings.log if chosen else settings.log.model_copy(update={"level": "error"})


def engine_flags(engine: str | None, vllm_urls: list[str] | None, vllm_model: str | None) -> dict[str, object | None]:
    """What the options about the engine set of the branch `engine`."""
    vllm = {"urls": tuple(vllm_urls) if vllm_urls else None, "model": vllm_model}
    given = {name: value for name, value in vllm.items() if value is not None}
    return {"name": engine, "vllm": given or None}


def environment() -> Mapping[str, str | None]:
    """The variables of this process, upper case, as the settings see them."""
    return {name.upper(): value for name, value in EnvironmentSource(Settings).env_vars.items()}


def setting_fields(
    model: type[BaseModel] = Settings, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Every setting: where it is in the tree, and its field. Branches themselves are left out."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from setting_fields(kind, (*path, name))
        else:
            yield (*path, name), field


def variable(path: tuple[str, ...]) -> str:
    """The environment variable of a setting, for example `INKGATE_SERVER__PORT`."""
    return PREFIX + "__".join(path).upper()


def unknown_variables(variables: Mapping[str, str | None]) -> Iterator[str]:
    """One message for each variable that looks like a setting and is none, with the nearest that is one."""
    settings = {variable(path) for path, _ in setting_fields()}
    branches = {variable(path[:depth]) for path, _ in setting_fields() for depth in range(1, len(path))}
    for name in sorted(variables):
        if name.startswith(PREFIX) and name not in settings | branches | OTHER_VARIABLES:
            yield f"{name} in the environment is not a setting.{_nearest(name, settings | {'INKGATE_CONFIG'})}"


def describe(mistake: Mapping[str, Any], config: Path | None) -> str:
    """One of pydantic's errors as a sentence: which setting, where it was set, and what it should be."""
    path = tuple(str(step) for step in mistake["loc"] if isinstance(step, str))
    name = ".".join(path)
    if mistake["type"] == "extra_forbidden":
        known = {".".join(setting) for setting, _ in setting_fields()}
        return f"{name}{_origin(path, config)} is not a setting.{_nearest(name, known)}"
    if isinstance(mistake["input"], Mapping):  # of settings that don't go together; some of them are secret
        return f"{mistake['msg'].removeprefix('Value error, ')}."
    if any(path[: len(hidden)] == hidden for hidden in _HIDDEN):
        return f"{name}{_origin(path, config)}: {_reason(mistake)}."
    shown = _USER.sub("//***@", repr(mistake["input"]))
    value = shown if len(shown) <= 60 else shown[:60] + "…"
    return f"{name} = {value}{_origin(path, config)}: {_reason(mistake)}."


def _reason(mistake: Mapping[str, Any]) -> str:
    return str(mistake["msg"]).removeprefix("Value error, ")


def _not_json(error: SettingsError) -> list[str]:
    """Which variables hold a list (or a whole branch) that is no JSON; pydantic names the branch alone."""
    lists = {variable(path) for path, field in setting_fields() if get_origin(field.annotation) is tuple}
    branches = {variable(path[:1]) for path, _ in setting_fields()}
    branches |= {variable(path) for path, field in setting_fields() if get_origin(field.annotation) is dict}
    found = []
    for name, value in environment().items():
        try:
            json.loads(value or "") if name in lists | branches else None
        except ValueError:
            example = """'["a", "b"]'""" if name in lists else """'{"name": 1}'"""
            found.append(f"{name} = {value!r} is not valid JSON. Write this setting as {example}.")
    return found or [f"{error}."]


def _origin(path: tuple[str, ...], config: Path | None) -> str:
    if variable(path) in environment():
        return f" (from {variable(path)})"
    if config is not None and _in_file(path, config):
        return f" (from {config})"
    return ""


def _in_file(path: tuple[str, ...], config: Path) -> bool:
    node: object = tomllib.loads(config.read_text(encoding="utf-8"))
    for step in path:
        if not isinstance(node, dict) or step not in node:
            return False
        node = node[step]
    return True


def _nearest(name: str, known: set[str]) -> str:
    for former, now in _RENAMED.items():
        for before, after in ((former, now), (variable(tuple(former.split("."))), variable(tuple(now.split("."))))):
            if name.startswith(before):
                return f" It is now {name.replace(before, after, 1)}."
    if any(name in {former, variable(tuple(former.split(".")))} for former in _REMOVED):
        return " It was removed: delete it."
    near = get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else " See docs/reference/settings.md."
