"""Which addresses a link check may ask.

This file is the only one that decides it. A page that anybody can read stands at an address of the public network, so
everything else is refused: what belongs to this machine, its network or its provider, what no page can stand at, and
what wraps another address, whatever it wraps. Nothing here is a rule that a user or a repository could set.
"""

import ipaddress
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urljoin

import can_ada

from custody.cite.urls import URL_CHARS_MAX

IPv4 = ipaddress.IPv4Address
IPv6 = ipaddress.IPv6Address

REFUSED_V4: MappingProxyType[str, str] = MappingProxyType(
    {
        "0.0.0.0/8": "unspecified",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a provider's customers",
        "127.0.0.0/8": "loopback",
        "168.63.129.16/32": "a cloud's own service",
        "169.254.0.0/16": "link-local, where clouds keep their metadata",
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
"""IPv4 networks where no public page stands, from the registry of special-purpose addresses and what clouds use."""

GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
"""Of IPv6 only this part is given out for the public network."""

REFUSED_V6: MappingProxyType[str, str] = MappingProxyType(
    {
        "::/128": "unspecified",
        "::1/128": "loopback",
        "::ffff:0:0/96": "a wrapped IPv4 address (mapped)",
        "::ffff:0:0:0/96": "a wrapped IPv4 address (translated)",
        "::/96": "a wrapped IPv4 address (compatible)",
        "64:ff9b::/96": "a wrapped IPv4 address (NAT64)",
        "64:ff9b:1::/48": "a wrapped IPv4 address (local NAT64)",
        "100::/64": "a sink for packets",
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
"""IPv6 networks where no public page stands; the first that holds an address gives the reason."""

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
"""Last parts of names that no public name server answers for, or that answer for no page."""

PORTS = frozenset((80, 443, 8080, 8443))
"""Where pages are served. Another port is as likely something that is no page, and reads what it is sent."""

_V4 = tuple((ipaddress.IPv4Network(net), why) for net, why in REFUSED_V4.items())
_V6 = tuple((ipaddress.IPv6Network(net), why) for net, why in REFUSED_V6.items())
_ISATAP = frozenset((0x00005EFE, 0x02005EFE))
_WORD = 32
_LABEL_CHARS_MAX = 63
_NAME_CHARS_MAX = 253


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """What may be asked. A door is handed one; only a test has another than ``PUBLIC_ONLY``."""

    ports: frozenset[int] = PORTS
    also: frozenset[str] = frozenset()
    """Addresses that may be asked although they are not public."""
    also_names: frozenset[str] = frozenset()
    """Names that may be looked up although they are local."""

    def against_address(self, address: str) -> str | None:
        """Why this numeric address is not asked; None when it may be.

        >>> PUBLIC_ONLY.against_address("10.0.0.1")
        'private'
        >>> PUBLIC_ONLY.against_address("::ffff:93.184.216.34")
        'a wrapped IPv4 address (mapped)'
        >>> PUBLIC_ONLY.against_address("93.184.216.34")
        """
        return None if address in self.also else why_not_public(address)

    def against_name(self, name: str) -> str | None:
        """Why this host name is not even looked up; None when it may be.

        >>> PUBLIC_ONLY.against_name("printer")
        'a name of the local network'
        >>> PUBLIC_ONLY.against_name("example.org")
        """
        if name in self.also_names:
            return None
        labels = name.lower().removesuffix(".").split(".")
        if len(name) > _NAME_CHARS_MAX or not all(0 < len(label) <= _LABEL_CHARS_MAX for label in labels):
            return "no host name"
        if labels[-1] in LOCAL_NAMES:
            return f"a name of {LOCAL_NAMES[labels[-1]]}"
        return "a name of the local network" if len(labels) == 1 else None

    def against_port(self, port: int) -> str | None:
        """Why this port is not asked; None when it may be."""
        return None if port in self.ports else f"port {port}, where pages are hardly ever served"


PUBLIC_ONLY = AddressPolicy()


def why_not_public(address: str) -> str | None:
    """What a numeric address is, if no public page can stand there; None for a public one.

    What is no numeric address at all, or one of a single network card (``fe80::1%eth0``), is never public.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(parsed, IPv4):
        return next((why for net, why in _V4 if parsed in net), None)
    if parsed.scope_id is not None:
        return "an address of one network card"
    if _is_isatap(parsed):
        return "a wrapped IPv4 address (ISATAP)"
    known = next((why for net, why in _V6 if parsed in net), None)
    return known or (None if parsed in GLOBAL_V6 else "reserved")


def literal_of(host: str) -> str | None:
    """The numeric address that a host of a parsed URL is; None when it is a name.

    >>> literal_of("[::1]"), literal_of("127.0.0.1"), literal_of("example.org")
    ('::1', '127.0.0.1', None)
    """
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if len(bare) > URL_CHARS_MAX:
        return None
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None  # a name: an answer, not a failure


def _is_isatap(address: IPv6) -> bool:
    """Whether the second half of an address is made from an IPv4 address, as ISATAP makes it under any prefix."""
    return ((int(address) >> _WORD) & 0xFFFFFFFF) in _ISATAP


# An address as it would be asked: what leaves this machine, told from the address alone.


REDACTED = "[redacted:"
"""With this begins what stands where a secret was taken out."""
DEFAULT_PORTS = {"http:": 80, "https:": 443}


class RequestTarget(NamedTuple):
    """What is asked: the address as the URL standard writes it, without fragment, and the host and port in it."""

    url: str
    host: str
    port: int


class UnfitUrl(NamedTuple):
    """That an address is not asked, and why."""

    why: str


def target_of(url: str, policy: AddressPolicy) -> RequestTarget | UnfitUrl:
    """What would be asked for an address, or why it is not asked; names are not looked up here.

    >>> from custody.cite.addresses import PUBLIC_ONLY
    >>> target_of("HTTPS://Example.org:443/a/../b?c#d", PUBLIC_ONLY)
    RequestTarget(url='https://example.org/b?c', host='example.org', port=443)
    >>> target_of("http://0x7f.1/", PUBLIC_ONLY)
    UnfitUrl(why='127.0.0.1 is loopback')
    """
    if REDACTED in url:
        return UnfitUrl("a secret was taken out of it")
    try:
        parsed = can_ada.parse(url.strip()) if len(url) <= URL_CHARS_MAX else None
    except (ValueError, TypeError):
        parsed = None  # no URL by the standard: an answer, not a failure
    if parsed is None or parsed.protocol not in DEFAULT_PORTS:
        return UnfitUrl("no address of the web")
    if parsed.has_credentials():
        return UnfitUrl("it holds a name or a password")
    port = int(parsed.port) if parsed.port else DEFAULT_PORTS[parsed.protocol]
    parsed.hash = ""
    parsed.hostname = parsed.hostname.removesuffix(".")
    literal = literal_of(parsed.hostname)
    host = parsed.hostname if literal is None else literal
    why = policy.against_name(host) if literal is None else policy.against_address(literal)
    if why is not None:
        return UnfitUrl(f"{host} is {why}")
    refused = policy.against_port(port)
    return RequestTarget(parsed.href, host, port) if refused is None else UnfitUrl(f"it is at {refused}")


def redirected(url: str, location: str) -> str | None:
    """The address that a redirect leads to; None when it leads to no address."""
    try:
        return urljoin(url, location.strip())
    except ValueError:
        return None  # brackets that hold no address
