"""Which addresses and which schemes of URLs lead to the public internet, and nowhere else."""

from __future__ import annotations

import ipaddress
from typing import Any

from ragdb.readers.document import ReadError

# What is not on the public internet: the registries of special purposes of IANA (RFC 6890), and
# what clouds put behind an address that looks public. Of IPv6 only 2000::/3 is global unicast.
REFUSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # behind a carrier's NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's own services
        "169.254.0.0/16",  # link local, metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols, metadata of Oracle
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "::/3",  # loopback, unspecified, compatible and translated addresses
        "2001::/23",  # protocols, Teredo
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
        "4000::/2",  # not global: the rest, up to link and site local and multicast
        "8000::/1",
    )
)
# whose last four bytes are the address that is reached
WRAPPING = tuple(ipaddress.IPv6Network(n) for n in ("::ffff:0:0/96", "64:ff9b::/96"))

# Schemes of fsspec whose servers the store's own library names; any other names its host itself.
STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hf", "github"})
# schemes that would read this machine, or hide where they go
HIDDEN = frozenset({"file", "local", "data", "reference", "jupyter"})


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet, also when it is wrapped in another."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and any(ip in network for network in WRAPPING):
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return not any(ip in network for network in REFUSED)


def store(url: str, allow_private: bool) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it.

    Raises ReadError: `bad_url`, `forbidden_address` for a scheme that may lead anywhere (unless
    allowed), `missing_extra`, `unreachable`.
    """
    scheme = url.partition("://")[0].lower()
    if scheme in HIDDEN or "::" in url:
        raise ReadError(
            "bad_url", f'"{scheme[:80]}" URLs are not read', "give a path, http(s) or s3"
        )
    if scheme not in STORES and not allow_private:
        raise ReadError(
            "forbidden_address",
            f'"{scheme[:80]}" URLs may lead to hosts outside the public internet',
            "add --allow-private if you trust it",
        )
    try:
        import fsspec  # type: ignore[import-untyped]

        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
        return found
    except ImportError as error:
        what = str(error)[:200] if "fsspec" not in str(error) else ""
        raise ReadError(
            "missing_extra",
            what or f'"{scheme[:80]}" URLs need fsspec',
            "pip install 'ragdb-postgres[remote]'",
        ) from None
    except Exception as error:
        # each file system of fsspec raises its own, some already when they are made
        raise unreachable(error) from None


def unreachable(error: Exception) -> ReadError:
    return ReadError(
        "unreachable", f"it cannot be fetched ({type(error).__name__})", "check URL and rights"
    )
