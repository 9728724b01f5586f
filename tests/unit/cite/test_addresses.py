"""The address policy: every kind of private address, in every wrapping and spelling."""

import ipaddress

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from custody.capture.hook.redact import MARKER
from custody.cite.addresses import (
    GLOBAL_V6,
    LOCAL_NAMES,
    PUBLIC_ONLY,
    REDACTED,
    REFUSED_V4,
    REFUSED_V6,
    AddressPolicy,
    RequestTarget,
    UnfitUrl,
    explain_link_ip_refusal,
    parse_link_host_ip,
    parse_link_target,
    resolve_link_redirect,
)
from tests.builders.table import table

PUBLIC_V4 = ("1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0")
PUBLIC_V6 = ("2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001:81b::200e", "2620:0:860:ed1a::1")
METADATA = ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254")

v4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
v6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)


def wrapped(address: ipaddress.IPv4Address) -> dict[str, int]:
    """Return an IPv4 address in every form that IPv6 has for it."""
    n, inverse = int(address), int(address) ^ 0xFFFFFFFF
    return {
        "mapped": 0xFFFF << 32 | n,
        "translated": 0xFFFF << 48 | n,
        "compatible": n,
        "NAT64": 0x64FF9B << 96 | n,
        "local NAT64": 0x64FF9B0001 << 80 | n,
        "local NAT64 of another length": 0x64FF9B0001 << 80 | n << 32,
        "6to4": 0x2002 << 112 | n << 80 | 1,
        "Teredo client": 0x20010000 << 96 | 0x08080808 << 64 | inverse,
        "Teredo server": 0x20010000 << 96 | n << 64 | 0xF7F7F7F7,
        "ISATAP": 0x2A00145040010001 << 64 | 0x5EFE << 32 | n,
        "ISATAP of a global address": 0x2A00145040010001 << 64 | 0x02005EFE << 32 | n,
    }


@table("address", [*PUBLIC_V4, *PUBLIC_V6])
def test_a_public_address_is_allowed(address: str) -> None:
    assert explain_link_ip_refusal(address) is None
    assert PUBLIC_ONLY.explain_address_refusal(address) is None


@table("net", [*REFUSED_V4, *REFUSED_V6])
def test_both_ends_of_every_network_on_the_list_are_refused(net: str) -> None:
    parsed = ipaddress.ip_network(net)
    assert explain_link_ip_refusal(str(parsed[0])) is not None
    assert explain_link_ip_refusal(str(parsed[-1])) is not None


@pytest.mark.parametrize("address", METADATA)
def test_cloud_metadata_addresses_are_refused(address: str) -> None:
    assert explain_link_ip_refusal(address) is not None


@given(v4)
def test_what_the_standard_library_calls_not_global_is_refused(address: ipaddress.IPv4Address) -> None:
    if not address.is_global or address.is_multicast:
        assert explain_link_ip_refusal(str(address)) is not None


@given(v6)
def test_only_the_global_part_of_ipv6_is_allowed(address: ipaddress.IPv6Address) -> None:
    if address not in GLOBAL_V6 or not address.is_global:
        assert explain_link_ip_refusal(str(address)) is not None


@given(v4)
def test_a_wrapped_address_is_refused_whatever_it_wraps(address: ipaddress.IPv4Address) -> None:
    for kind, number in wrapped(address).items():
        assert explain_link_ip_refusal(str(ipaddress.IPv6Address(number))), kind


@table("kind", wrapped(ipaddress.IPv4Address("8.8.8.8")))
def test_each_wrapping_of_a_public_address_is_refused_by_its_name(kind: str) -> None:
    why = explain_link_ip_refusal(str(ipaddress.IPv6Address(wrapped(ipaddress.IPv4Address("8.8.8.8"))[kind])))
    assert why is not None and "a wrapped IPv4 address" in why, "the wrapping is the reason, not what is in it"


@pytest.mark.parametrize("address", ["fe80::1%eth0", "fe80::1%2", "2606:4700::1%eth0", "::1%lo"])
def test_an_address_of_one_network_interface_is_refused(address: str) -> None:
    assert explain_link_ip_refusal(address) == "an address of a single network interface"


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "0x7f000001", "1.2.3.4.5", "01.1.1.1", "1.1.1.1 ", "[::1]"])
def test_text_that_is_not_an_address_is_refused(text: str) -> None:
    assert explain_link_ip_refusal(text) == "not an IP address"


LOOPBACK = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://１２７.０.０.１/",
    "http://①②⑦.0.0.1/",
    "http://%31%32%37.0.0.1/",
    "http://127。0。0。1/",
    "http:\\\\127.0.0.1\\",
    "http:///127.0.0.1/",
    "http:127.0.0.1",
    "http://127.0.0.1\t/",
    "http://1\n27.0.0.1/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:0:808:808::80ff:fffe]/",
    "http://[2a00:1450::5efe:127.0.0.1]/",
    "http://[2a00:1450::200:5efe:127.0.0.1]/",
    "http://0/",
    "http://0.0.0.0/",
    "http://[::]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://ⓛocalhost/",
    "http://[fe80::1%25lo]/",
    "http://[fe80::1%lo]/",
    "http://[::1%25lo]/",
    "http://user@127.0.0.1/",
    "http://example.org@127.0.0.1/",
    "http://example.org:80@127.0.0.1/",
    "http://example.org\\@127.0.0.1/../../",
    "http://127.0.0.1#@example.org/",
    "http://127.0.0.1?@example.org/",
]


@table("url", LOOPBACK)
def test_no_spelling_of_this_machine_is_allowed(url: str) -> None:
    target = parse_link_target(url, PUBLIC_ONLY)
    assert isinstance(target, UnfitUrl) or target.host == "example.org", target


@table(
    ("url", "why"),
    [
        ("ftp://example.org/", "not a web URL"),
        ("file:///etc/passwd", "not a web URL"),
        ("gopher://example.org/", "not a web URL"),
        ("javascript:alert(1)", "not a web URL"),
        ("not a url", "not a web URL"),
        ("", "not a web URL"),
        ("https://example.org/" + "a" * 5000, "not a web URL"),
        ("https://user:word@example.org/", "it contains a user name or a password"),
        ("https://user@example.org/", "it contains a user name or a password"),
        ("https://example.org:22/", "it uses port 22, which is not a usual web port"),
        ("https://example.org:6379/", "it uses port 6379, which is not a usual web port"),
        ("http://printer/", "printer is a name of the local network"),
        ("http://metadata.google.internal/", "metadata.google.internal is a name of a private network"),
        ("http://a..b.org/", "a..b.org is not a valid host name"),
        ("https://example.org/?key=[redacted:token]", "a secret was removed from it"),
    ],
)
def test_refused_urls_have_a_reason(url: str, why: str) -> None:
    assert parse_link_target(url, PUBLIC_ONLY) == UnfitUrl(why)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("HTTP://EXAMPLE.org", RequestTarget("http://example.org/", "example.org", 80)),
        ("https://example.org./a#b", RequestTarget("https://example.org/a", "example.org", 443)),
        ("http://example.org:8080/", RequestTarget("http://example.org:8080/", "example.org", 8080)),
        (
            "https://bücher.example.org/ü",
            RequestTarget("https://xn--bcher-kva.example.org/%C3%BC", *("xn--bcher-kva.example.org", 443)),
        ),
        ("http://134744072/", RequestTarget("http://8.8.8.8/", "8.8.8.8", 80)),
        ("http://[2606:4700::1111]/", RequestTarget("http://[2606:4700::1111]/", "2606:4700::1111", 80)),
    ],
)
def test_a_request_uses_the_normalized_url(url: str, target: RequestTarget) -> None:
    assert parse_link_target(url, PUBLIC_ONLY) == target


some_hosts = (
    st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map("[{}]".format)
    | st.integers(0, 2**32).map(str)
    | st.lists(st.text("abx019-é", min_size=1, max_size=8), min_size=2, max_size=4).map(".".join)
)
some_urls = st.builds(
    "http{}://{}{}/{}".format,
    st.sampled_from(("", "s")),
    some_hosts,
    st.sampled_from(("", ".", ":80", ":8080", ":22")),
    st.text(max_size=20),
)


@given(some_urls | st.text(max_size=60).map("http://{}/".format) | st.text(max_size=80))
@example("http://134744072/")
def test_no_text_becomes_a_request_to_a_private_address(url: str) -> None:
    target = parse_link_target(url, PUBLIC_ONLY)
    event(type(target).__name__)
    if isinstance(target, RequestTarget):
        literal = parse_link_host_ip(target.host)
        assert literal is None or explain_link_ip_refusal(literal) is None
        assert literal is not None or "." in target.host
        assert target.port in PUBLIC_ONLY.ports
        assert parse_link_target(target.url, PUBLIC_ONLY) == target, "a request URL is unambiguous"


@table("name", LOCAL_NAMES)
def test_local_names_are_not_resolved(name: str) -> None:
    assert PUBLIC_ONLY.explain_name_refusal(f"a.{name}") is not None
    assert PUBLIC_ONLY.explain_name_refusal(f"A.{name.upper()}.") is not None
    assert PUBLIC_ONLY.explain_name_refusal(f"{name}.org") is None


def test_a_policy_allows_exactly_what_it_lists() -> None:
    policy = AddressPolicy(frozenset((1234,)), frozenset(("127.0.0.1",)), frozenset(("here",)))
    assert policy.explain_address_refusal("127.0.0.1") is None
    assert policy.explain_address_refusal("127.0.0.2") == "loopback"
    assert policy.explain_address_refusal("::ffff:127.0.0.1") is not None
    assert (policy.explain_name_refusal("here"), policy.explain_name_refusal("there")) == (
        None,
        "a name of the local network",
    )
    assert policy.explain_port_refusal(1234) is None
    assert policy.explain_port_refusal(80) is not None


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.org/b"),
        ("b?c", "https://example.org/a/b?c"),
        ("//other.org/", "https://other.org/"),
        (" http://other.org/ ", "http://other.org/"),
        ("http://[::1", None),
    ],
)
def test_where_a_redirect_leads(location: str, url: str | None) -> None:
    assert resolve_link_redirect("https://example.org/a/", location) == url


def test_a_redacted_url_is_recognized() -> None:
    assert REDACTED == MARKER
