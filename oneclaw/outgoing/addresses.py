"""Classify IP addresses: which are of the internet, of an organisation's own networks, or of neither. Pure.

The networks are those of IANA's special-purpose registries; what `ipaddress` says of them depends on the release of
Python.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from oneclaw.outgoing.purposes import Reach

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _networks(*texts: str) -> Sequence[Network]:
    return tuple(map(ip_network, texts))


# The networks in which organisations run servers of their own.
OWN = _networks(
    "10.0.0.0/8",
    "100.64.0.0/10",  # behind carrier-grade NAT; also of overlay networks
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",  # benchmarks; also of proxies that invent addresses
    "::1/128",
    "fc00::/7",
)
# What else is not of the internet.
RESERVED = _networks(
    "0.0.0.0/8",
    "169.254.0.0/16",  # link-local, with the metadata of most clouds
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
)
# The addresses of cloud metadata that are not link-local: of Alibaba, Azure, AWS and Google.
METADATA = _networks("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128")
# All of the internet that has IPv6 addresses.
GLOBAL_IPV6 = IPv6Network("2000::/3")
# Networks whose last 32 bits are an IPv4 address: mapped, translated, compatible, and NAT64.
WITH_IPV4 = _networks("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48")


def may_reach(address: Address, reach: Reach, listed: Iterable[Network]) -> bool:
    """Return whether requests of `reach` may go to `address`; `listed`: the networks that a setting allows.

    An IPv4 address inside of an IPv6 address (mapped, NAT64, 6to4, Teredo) must be allowed too. Without the setting,
    such forms never count as addresses of the internet.
    """
    embedded = embedded_ipv4(address)
    if _is_in(address, METADATA):
        # Only an address that is listed by itself: a network of a company may contain it.
        return any(address in network and network.num_addresses == 1 for network in listed)
    if _is_in(address, listed):
        return embedded is None or may_reach(embedded, reach, listed)
    if embedded is not None:
        return reach is Reach.OWN and may_reach(embedded, reach, listed)
    if _is_in(address, RESERVED):
        return False
    if _is_in(address, OWN):
        return reach is Reach.OWN
    return address.version == 4 or address in GLOBAL_IPV6


def embedded_ipv4(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that packets to `address` would go to in the end; None when it contains none."""
    if not isinstance(address, IPv6Address) or int(address) <= 1:
        return None
    if _is_in(address, WITH_IPV4):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.sixtofour


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
