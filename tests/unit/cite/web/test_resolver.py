"""From names to addresses, by the system's own name service as far as it answers for this machine."""

import asyncio
import socket
from typing import Any

import httpcore2
import pytest

from custody.cite.web.transport import NoSuchName, system_resolver


def resolved(monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[list[str], list[str]]:
    """What the resolver makes of an answer of the system, and which name the system was asked for."""
    asked: list[str] = []

    def getaddrinfo(name: str, *_: object, **__: object) -> Any:
        asked.append(name)
        if isinstance(answer, Exception):
            raise answer
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in answer]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asyncio.run(system_resolver("example.org")), asked


def test_a_name_is_asked_for_as_a_whole_and_each_address_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [("1.1.1.1", 0), ("2606:4700::1111", 0, 0, 0), ("1.1.1.1", 0)]
    assert resolved(monkeypatch, places) == (["1.1.1.1", "2606:4700::1111"], ["example.org."])


def test_an_address_of_one_network_card_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [("fe80::1", 0, 0, 2), ("fe80::2%eth0", 0, 0, 2)]
    assert resolved(monkeypatch, places)[0] == ["fe80::1%2", "fe80::2%eth0"]


def test_no_such_name_is_told_from_nobody_could_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSuchName, match="there is no host 'example.org'"):
        resolved(monkeypatch, socket.gaierror(socket.EAI_NONAME, "not known"))
    with pytest.raises(httpcore2.ConnectError, match="cannot be looked up: try again"):
        resolved(monkeypatch, socket.gaierror(socket.EAI_AGAIN, "try again"))
