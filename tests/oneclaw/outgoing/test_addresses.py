"""Which IP addresses are of the internet, of networks of one's own, or of neither."""

from ipaddress import ip_address, ip_network

import pytest

from oneclaw.outgoing.addresses import may_reach
from oneclaw.outgoing.purposes import Reach

INTERNET = ["93.184.216.34", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "2606:4700::1111"]
OWN = [
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
    *("198.18.0.1", "::1", "fc00::1", "fd12:3456::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::10.0.0.1"),
    *("::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1", "2002:7f00:1::", "::127.0.0.1"),
]
NEITHER = [
    *("0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "100.100.100.200"),
    *("168.63.129.16", "::", "fe80::1", "febf::1", "fec0::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254"),
    *("2001:db8::1", "2001:2::1", "3fff::1", "4000::1", "100::1", "5f00::1", "::ffff:169.254.169.254"),
    *("64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254", "2002:a9fe:a9fe::1", "::ffff:0:169.254.169.254"),
    # Teredo, with the client 169.254.169.254.
    "2001:0:5ef5:79fb:0:0:5601:5601",
]


@pytest.mark.parametrize("address", INTERNET)
def test_the_internet_is_reached_by_every_purpose(address):
    assert may_reach(ip_address(address), Reach.PUBLIC, [])
    assert may_reach(ip_address(address), Reach.OWN, [])


@pytest.mark.parametrize("address", OWN)
def test_networks_of_ones_own_are_reached_from_the_environment_alone(address):
    assert not may_reach(ip_address(address), Reach.PUBLIC, [])
    assert may_reach(ip_address(address), Reach.OWN, [])


@pytest.mark.parametrize("address", NEITHER)
def test_other_addresses_are_reached_only_when_a_setting_lists_them(address):
    parsed = ip_address(address)
    for reach in Reach:
        assert not may_reach(parsed, reach, [])
        # A listed IPv6 network allows nothing of IPv4 by itself.
        inner = [ip_network("0.0.0.0/0")] if parsed.version == 6 else []
        assert may_reach(parsed, reach, [ip_network(address), *inner])


@pytest.mark.parametrize(("address", "network"), [("100.100.100.200", "100.64.0.0/10"), ("fd00:ec2::254", "fd00::/8")])
def test_metadata_of_a_cloud_is_not_among_the_addresses_of_a_listed_network(address, network):
    for reach in Reach:
        assert not may_reach(ip_address(address), reach, [ip_network(network)])


def test_a_listed_network_of_nat64_allows_the_internet_behind_it_and_no_private_addresses():
    nat64 = [ip_network("64:ff9b::/96")]
    assert may_reach(ip_address("64:ff9b::93.184.216.34"), Reach.PUBLIC, nat64)
    assert not may_reach(ip_address("64:ff9b::10.0.0.1"), Reach.PUBLIC, nat64)
