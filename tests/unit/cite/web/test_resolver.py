"""Name resolution with the system's name service."""

import asyncio
import socket
from typing import Any

import httpcore2
import pytest

from custody.cite.web.transport import NoSuchName, resolve_link_host


def resolved(monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[list[str], list[str]]:
    """Return the resolver's result for a system answer, and the name that was requested."""
    asked: list[str] = []

    def getaddrinfo(name: str, *_: object, **__: object) -> Any:
        asked.append(name)
        if isinstance(answer, Exception):
            raise answer
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in answer]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asyncio.run(resolve_link_host("example.org")), asked


def test_a_name_is_resolved_as_absolute_and_each_address_is_returned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [("1.1.1.1", 0), ("2606:4700::1111", 0, 0, 0), ("1.1.1.1", 0)]
    assert resolved(monkeypatch, places) == (["1.1.1.1", "2606:4700::1111"], ["example.org."])


def test_an_address_of_one_network_interface_keeps_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [("fe80::1", 0, 0, 2), ("fe80::2%eth0", 0, 0, 2)]
    assert resolved(monkeypatch, places)[0] == ["fe80::1%2", "fe80::2%eth0"]


def test_an_unknown_name_differs_from_a_failed_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSuchName, match="unknown host 'example.org'"):
        resolved(monkeypatch, socket.gaierror(socket.EAI_NONAME, "not known"))
    with pytest.raises(httpcore2.ConnectError, match="cannot resolve 'example.org': try again"):
        resolved(monkeypatch, socket.gaierror(socket.EAI_AGAIN, "try again"))
