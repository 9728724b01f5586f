"""An address as it would be asked: what leaves this machine, told from the address alone."""

from typing import NamedTuple
from urllib.parse import urljoin

import can_ada

from custody.cite.addresses import AddressPolicy, literal_of
from custody.cite.urls import URL_CHARS_MAX

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
