"""No request reaches a private address, however it is spelled, wrapped, named, redirected to or rebound.

A real server listens on loopback and counts connections. Its port is allowed, so that only the address can be the
reason for a refusal.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest

from custody.cite.addresses import PORTS, AddressPolicy
from custody.cite.links import LinkAnswer, LinkCheck, LinkOutcome
from custody.cite.web import ForbiddenUrl, LinkChecker, check_links_concurrently, create_link_client
from custody.cite.web import transport as backend
from custody.cite.web.transport import GuardedBackend, dial_link_host
from tests.builders.stores import NOON
from tests.builders.web import PUBLIC, Names, Web, a_web, names, said
from tests.unit.cite.web.link_checks import QUICK, looked

HOSTS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "127.0.0.2",
    "１２７.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "x.localhost",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[2001:0:808:808::80ff:fffe]",
    "[2a00:1450::5efe:127.0.0.1]",
    "[2a00:1450::200:5efe:127.0.0.1]",
    "[fe80::1%25lo]",
    "[::1%25lo]",
]
ADDRESSES = [
    "127.0.0.1",
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "2a00:1450::5efe:7f00:1",
    "fe80::1",
    "fe80::1%lo",
    "::1%1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "not an address",
]


@pytest.fixture
def trap() -> Iterator[Web]:
    """A server that must not be reached, on IPv4 and, if available, on the same port of IPv6."""
    with ExitStack() as stack:
        web = stack.enter_context(a_web({"/": said(200)}))
        if socket.has_ipv6:
            listener = stack.enter_context(socket.socket(socket.AF_INET6))
            try:
                listener.bind(("::1", web.port))
                listener.listen()
            except OSError:
                pass  # this machine has no IPv6: then nothing can be reached by it either
        yield web


def policy_for(trap: Web) -> AddressPolicy:
    """Return the real policy, plus the port of the trap."""
    return AddressPolicy(PORTS | {trap.port})


def looked_for_real(trap: Web, *urls: str, resolver: Names | None = None) -> list[LinkOutcome]:
    """Link checks that make real connections."""
    found: list[LinkOutcome] = []

    async def story() -> None:
        policy = policy_for(trap)
        async with create_link_client(
            QUICK, policy=policy, resolver=resolver or names(), dial=dial_link_host
        ) as client:
            checker = LinkChecker(client=client, now_ns=lambda: NOON, rules=QUICK, policy=policy)
            await check_links_concurrently(checker, urls, found.append)

    asyncio.run(story())
    return found


def is_refused(found: LinkOutcome) -> bool:
    return isinstance(found, LinkCheck) and found.answer is LinkAnswer.REFUSED and found.status is None


def test_the_trap_is_open(trap: Web) -> None:
    with socket.create_connection(("127.0.0.1", trap.port)) as connection:
        connection.sendall(b"HEAD / HTTP/1.1\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert trap.accepted == 1


def test_no_spelling_or_wrapping_of_this_machine_is_reached(trap: Web) -> None:
    urls = [f"{scheme}://{host}:{trap.port}/" for host in HOSTS for scheme in ("http", "https")]
    found = looked_for_real(trap, *urls)
    assert [one.url for one in found if not is_refused(one)] == []
    assert (len(found), trap.accepted) == (len(urls), 0)


@pytest.mark.parametrize("among", [[], [PUBLIC]], ids=["alone", "among public ones"])
def test_one_forbidden_address_forbids_the_name(trap: Web, among: list[str]) -> None:
    answers = {f"h{n}": [[*among, address]] for n, address in enumerate(ADDRESSES)}
    resolver = names(**answers)
    found = looked_for_real(trap, *(f"http://{name}.example.net:{trap.port}/" for name in answers), resolver=resolver)
    assert [one.url for one in found if not is_refused(one)] == []
    assert (len(resolver.looked_up), trap.accepted) == (len(ADDRESSES), 0)


def test_a_name_that_turns_private_after_the_check_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = names(a=[[PUBLIC], ["127.0.0.1"]])
    with a_web({"/": lambda asked: said(405 if asked.method == "HEAD" else 200)}) as web:
        (found,) = looked(web, "http://a.example.net/", resolver=resolver)
        assert isinstance(found, LinkCheck) and found.answer is LinkAnswer.HERE
        assert (web.dialled, resolver.looked_up) == ([(PUBLIC, 80)] * 2, ["a.example.net"])
    monkeypatch.setattr(backend, "NAMES_CACHED_SECONDS", 0.0)
    resolver = names(a=[[PUBLIC], ["127.0.0.1"]])
    with a_web({"/": lambda asked: said(405 if asked.method == "HEAD" else 200)}) as web:
        (found,) = looked(web, "http://a.example.net/", resolver=resolver)
        assert is_refused(found)
        assert (web.dialled, len(resolver.looked_up)) == ([(PUBLIC, 80)], 2)


def test_no_redirect_reaches_a_private_address(trap: Web) -> None:
    aims = [f"http://{host}:{trap.port}/" for host in HOSTS]
    aims += [f"//127.0.0.1:{trap.port}/", f"http:\\\\127.0.0.1:{trap.port}\\", "file:///etc/passwd", "gopher://x.org/"]
    aims += [f"http://ana:word@127.0.0.1:{trap.port}/", "ftp://example.org/", "http://a.example.net:22/", "data:,x"]
    pages = {f"/{n}": said(302, f"Location: {aim.encode().decode('latin-1')}") for n, aim in enumerate(aims)}
    with a_web(pages) as web:
        found = looked(web, *(f"http://h{n}.example.net/{n}" for n in range(len(aims))), policy=policy_for(trap))
        assert {address for address, _ in web.dialled} == {PUBLIC}
        assert web.lines == sorted(web.lines, key=web.lines.index)
        assert len([line for line in web.lines if line.removeprefix("HEAD /").isdecimal()]) == len(aims)
    answers = {one.answer for one in found if isinstance(one, LinkCheck)}
    assert answers <= {LinkAnswer.REFUSED, LinkAnswer.SILENT, LinkAnswer.ABSENT}
    assert trap.accepted == 0


@pytest.mark.parametrize("length", [1, 2, 4])
def test_each_url_of_a_chain_is_checked(trap: Web, length: int) -> None:
    pages = {f"/{n}": said(301, f"Location: http://h{n + 1}.example.net/{n + 1}") for n in range(length)}
    pages[f"/{length}"] = said(301, f"Location: http://evil.example.net:{trap.port}/")
    resolver = names(evil=[["127.0.0.1"]])
    with a_web(pages) as web:
        (found,) = looked(web, "http://h0.example.net/0", resolver=resolver, policy=policy_for(trap))
        assert web.accepted == length + 1
        assert {address for address, _ in web.dialled} == {PUBLIC}
    assert is_refused(found)
    assert trap.accepted == 0


# Conformance: 003-057
def test_the_client_itself_is_guarded_whoever_uses_it(trap: Web) -> None:
    async def story(web: Web) -> list[str]:
        refused = []
        policy = policy_for(trap)
        resolver = names(evil=[["127.0.0.1"]])
        async with create_link_client(policy=policy, resolver=resolver, dial=web.dial) as client:
            for url in (
                f"http://127.0.0.1:{trap.port}/",
                f"http://evil.example.net:{trap.port}/",
                f"http://[::ffff:127.0.0.1]:{trap.port}/",
                "http://a.example.net/away",
                "http://a.example.net:22/",
            ):
                try:
                    await client.get(url, follow_redirects=True)
                except ForbiddenUrl:
                    refused.append(url)
            with pytest.raises(httpx2.UnsupportedProtocol):
                await client.get("ftp://a.example.net/")
        return refused

    with a_web({"/away": said(302, f"Location: http://evil.example.net:{trap.port}/")}) as web:
        assert len(asyncio.run(story(web))) == 5
        assert web.accepted == 1
    assert trap.accepted == 0


def test_a_local_socket_is_never_opened() -> None:
    guarded = GuardedBackend(AddressPolicy(), names(), dial_link_host, 4096)
    with pytest.raises(ForbiddenUrl):
        asyncio.run(guarded.connect_unix_socket("/run/docker.sock"))


def test_no_environment_variable_loosens_the_policy(trap: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "HTTP_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "CUSTODY_CITE_LINK_PORTS", "LOCALDOMAIN"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}")
    found = looked_for_real(trap, f"http://127.0.0.1:{trap.port}/", f"http://localhost:{trap.port}/")
    assert all(map(is_refused, found))
    assert trap.accepted == 0
