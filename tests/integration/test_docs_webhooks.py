"""The guide's ways to verify a webhook accept what inkgate sends, and nothing else."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from standardwebhooks import WebhookVerificationError

from inkgate.jobs.sinks.webhook import signatures

PAGE = (Path(__file__).parents[2] / "docs/guides/webhooks.md").read_text()
BODY = '{"subject": "jöb"}'.encode()
SECRETS = ["whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2)]


def snippet(language: str) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0])


def headers(at: float) -> dict[str, str]:
    signed = signatures([SecretStr(secret) for secret in SECRETS], "dlv_01", int(at), BODY)
    return {"webhook-id": "dlv_01", "webhook-timestamp": str(int(at)), "webhook-signature": signed}


def test_python_verifies() -> None:
    names: dict[str, Any] = {}
    exec(snippet("python"), names)  # noqa: S102 - of our own guide
    for secret in SECRETS:
        assert names["verify"](secret, headers(time.time()), BODY) == {"subject": "jöb"}
    for other in (BODY + b" ", BODY.replace(b"b", b"c")):
        with pytest.raises(WebhookVerificationError):
            names["verify"](SECRETS[0], headers(time.time()), other)


@pytest.mark.real
def test_node_verifies(tmp_path: Path) -> None:
    if shutil.which("node") is None:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail("node is not installed")
        pytest.skip("node is not installed")
    cases = [
        *((secret, headers(time.time()), BODY, True) for secret in SECRETS),
        (SECRETS[0], headers(time.time()), BODY + b" ", False),
        ("whsec_" + base64.b64encode(bytes(32)).decode(), headers(time.time()), BODY, False),
        (SECRETS[0], headers(time.time() - 400), BODY, False),
        (SECRETS[0], {**headers(time.time()), "webhook-timestamp": "soon"}, BODY, False),
    ]
    given = [[secret, found, base64.b64encode(body).decode()] for secret, found, body, _ in cases]
    program = f"""{snippet("js")}
    for (const [secret, headers, body] of {json.dumps(given)}) {{
      try {{ console.log(verify(secret, headers, Buffer.from(body, "base64")).subject) }} catch {{ console.log("no") }}
    }}"""
    (tmp_path / "verify.mjs").write_text(program)
    done = subprocess.run(["node", tmp_path / "verify.mjs"], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["jöb" if right else "no" for *_, right in cases]


def test_shell_signs(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (tmp_path / "body.json").write_bytes(BODY)
    environment = {**os.environ, "SECRET": SECRETS[0], "ID": "dlv_01", "TIMESTAMP": "1796000403"}
    command = ["sh", "-ec", snippet("sh")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert f"v1,{done.stdout.strip()}" == headers(1796000403)["webhook-signature"].split()[0]
