"""Invalid queries are rejected with a message and without effect, on every store."""

from typing import Any

import pytest

from tests.builders.service import Asked


@pytest.mark.parametrize(
    "path",
    [
        "trust?limit=-1",
        "trust/robot?limit=x",
        "trust/robot?limit=%C2%B2",
        "trust/robot?limit=99999999999999999999",
        "trust/robot/why?at=yesterday",
        "trust/%00",
        "trust?agent=",
        "trust?agent=%00",
        "trust?agent=a&agent=b",
        "trust?why=perhaps",
        "graph?lanes=true",
        "graph?lanes=yes",
        "graph?palette=red",
        "graph?theme=",
        "graph?session=%00",
        "graph?session=nothing",
        "graph/path?start=Read",
        "graph/path?start=Read&end=nothing",
        "graph/path?start=Read&end=Edit&cost=gold",
        "graph/related?node=Read&formula=x",
        "graph/related?node=Read&limit=0",
        "graph/next",
        "graph/next?session=a&after=b",
        "graph/next?after=%0A",
        "graph/next?" + "after=x&" * 101,
        "sessions/%00/calls",
        "log?limit=0",
        "log?limit=10001",
        "log?session=nothing",
        "log?session=" + "a" * 1001,
        "sources/%0a",
        "why?file=src/app.py",
        "why?line=1",
        "why?file=src/app.py&line=0",
        "why?file=src/app.py&line=99999",
        "why?file=src/app.py&line=1&rev=nothing",
        "why?file=src/app.py&line=1&rev=--help",
        "why?file=../own/src/app.py&line=1",
        "why?file=/etc/passwd&line=1",
        "why?file=src/app.py%00&line=1",
        "why?file=src//app.py&line=1",
        "why?file=.git/config&line=1",
        "why?file=nothing.py&line=1",
        "stats?path=..",
        "stats?path=/etc",
        "stats?path=",
        "stats?rev=%20",
        "clusters?change=nothing",
        "clusters?landed=1",
        "changes?after=zz",
        "changes?after=WyJzb3VyY2UiLDFd",
        "changes?after=WyJjaGFuZ2UiLC0xXQ",
        "changes?after=WyJjaGFuZ2UiLHRydWVd",
        "sources?after=WzEsMl0",
        "sources?limit=0",
        "decisions?after=WyIiLDFd",
        "decisions?after=WyJhIiwwXQ",
        "decisions?limit=1001",
    ],
)
def test_questions_that_make_no_sense_are_refused(embedded: Asked, team: Asked, path: str) -> None:
    for made in (embedded, team):
        answer = made.get(f"/api/v1/{path}")
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"


BODIES: list[tuple[str, Any]] = [
    ("gate", {"base": "main"}),
    ("gate", {"base": "main..x", "head": "main"}),
    ("gate", {"base": "", "head": "main"}),
    ("gate", {"base": "nothing", "head": "main"}),
    ("gate", {"base": "--help", "head": "main"}),
    ("gate", {"base": "main", "head": "ma\0in"}),
    ("gate", {"base": "main", "head": "main", "more": 1}),
    ("duplicates", {"change": "..main"}),
    ("duplicates", {"change": "nothing"}),
    ("duplicates", {"change": "main", "limit": 0}),
    ("duplicates", {"change": "--all"}),
    ("audits", {}),
    ("audits", {"markdown": 3}),
    ("audits", {"markdown": "a", "coverage_min": 2}),
    ("audits", {"markdown": "a", "session": "nothing"}),
    ("sources", {}),
    ("sources", {"url": "not an address"}),
    ("sources", {"title": "a", "year": -1}),
    ("sources", {"title": "a\0b"}),
    ("sources", {"title": "a", "date": "yesterday"}),
    ("decisions", {"agent": "robot"}),
    ("decisions", {"agent": "robot", "decision": "accepted"}),
    ("decisions", {"agent": "robot", "decision": "perhaps", "id": "1"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "commit": "main"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "commit:1"}),
    ("decisions", {"agent": "ro\0bot", "decision": "accepted", "id": "1"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "lines": -1}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "opened": "soon"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "id": "1", "actor": "robot"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "commit": "nothing"}),
    ("decisions", {"agent": "robot", "decision": "accepted", "reverts": "d1", "actor": "ana", "reason": "bad"}),
    ("decisions", {"agent": "robot", "decision": "rejected", "reverts": "d1"}),
    ("decisions", {"agent": "robot", "decision": "rejected", "overrides": "none", "actor": "ana", "reason": "bad"}),
    ("decisions", {"agent": "unknown", "decision": "rejected", "overrides": "d1", "actor": "ana", "reason": "bad"}),
    ("erasures", {"record": "1"}),
    ("erasures", {"record": "nothing", "why": "a name"}),
    ("erasures", {"record": "1", "why": " "}),
    ("erasures", {"record": "\0", "why": "a name"}),
]


@pytest.mark.parametrize(("what", "body"), BODIES)
def test_bodies_that_make_no_sense_are_refused_and_do_nothing(
    embedded: Asked, team: Asked, what: str, body: Any
) -> None:
    for made in (embedded, team):
        before = made.kept()
        for sent in (body, [], "x", 1, [body]):
            answer = made.send(what, sent)
            assert answer.status_code == 422, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
        assert made.kept() == before


def test_half_a_surrogate_pair_is_refused(embedded: Asked) -> None:
    typed = {"content-type": "application/json", "Authorization": "Bearer all-scopes"}
    for what, body in (("audits", b'{"markdown": "\\ud800"}'), ("sources", b'{"title": "\\ud800"}')):
        assert embedded.client.post(f"/api/v1/{what}", content=body, headers=typed).status_code == 422
    deep = b'{"markdown": ' + b"[" * 100_000
    assert embedded.client.post("/api/v1/audits", content=deep, headers=typed).status_code == 422
