"""`inkgate feishu` as users start it, with a real service, against a double of Feishu."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from support.feishu import running_feishu
from support.server import Server, clean_environment, inkgate, inkgate_here, running_server

SAMPLE = Path(__file__).parents[4] / "examples" / "report.png"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.mark.anyio
async def test_a_bot_reads_a_photo_stops_at_a_signal_and_keeps_its_secrets(server: Server, tmp_path: Path) -> None:
    async with running_feishu() as feishu:
        secrets = {"INKGATE_FEISHU_APP_ID": feishu.app, "INKGATE_FEISHU_APP_SECRET": feishu.secret}
        command = ["feishu", "--server", server.url, "--domain", feishu.url, "--folder", str(tmp_path)]
        log = tmp_path / "log"
        with log.open("wb") as out:
            bot = await anyio.open_process(
                [sys.executable, "-m", "inkgate", *command], stdout=out, stderr=out, env=clean_environment(**secrets)
            )
            async with bot:
                try:
                    with anyio.fail_after(300):
                        message_id = await feishu.photo(SAMPLE.read_bytes())
                        await feishu.until(lambda: feishu.sent)
                        bot.send_signal(signal.SIGTERM)
                        await bot.wait()
                finally:
                    if bot.returncode is None:
                        bot.kill()
        said = log.read_text()
        assert bot.returncode == 0, said
        assert [sent.parent for sent in feishu.sent] == [message_id]
        assert "Gaza & West Bank" in feishu.sent[0].text
        assert f"Connected to {feishu.url}" in said
        assert not [secret for secret in (feishu.secret, "the-ticket", "Gaza") if secret in said]
        assert (tmp_path / "inbox.sqlite").stat().st_mode & 0o077 == 0
        (tmp_path / "secret").write_text("wrong\n")
        by_file = {"INKGATE_FEISHU_APP_ID": feishu.app, "INKGATE_FEISHU_APP_SECRET_FILE": str(tmp_path / "secret")}
        wrong = await anyio.to_thread.run_sync(lambda: inkgate(*command, environment=by_file))
        assert (wrong.returncode, b"Check the app's ID" in wrong.stderr) == (1, True), wrong.stderr


def test_the_apps_id_is_needed() -> None:
    missing = inkgate_here("feishu")
    assert (missing.returncode, b"Set INKGATE_FEISHU_APP_ID and INKGATE_FEISHU_APP_SECRET," in missing.stderr) == (
        2,
        True,
    )
    half = inkgate_here("feishu", environment={"INKGATE_FEISHU_APP_ID": "cli_1"})
    assert (half.returncode, b"Set INKGATE_FEISHU_APP_SECRET," in half.stderr) == (2, True)
