"""The addresses that a link check may contact.

Only this file decides that. Public pages are on the public network, so everything else is refused: this machine, its
network and provider, reserved networks, and addresses that wrap another address. No user or repository can change
these rules.
"""

import ipaddress
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urljoin

import can_ada
from msgspec import Struct

from custody.cite.urls import URL_CHARS_MAX

IPv4 = ipaddress.IPv4Address
IPv6 = ipaddress.IPv6Address

REFUSED_V4: MappingProxyType[str, str] = MappingProxyType(
    {
        "0.0.0.0/8": "unspecified",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a provider's customers",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "a cloud provider's internal service",
        "169.254.0.0/16": "link-local, used for cloud metadata",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved for protocols",
        "192.0.2.0/24": "for documentation",
        "192.31.196.0/24": "reserved for protocols",
        "192.52.193.0/24": "reserved for protocols",
        "192.88.99.0/24": "a 6to4 relay",
        "192.168.0.0/16": "private",
        "192.175.48.0/24": "reserved for protocols",
        "198.18.0.0/15": "for benchmarks",
        "198.51.100.0/24": "for documentation",
        "203.0.113.0/24": "for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }
)
"""IPv4 networks without public pages: the special-purpose registry, and internal addresses of clouds."""

GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned to the public network."""

REFUSED_V6: MappingProxyType[str, str] = MappingProxyType(
    {
        "::/128": "unspecified",
        "::1/128": "loopback",
        "::ffff:0:0/96": "a wrapped IPv4 address (mapped)",
        "::ffff:0:0:0/96": "a wrapped IPv4 address (translated)",
        "::/96": "a wrapped IPv4 address (compatible)",
        "64:ff9b::/96": "a wrapped IPv4 address (NAT64)",
        "64:ff9b:1::/48": "a wrapped IPv4 address (local NAT64)",
        "100::/64": "a discard address",
        "2001::/32": "a wrapped IPv4 address (Teredo)",
        "2001:2::/48": "for benchmarks",
        "2001:db8::/32": "for documentation",
        "2001::/23": "reserved for protocols",
        "2002::/16": "a wrapped IPv4 address (6to4)",
        "2620:4f:8000::/48": "reserved for protocols",
        "3fff::/20": "for documentation",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "private (site-local)",
        "ff00::/8": "multicast",
    }
)
"""IPv6 networks without public pages; the first match gives the reason."""

LOCAL_NAMES: MappingProxyType[str, str] = MappingProxyType(
    {
        "localhost": "this machine",
        "local": "the local network",
        "localdomain": "the local network",
        "internal": "a private network",
        "intranet": "a private network",
        "lan": "the local network",
        "home": "the local network",
        "corp": "a private network",
        "arpa": "no pages",
        "onion": "another network",
        "alt": "another network",
        "test": "tests",
        "example": "documentation",
        "invalid": "nothing",
    }
)
"""Top-level names without public pages."""

PORTS = frozenset((80, 443, 8080, 8443))
"""Usual web ports. A service on another port may act on the request."""

_V4 = tuple((ipaddress.IPv4Network(net), why) for net, why in REFUSED_V4.items())
_V6 = tuple((ipaddress.IPv6Network(net), why) for net, why in REFUSED_V6.items())
_ISATAP = frozenset((0x00005EFE, 0x02005EFE))
_WORD = 32
_LABEL_CHARS_MAX = 63
_NAME_CHARS_MAX = 253


class AddressPolicy(Struct, frozen=True):
    """The addresses that may be contacted; only tests use another policy than ``PUBLIC_ONLY``."""

    ports: frozenset[int] = PORTS
    also: frozenset[str] = frozenset()
    """Addresses that are allowed although they are not public."""
    also_names: frozenset[str] = frozenset()
    """Names that are allowed although they are local."""

    def explain_address_refusal(self, address: str) -> str | None:
        """Return why an IP address is refused; None if it is allowed.

        >>> PUBLIC_ONLY.explain_address_refusal("10.0.0.1")
        'private'
        >>> PUBLIC_ONLY.explain_address_refusal("::ffff:93.184.216.34")
        'a wrapped IPv4 address (mapped)'
        >>> PUBLIC_ONLY.explain_address_refusal("93.184.216.34")
        """
        return None if address in self.also else explain_link_ip_refusal(address)

    def explain_name_refusal(self, name: str) -> str | None:
        """Return why a host name is refused; None if it may be resolved.

        >>> PUBLIC_ONLY.explain_name_refusal("printer")
        'a name of the local network'
        >>> PUBLIC_ONLY.explain_name_refusal("example.org")
        """
        if name in self.also_names:
            return None
        labels = name.lower().removesuffix(".").split(".")
        if len(name) > _NAME_CHARS_MAX or not all(0 < len(label) <= _LABEL_CHARS_MAX for label in labels):
            return "not a valid host name"
        if labels[-1] in LOCAL_NAMES:
            return f"a name of {LOCAL_NAMES[labels[-1]]}"
        return "a name of the local network" if len(labels) == 1 else None

    def explain_port_refusal(self, port: int) -> str | None:
        """Return why a port is refused; None if it is allowed."""
        return None if port in self.ports else f"port {port}, which is not a usual web port"


PUBLIC_ONLY = AddressPolicy()


def explain_link_ip_refusal(address: str) -> str | None:
    """Return why an IP address is not public; None if it is.

    Text that is not an IP address, or an address of one network interface (``fe80::1%eth0``), is never public.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(parsed, IPv4):
        return next((why for net, why in _V4 if parsed in net), None)
    if parsed.scope_id is not None:
        return "an address of a single network interface"
    if _is_isatap_link_ip(parsed):
        return "a wrapped IPv4 address (ISATAP)"
    reason = next((why for net, why in _V6 if parsed in net), None)
    return reason or (None if parsed in GLOBAL_V6 else "reserved")


def parse_link_host_ip(host: str) -> str | None:
    """Return the host of a parsed URL as an IP address; None if it is a name.

    >>> parse_link_host_ip("[::1]"), parse_link_host_ip("127.0.0.1"), parse_link_host_ip("example.org")
    ('::1', '127.0.0.1', None)
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if len(bare) > URL_CHARS_MAX:
        return None
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None


def _is_isatap_link_ip(address: IPv6) -> bool:
    """Return whether an address contains an IPv4 address in the form of ISATAP, under any prefix."""
    return ((int(address) >> _WORD) & 0xFFFFFFFF) in _ISATAP


# The request for a URL: what would leave this machine, decided from the URL alone.


REDACTED = "[redacted:"
"""Start of the placeholder for a redacted secret."""
DEFAULT_PORTS = {"http:": 80, "https:": 443}


class RequestTarget(NamedTuple):
    """A request: the normalized URL without fragment, its host and its port."""

    url: str
    host: str
    port: int


class UnfitUrl(NamedTuple):
    """The reason not to request a URL."""

    why: str


def parse_link_target(url: str, policy: AddressPolicy) -> RequestTarget | UnfitUrl:
    """Return the request for a URL, or the reason not to send it; names are not resolved here.

    >>> from custody.cite.addresses import PUBLIC_ONLY
    >>> parse_link_target("HTTPS://Example.org:443/a/../b?c#d", PUBLIC_ONLY)
    RequestTarget(url='https://example.org/b?c', host='example.org', port=443)
    >>> parse_link_target("http://0x7f.1/", PUBLIC_ONLY)
    UnfitUrl(why='127.0.0.1 is loopback')
    """
    if REDACTED in url:
        return UnfitUrl("a secret was removed from it")
    try:
        parsed = can_ada.parse(url.strip()) if len(url) <= URL_CHARS_MAX else None
    except (ValueError, TypeError):
        parsed = None
    if parsed is None or parsed.protocol not in DEFAULT_PORTS:
        return UnfitUrl("not a web URL")
    if parsed.has_credentials():
        return UnfitUrl("it contains a user name or a password")
    port = int(parsed.port) if parsed.port else DEFAULT_PORTS[parsed.protocol]
    parsed.hash = ""
    parsed.hostname = parsed.hostname.removesuffix(".")
    literal = parse_link_host_ip(parsed.hostname)
    host = parsed.hostname if literal is None else literal
    why = policy.explain_name_refusal(host) if literal is None else policy.explain_address_refusal(literal)
    if why is not None:
        return UnfitUrl(f"{host} is {why}")
    refused = policy.explain_port_refusal(port)
    return RequestTarget(parsed.href, host, port) if refused is None else UnfitUrl(f"it uses {refused}")


def resolve_link_redirect(url: str, location: str) -> str | None:
    """Return the URL that a redirect leads to; None if it is invalid."""
    try:
        return urljoin(url, location.strip())
    except ValueError:
        return None
