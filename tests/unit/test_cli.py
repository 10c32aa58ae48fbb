"""The commands, as far as they can be tried without reading a document."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import ClassVar

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from inkgate import __version__
from inkgate.cli import commands
from inkgate.cli.app import app
from inkgate.cli.configure import setting_fields, unknown_variables, variable
from inkgate.cli.read import chosen_formats
from inkgate.cli.serve import is_loopback
from inkgate_client.format_names import Format

runner = CliRunner()


def test_the_version_is_printed() -> None:
    assert runner.invoke(app, ["--version"]).stdout == f"inkgate {__version__}\n"


@pytest.mark.parametrize(
    "variables",
    [
        {"INKGATE_CACHE__REDIS_URL": "redis://127.0.0.1:1"},
        {"INKGATE_RATE_LIMIT__STORAGE_URL": "redis://127.0.0.1:1", "INKGATE_RATE_LIMIT__PER_KEY": "9/minute"},
    ],
)
def test_a_redis_without_its_client_is_told_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    ended = runner.invoke(app, ["serve", "--port", "0"], env={"INKGATE_METRICS__PORT": "0", **variables})
    assert ended.exit_code == 2
    assert "names a Redis server" in ended.stderr
    assert "pip install 'redis>=5'`" in ended.stderr


@pytest.mark.parametrize("command", [["work"], ["serve", "--port", "0"]], ids=" ".join)
def test_jobs_that_lack_a_package_end_the_start(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    variables = {"INKGATE_METRICS__PORT": "0", "INKGATE_JOBS__DATABASE": "postgresql://127.0.0.1:9/inkgate"}
    ended = runner.invoke(app, command, env=variables)
    assert ended.exit_code == 2
    assert "`jobs.database` needs" in ended.stderr
    assert "psycopg" in ended.stderr


@pytest.mark.parametrize(
    "command",
    [[], ["read"], ["serve"], ["key"], ["eval"], ["doctor"], ["jobs"], ["jobs", "ls"], ["jobs", "purge"]],
    ids=" ".join,
)
def test_every_command_explains_itself(command: list[str]) -> None:
    shown = runner.invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    assert "Usage:" in shown.stdout


def test_formats_are_named_by_name_or_suffix_as_over_http() -> None:
    assert chosen_formats(["md,html", "Markdown"]) == (Format.MARKDOWN, Format.HOCR)


MISUSES: list[tuple[list[str], str]] = [
    (["read", "nowhere.png"], "no such file"),
    (
        ["read", "page.png", "--engine", "tesseract"],
        "Unknown engine 'tesseract'. Available engines: ppocr, transformers,",
    ),
    (["read", "page.png", "--engine", "tesseract"], "Name one of them with --engine"),
    (["read", "page.png", "-o", "out", "--overwrite", "--skip-existing"], "contradict each other"),
    (["read", "page.png", "-o", "plain.toml/out"], "plain.toml is a file"),
    (["extract", "page.png", "--type", "receipt", "-o", "plain.toml/out"], "plain.toml is a file"),
    (["extract", "page.png", "--type", "receipt", "-f", "csv", "-o", "plain.toml/a.csv"], "plain.toml is a file"),
    (["read", "page.png", "-f", "odt"], "'odt' is not a format"),
    (["read", "page.png", "-f", "text,json"], "-o DIR"),
    (["read", "page.png", "--pages", "3-1"], "'3-1'"),
    (["read", "page.png", "--pages", "0"], "'0'"),
    (["read", "page.png", "--pdf-text", "maybe"], "maybe"),
    (["read", "page.png", "--config", "nowhere.toml"], "nowhere.toml"),
    (["read", "page.png", "--config", "bad.toml"], "is not valid TOML"),
    (["read", "page.png", "--config", "typo.toml"], "server.prot (from typo.toml) is not a setting"),
    (["read", "page.png", "--config", "typo.toml"], "Did you mean server.port?"),
    (["read", "page.png", "--config", "value.toml"], "server.port = 'x' (from value.toml)"),
    (
        ["serve", "--config", "plain.toml", "--port", "1"],
        "server = 5 (from plain.toml): this is a table of settings",
    ),
    (["serve", "--config", "plain.toml", "--host", "::1"], "engine.ppocr = 'x' (from plain.toml): this is a table"),
    (["serve", "--config", "rate.toml"], "rate_limit.per_key = 'often' (from rate.toml): write it as 60/minute"),
    (["serve", "--config", "rate.toml"], "'redis://***@h:x' (from rate.toml): write it as memory://, redis://host"),
    (["serve", "--config", "rate.toml"], "cache.redis_url (from rate.toml): write it as redis://host:6379/0"),
    (["serve", "--config", "rate.toml"], "auth.key_hashes (from rate.toml): each is a SHA-256 in 64 hexadecimal"),
    (["serve", "--config", "typo.toml"], "Did you mean server.port?"),
    (["serve", "--config", "names.toml"], "fields.witness (from names.toml) is not a setting. It is now fields.ground"),
    (["serve", "--config", "former.toml"], "serving.ladder (from former.toml) is not a setting. It is now serving.deg"),
    (
        ["serve", "--config", "former.toml"],
        "serving.scheduling.overtake_s (from former.toml) is not a setting. It was rem",
    ),
    (["serve", "--port", "99999"], "65535"),
    (["serve", "--vllm-url", "http://127.0.0.1:9"], "Add --engine with the model's name"),
    (["read", "page.png", "--vllm-model", "m"], "and the engine is ppocr"),
    *(
        (["serve", "--engine", "hunyuanocr", "--vllm-url", url], "write it as http://host:port")
        for url in ("http://", "http://h:99999", "http://h:a/")
    ),
    (
        ["work", "--config", "sink.toml"],
        "sinks.rows.table.database: write it as postgresql://user:password@host",
    ),
    (["work", "--config", "folder.toml"], "page.png/jobs of the database of jobs can't be written"),
    (["serve", "--port", "0", "--config", "folder.toml"], "page.png/jobs/uploads of the uploads of jobs can't be"),
    (["serve", "--host", "192.0.2.1"], "no API key is set"),
    (["frobnicate"], "frobnicate"),
]


def test_misuse_is_told_with_status_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page.png").write_bytes(b"")
    Path("bad.toml").write_text("server = [")
    Path("typo.toml").write_text("[server]\nprot = 1\n")
    Path("names.toml").write_text("[fields]\nwitness = 'engine'\n")
    Path("former.toml").write_text("[serving.ladder]\nenabled = false\n[serving.scheduling]\novertake_s = 1\n")
    Path("plain.toml").write_text("server = 5\n[engine]\nppocr = 'x'\n")
    Path("rate.toml").write_text(
        "[rate_limit]\nper_key = 'often'\nstorage_url = 'redis://me:hush@h:x'\n"
        "[cache]\nredis_url = 'me:hush@localhost'\n[auth]\nkey_hashes = ['inkgate_hush']\n"
    )
    Path("sink.toml").write_text(
        "[sinks.rows]\nkind = 'table'\ndatabase = 'hush'\ntable = 't'\ncolumns = {a = 'job.id'}\nkey = ['a']\n"
    )
    Path("folder.toml").write_text("[jobs]\nfolder = 'page.png/jobs'\n")
    Path("value.toml").write_text("[server]\nport = 'x'\n")
    wrong = []
    for arguments, message in MISUSES:
        ended = runner.invoke(app, arguments)
        told = " ".join(ended.stderr.split())
        if ended.exit_code != 2 or message not in told or "hush" in told:
            wrong.append((arguments, message, ended.exit_code, told))
    assert wrong == []


def test_a_key_comes_with_the_hash_that_settings_keep_and_is_new_each_time() -> None:
    shown = [runner.invoke(app, ["key"]).stdout for _ in range(2)]
    keys = [re.findall(r"^    (inkgate_[\w-]{43})$", text, re.MULTILINE)[0] for text in shown]
    assert keys[0] != keys[1]
    for key, text in zip(keys, shown, strict=True):
        assert f'key_hashes = ["{hashlib.sha256(key.encode()).hexdigest()}"]' in text


def test_settings_that_do_not_go_together_are_told_of_without_their_secrets(tmp_path: Path) -> None:
    file = tmp_path / "both.toml"
    file.write_text('[engine.vllm]\nurls = ["http://me:hush@a:8000/v1"]\napi_key = "open-sesame"\n')
    ended = runner.invoke(app, ["serve", "--config", str(file)])
    assert ended.exit_code == 2
    told = " ".join(ended.stderr.split())
    assert "engine.vllm.api_key and the user and password in engine.vllm.urls" in told
    assert "hush" not in told
    assert "sesame" not in told


def test_variables_that_are_no_settings_are_found_with_the_nearest_that_is() -> None:
    every = {variable(path): "" for path, _ in setting_fields()}
    fine = {"PATH": "", "INKGATE_CONFIG": "", "INKGATE_REQUIRE_ALL": "1", "INKGATE_SERVER": "{}"}
    assert list(unknown_variables(every | fine)) == []
    (message,) = unknown_variables({"INKGATE_PDF__DIP": "1"})
    assert message == "INKGATE_PDF__DIP in the environment is not a setting. Did you mean INKGATE_PDF__DPI?"
    (message,) = unknown_variables({"INKGATE_SERVING__LADDER__UP_S": "1"})
    assert message.endswith("is not a setting. It is now INKGATE_SERVING__DEGRADATION__UP_S.")
    (message,) = unknown_variables({"INKGATE_XYZZY_PLUGH": "1"})
    assert "docs/reference/settings.md" in message


def test_a_list_in_the_environment_that_is_no_json_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INKGATE_AUTH__KEY_HASHES", "abc")  # the environment is the interface under test
    ended = runner.invoke(app, ["serve"])
    assert ended.exit_code == 2
    assert "INKGATE_AUTH__KEY_HASHES = 'abc' is not valid JSON" in ended.stderr


def test_only_loopback_addresses_are_out_of_reach() -> None:
    cases = [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - never bound
        ("::", False),
        ("192.168.1.1", False),
        ("example.org", False),
    ]
    assert [(host, found) for host, loopback in cases if (found := is_loopback(host)) is not loopback] == []


def test_help_names_values_as_people_do_and_not_by_their_types(capsys: pytest.CaptureFixture[str]) -> None:
    command = get_command(commands.build())
    commands.name_values(command)
    wrong: list[str] = []

    def check(command: object, name: str) -> None:
        assert isinstance(command, TyperCommand | TyperGroup)
        with typer.Context(command, info_name=name, **command.context_settings) as context:
            for each in command.get_params(context):
                shown = each.get_help_record(context)
                if shown and (re.search("<[a-z]|TEXT|INTEGER|FLOAT|PATH_|[.]{3}", shown[0]) or each.metavar is None):
                    wrong.append(f"{name}: {shown[0]}")
        for inner in command.commands.items() if isinstance(command, TyperGroup) else ():
            check(inner[1], f"{name} {inner[0]}")

    check(command, "inkgate")
    assert wrong == []
    command(["read", "--help"], prog_name="inkgate", standalone_mode=False)
    shown = capsys.readouterr().out
    assert "<bool>" not in shown
    assert [panel for panel in ("Options", "Who reads", "Engine and settings") if f"─ {panel} ─" not in shown] == []
    assert re.search(r"--help +-h +Show", shown)


def test_help_comes_without_loading_what_reading_needs() -> None:
    code = (
        "import sys, inkgate.cli.app; print([m for m in ('cv2', 'onnxruntime', 'fastapi', 'PIL') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


class Point(EntryPoint):
    """An entry point of a package that isn't installed here."""

    loads: ClassVar[dict[str, object]] = {}

    def load(self) -> object:
        if self.value not in self.loads:
            raise ImportError(f"no module {self.value}")
        if isinstance(found := self.loads[self.value], BaseException):
            raise found
        return found


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What `hello`, `greet` and `broken` load, which installed packages register."""
    loads: dict[str, object] = {}
    monkeypatch.setattr(Point, "loads", loads)
    found = [Point(name, f"other:{name}", "inkgate.commands") for name in ("hello", "greet", "broken", "read")]
    monkeypatch.setattr(
        "inkgate.cli.commands.entry_points", lambda group: [each for each in found if group == each.group]
    )
    commands._registered.cache_clear()
    yield loads
    commands._registered.cache_clear()


def test_a_package_adds_commands_and_one_that_is_broken_harms_no_other(others: dict[str, object]) -> None:
    def hello(name: str) -> None:
        """Greet somebody."""
        print(f"Hello {name}.")

    others |= {"other:hello": hello, "other:greet": commands.Command(hello, "Greetings", explain=True)}
    assert runner.invoke(commands.build(), ["hello", "Ada"]).stdout == "Hello Ada.\n"
    assert runner.invoke(commands.build(["greet"]), ["greet", "Bob"]).stdout == "Hello Bob.\n"
    shown = " ".join(runner.invoke(commands.build(), ["--help"]).stdout.split())
    assert "Greetings" in shown
    assert commands.OTHERS in shown
    assert "Read documents and print or write their text." in shown
    ended = runner.invoke(commands.build(), ["broken"])
    assert (ended.exit_code, "inkgate broken: other:broken can't be loaded: ImportError" in ended.stderr) == (1, True)


@pytest.mark.parametrize("loaded", [5, sys, commands.Command(5), SystemExit(3)])  # type: ignore[arg-type]
def test_what_is_no_command_harms_no_other(others: dict[str, object], loaded: object) -> None:
    others["other:greet"] = loaded
    shown = runner.invoke(commands.build(), ["--help"])
    assert (shown.exit_code, "Read documents and print or write their text." in shown.stdout) == (0, True)
    ended = runner.invoke(commands.build(["greet"]), ["greet"])
    assert (ended.exit_code, "inkgate greet: other:greet can't be loaded: " in ended.stderr) == (1, True)


def test_a_command_of_a_package_that_is_not_installed_says_what_to_install(
    others: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "PACKAGES", {"weigh": "inkgate-scales"})
    for arguments in (["weigh"], ["weigh", "--help"], ["weigh", "page.png", "--much", "3"]):
        ended = runner.invoke(commands.build(), arguments)
        assert ended.exit_code == 2
        assert "inkgate weigh needs the package inkgate-scales: `" in ended.stderr
        assert "packages/inkgate-scales`" in ended.stderr
    assert commands.NOT_INSTALLED in runner.invoke(commands.build(), ["--help"]).stdout
