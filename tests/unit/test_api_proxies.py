"""Whose a request is that came through proxies."""

import pytest
from pydantic import ValidationError

from inkgate.api.http.origins import TrustedProxies
from inkgate.settings import ServerSettings

TRUSTED = TrustedProxies(ServerSettings(host="192.0.2.7", trusted_proxies=("10.0.0.0/8", "2001:db8::5")))


def test_the_visitor_is_the_nearest_that_is_no_trusted_proxy() -> None:
    cases = [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("192.0.2.7", ["198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8::5", ["2001:db8::77"], "2001:db8::77"),
        ("10.1.2.3", ["1.2.3.4, 198.51.100.1, 10.9.9.9"], "198.51.100.1"),
        ("10.1.2.3", ["1.2.3.4", "198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["10.3.3.3, 10.9.9.9"], "10.3.3.3"),
        ("10.1.2.3", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.1.2.3", ["[2001:db8::77]:4711"], "2001:db8::77"),
        ("10.1.2.3", ["1.2.3.4, unknown"], "10.1.2.3"),
        ("10.1.2.3", ["1.2.3.4, , 10.9.9.9"], "10.9.9.9"),
        ("10.1.2.3", [""], "10.1.2.3"),
    ]
    wrong = [
        (peer, forwarded_for, found)
        for peer, forwarded_for, visitor in cases
        if (found := TRUSTED.visitor(peer, forwarded_for)) != visitor
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"trusted_proxies": ("proxy.example",)},
        {"trusted_proxies": ("10.0.0.0/40",)},
        {"root_path": "inkgate"},
        {"root_path": "/a b"},
        {"root_path": "//a"},
        {"root_path": "/v1"},
        {"root_path": "/ui/inkgate"},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ServerSettings.model_validate(wrong)


def test_a_slash_at_the_end_of_the_root_path_is_left_out() -> None:
    assert ServerSettings(root_path="/a/b/").root_path == "/a/b"
    assert ServerSettings(root_path="/").root_path == ""
