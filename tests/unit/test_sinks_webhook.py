"""Which URLs webhooks may have, and how they are signed."""

import base64
import time
from collections.abc import Sequence

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from inkgate.errors import InputRejected
from inkgate.jobs.sinks.webhook import check_webhook, signatures
from inkgate.settings import WebhookSettings

OLD = "whsec_" + base64.b64encode(bytes(range(32))).decode()
NEW = "whsec_" + base64.b64encode(bytes(range(32, 57))).decode().rstrip("=")
SETTINGS = WebhookSettings(secrets=(SecretStr(OLD),), allow_hosts=("Erp.Internal", "10.0.0.7"))


def headers(secrets: Sequence[str], body: bytes) -> dict[str, str]:
    now = int(time.time())
    signed = signatures([SecretStr(secret) for secret in secrets], "dlv_01", now, body)
    return {"webhook-id": "dlv_01", "webhook-timestamp": str(now), "webhook-signature": signed}


def test_signature_verifies_with_standardwebhooks() -> None:
    assert Webhook(OLD).verify(b'{"a": 1}', headers([OLD], b'{"a": 1}')) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(b'{"a": 2}', headers([OLD], b'{"a": 1}'))


def test_either_secret_verifies_during_a_rotation() -> None:
    both = headers([OLD, NEW], b"{}")
    for secret in (OLD, NEW):
        Webhook(secret).verify(b"{}", both)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?token=b",
        "https://hooks.example.com:8443",
        "http://erp.internal:8080/hook",
        "https://ERP.internal",
        "http://10.0.0.7/",
        "https://93.184.215.14/",
    ],
)
def test_webhook_is_allowed(url: str) -> None:
    check_webhook(url, SETTINGS)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "https:///path",
        "https://user:password@hooks.example.com/",
        "https://hooks.example.com:99999/",
        "https://hooks.example.com:0/",
        "https://10.0.0.8/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://localhost/",
        "https://a.localhost/",
        "https://hooks.example.com/" + "x" * 2000,
        "https://a\x00b/",
        "file:///etc/passwd",
        "https://a]b/x",
        "https://a[b/x",
        "https://h[]/",
    ],
)
def test_webhook_is_refused(url: str) -> None:
    with pytest.raises(InputRejected) as refused:
        check_webhook(url, SETTINGS)
    assert refused.value.code == "webhook_forbidden"


def test_webhook_is_refused_without_secrets() -> None:
    with pytest.raises(InputRejected, match=r"webhooks\.secrets"):
        check_webhook("https://hooks.example.com/", WebhookSettings())
