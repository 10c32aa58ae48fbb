"""How log lines look."""

import errno
import io
import json
import logging
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from inkgate.settings import LogFormat, LogSettings
from inkgate.telemetry.logs import configure_logs


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_json_lines_carry_the_context_and_the_libraries_too() -> None:
    out = io.StringIO()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # as a library may have left it
    configure_logs(LogSettings(format=LogFormat.JSON), out)
    structlog.contextvars.bind_contextvars(request_id="r1")
    structlog.get_logger("inkgate.test").info("read", pages=3, name="Größe")
    logging.getLogger("uvicorn.error").warning("from %s", "uvicorn", extra={"color_message": "x"})
    ours, theirs = [json.loads(text) for text in out.getvalue().splitlines()]
    assert (ours["event"], ours["pages"], ours["level"], ours["request_id"]) == ("read", 3, "info", "r1")
    assert ours["logger"] == "inkgate.test"
    assert ours["timestamp"].endswith("Z")
    assert (theirs["event"], theirs["request_id"]) == ("from uvicorn", "r1")
    assert "color_message" not in theirs
    assert "Größe" in out.getvalue()


@pytest.mark.parametrize("looks", list(LogFormat))
def test_tracebacks_show_no_values(looks: LogFormat) -> None:
    out = io.StringIO()
    configure_logs(LogSettings(format=looks), out)
    words = "content of a document"
    try:
        raise RuntimeError(f"{len(words)} characters")
    except RuntimeError:
        structlog.get_logger("inkgate.test").exception("failed")
    assert "RuntimeError" in out.getvalue()
    assert "21 characters" in out.getvalue()
    assert words not in out.getvalue().replace('"content of a document"', "")


def test_lines_below_the_level_are_left_out() -> None:
    out = io.StringIO()
    configure_logs(LogSettings(level="warning"), out)
    structlog.get_logger("inkgate.test").info("quiet")
    structlog.get_logger("inkgate.test").warning("loud")
    assert "loud" in out.getvalue()
    assert "quiet" not in out.getvalue()


def test_what_pillow_thinks_of_a_document_is_not_an_error_of_the_service() -> None:
    out = io.StringIO()
    configure_logs(LogSettings(format=LogFormat.JSON), out)
    logging.getLogger("PIL.TiffImagePlugin").error("More samples per pixel than can be decoded: %s", 100)
    assert out.getvalue() == ""


def test_set_up_twice_prints_once() -> None:
    out = io.StringIO()
    configure_logs(LogSettings(), io.StringIO())
    configure_logs(LogSettings(), out)
    structlog.get_logger("inkgate.test").info("once")
    assert out.getvalue().count("once") == 1


class Disk(io.StringIO):
    """A destination of the log that may be full."""

    full = False

    def write(self, text: str, /) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_full_disk_costs_lines_which_are_counted_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    disk = Disk()
    configure_logs(LogSettings(format=LogFormat.JSON), disk)
    log = structlog.get_logger("inkgate.test")
    log.info("before")
    disk.full = True
    log.info("lost")
    log.info("lost, too")
    disk.full = False
    log.info("after")
    log.info("later")
    lines = [json.loads(line) for line in disk.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["before", "after", "log_was_not_writable", "later"]
    assert lines[2]["lines"] == 2
    assert capsys.readouterr().err == ""


def test_a_line_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    place = tmp_path / "log"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with place.open("w", encoding="utf-8") as out:
        configure_logs(LogSettings(format=LogFormat.JSON), out)
        log = structlog.get_logger("inkgate.test")
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
        try:
            log.info("cut off")
            log.info("lost")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        log.info("after")
    lines = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["cut off", "after", "log_was_not_writable"]
    assert lines[2]["lines"] == 1


def test_a_line_that_can_not_be_made_is_still_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(LogSettings(), io.StringIO())
    logging.getLogger("uvicorn.error").warning("%d pages", "no number")
    assert "Logging error" in capsys.readouterr().err
