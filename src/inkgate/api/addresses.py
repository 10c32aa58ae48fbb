"""Which addresses may be fetched from: public ones only, including those embedded in IPv6 addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
"""For local translators (RFC 8215). The operator chooses the position of the IPv4 address in it (RFC 6052, 2.2), and
nothing of it is on the public internet.
"""


def is_public(address: str) -> bool:
    """Whether `address`, as returned by a resolver, is on the public internet.

    Private, loopback, link-local (cloud metadata), carrier, documentation, benchmark, multicast and reserved
    addresses are not; nor are IPv6 addresses that carry such an IPv4 address inside.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        if parsed in _LOCAL_NAT64:
            return False
        inner = _carried(parsed)
        if inner is not None:
            return _is_public(inner)
        # Deprecated forms that some hosts still route; they contain nothing public.
        if parsed.is_site_local:
            return False
    return _is_public(parsed)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a transition mechanism embeds in an IPv6 address."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
