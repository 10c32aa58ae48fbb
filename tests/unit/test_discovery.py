"""Servers found by name: which are added and retired when the addresses of a name change."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from inkgate.model_servers.discovery import Discovery, ServiceName
from inkgate.settings import VllmSettings

pytestmark = pytest.mark.anyio


class Names:
    """A DNS, and what was added and retired."""

    def __init__(self, most: int = 64, *names: str) -> None:
        self.addresses: dict[str, Sequence[str] | OSError] = {}
        self.told: list[str] = []
        self.out: set[str] = set()
        self.discovery = Discovery(
            names or ("dns+http://vllm:8000/v1",),
            lambda url: self.told.append(f"+{url}"),
            lambda url: self.told.append(f"-{url}"),
            5.0,
            most,
            lambda url: url not in self.out,
        )
        self.discovery.lookup = self._lookup

    async def _lookup(self, host: str, port: int) -> Sequence[str]:
        found = self.addresses.get(host, ())
        if isinstance(found, OSError):
            raise found
        return found

    async def changes(self, found: Sequence[str] | OSError, host: str = "vllm") -> list[str]:
        self.addresses[host] = found
        self.told.clear()
        await self.discovery.look()
        return self.told


async def test_every_address_is_a_server_and_they_come_and_go() -> None:
    names = Names()
    assert await names.changes(["10.0.0.2", "10.0.0.1"]) == ["+http://10.0.0.1:8000/v1", "+http://10.0.0.2:8000/v1"]
    assert await names.changes(["10.0.0.1", "10.0.0.2"]) == []
    assert await names.changes(["10.0.0.2", "fd00::3"]) == ["-http://10.0.0.1:8000/v1", "+http://[fd00::3]:8000/v1"]


@pytest.mark.parametrize("answer", [OSError("no such host"), []])
async def test_a_name_that_can_t_be_looked_up_changes_nothing(answer: Sequence[str] | OSError) -> None:
    names = Names()
    await names.changes(["10.0.0.1"])
    assert await names.changes(answer) == []
    assert names.discovery.urls == ["http://10.0.0.1:8000/v1"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([], ["-http://10.0.0.2:8000/v1"]),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), ["-http://10.0.0.2:8000/v1"]),
        (socket.gaierror(socket.EAI_NODATA, "no address"), ["-http://10.0.0.2:8000/v1"]),
        (socket.gaierror(socket.EAI_AGAIN, "later"), []),
    ],
)
async def test_a_server_that_works_no_more_is_left_once_its_name_has_no_address(
    answer: Sequence[str] | OSError, expected: list[str]
) -> None:
    names = Names()
    await names.changes(["10.0.0.1", "10.0.0.2"])
    names.out.add("http://10.0.0.2:8000/v1")
    assert await names.changes(answer) == expected
    assert await names.changes(["10.0.0.2", "10.0.0.1"]) == [told.replace("-", "+", 1) for told in expected]


async def test_the_number_of_servers_is_bounded_and_known_ones_stay() -> None:
    names = Names(2)
    await names.changes(["10.0.0.8", "10.0.0.9"])
    assert await names.changes([f"10.0.0.{n}" for n in range(200)]) == []
    assert await names.changes(["10.0.0.1", "10.0.0.2", "10.0.0.9"]) == [
        "-http://10.0.0.8:8000/v1",
        "+http://10.0.0.1:8000/v1",
    ]


async def test_an_address_with_two_names_is_one_server() -> None:
    names = Names(64, "dns+http://a:8000/v1", "dns+http://b:8000/v1")
    await names.changes(["10.0.0.1"], "a")
    assert await names.changes(["10.0.0.1"], "b") == []
    assert await names.changes(["10.0.0.2"], "a") == ["+http://10.0.0.2:8000/v1"]


def test_a_name_needs_no_port_and_no_path() -> None:
    assert ServiceName.of("dns+http://vllm").url("10.0.0.1") == "http://10.0.0.1:80/v1"
    assert ServiceName.of("dns+http://vllm:9/base/v1/").url("10.0.0.1") == "http://10.0.0.1:9/base/v1"
    assert VllmSettings(urls=("dns+http://vllm:8000/v1", "http://other:8000/v1")).urls
    with pytest.raises(ValidationError):
        VllmSettings(urls=("dns+https://vllm:8000/v1",))
