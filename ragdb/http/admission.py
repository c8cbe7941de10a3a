"""Who is let in before a body is read: for which host, in what form, from where."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

LOOPBACK = frozenset({"localhost"})
PATIENCE = 5  # seconds that a request waits for those before it to arrive


def misdirected(host: str, allowed: Collection[str]) -> bool:
    """Whether the Host of a request names another server.

    A page of another site reaches this server by a name that it points here (DNS rebinding), and
    never by an address; hence any address is right, and of names those that were allowed.
    """
    name, bracket, rest = host.removeprefix("[").partition("]")
    if not host.startswith("["):
        name, _, rest = host.partition(":")
    elif not bracket or rest[:1] not in ("", ":"):
        return True
    if rest.strip(":") and not rest.strip(":").isdecimal():
        return True
    name = name.lower().removesuffix(".")
    try:
        ipaddress.ip_address(name)
        return False
    except ValueError:
        return name not in LOOPBACK and name not in allowed


def two_lengths(headers: Mapping[str, bytes]) -> bool:
    """Whether two servers could read another end of the body out of a request."""
    return "transfer-encoding" in headers and "content-length" in headers


def has_body(headers: Mapping[str, bytes]) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", b"0").strip(b"0") != b""


class Arrivals:
    """Counts requests whose body is still on its way: `most` of all, a quarter of an address."""

    def __init__(self, most: int) -> None:
        self.most, self.each = most, max(4, most // 4)
        self.by_address: Counter[str] = Counter()
        self.freed = asyncio.Event()

    async def begin(self, client: Any) -> str | None:
        """The address to `end` with; None where there are too many, and stay so for a while.

        Of a burst from one machine, such as the server of a web site, the bodies come in a moment.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while (address := self.take(client)) is None:
                    await self.freed.wait()
                return address
        return None

    def take(self, client: Any) -> str | None:
        """The address to `end` with; None where there are too many now."""
        address = _address(client)
        if self.by_address[address] >= self.each or self.by_address.total() >= self.most:
            return None
        self.by_address[address] += 1
        return address

    def end(self, address: str | None) -> None:
        if address is None:  # it did not begin
            return
        self.by_address[address] -= 1
        if not self.by_address[address]:
            del self.by_address[address]
        self.freed.set()
        self.freed = asyncio.Event()


def _address(client: Any) -> str:
    """Where a request comes from; of IPv6 the network that one customer has."""
    given = str(client[0]) if client else ""
    try:
        ip = ipaddress.ip_address(given)
    except ValueError:
        return given
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(ip) >> 64 << 64, 64)))
    return str(getattr(ip, "ipv4_mapped", None) or ip)
