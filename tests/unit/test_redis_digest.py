"""What proves that an entry of a shared Redis is the one that was asked for."""

from __future__ import annotations

from inkgate.storage.redis import digest


def test_a_digest_is_of_the_key_the_value_and_the_secret() -> None:
    every = [
        digest(b"key", b"value"),
        digest(b"keyv", b"alue"),
        digest(b"key", b"valuf"),
        digest(b"key", b"value", b"secret"),
        digest(b"key", b"value", b"another"),
    ]
    assert len(set(every)) == len(every)
    assert {len(each) for each in every} == {16}
    assert digest(b"key", b"value", b"secret") == every[3]


def test_keys_may_be_long_and_differ_at_their_end() -> None:
    assert digest(b"k" * 100 + b"1", b"v") != digest(b"k" * 100 + b"2", b"v")
