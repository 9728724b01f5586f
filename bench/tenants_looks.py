"""Requests to a service that name an item of another project, to read and to write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

AT = "2026-01-31T12:00:00Z"
LISTS = ("evidence", "traces", "commit-links", "spans", "conversations", "decisions", "sources", "changes")

Names = Mapping[str, str]
"""One item of a project, with its names there."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    method: str
    path: str
    body: Any = None


Look = Callable[[Names], Ask]


def get(path: str, **question: str) -> Ask:
    """Return a request with the name in the URL."""
    return Ask("GET", f"/api/v1/{path}" + (f"?{urlencode(question)}" if question else ""))


def post(path: str, body: Any) -> Ask:
    """Return a request with the name in the body."""
    return Ask("POST", f"/api/v1/{path}", body)


def event(n: Names, kind: str, **more: object) -> dict[str, object]:
    """Return an event with an item's names."""
    said = {"custody": 1, "kind": kind, "id": n["id"], "at": AT, "agent": n["agent"], "session": n["session"]}
    return {**said, **more}


def _blame(n: Names, **more: str) -> Ask:
    blamed = {"start_line": 1, "end_line": 5, "commit_sha": n["commit"], "content_hash": n["hash"], "timestamp": AT}
    return post("blame", {"file_path": n["path"], "blame_data": [blamed], **more})


def _named(name: str) -> dict[str, Look]:
    """Return the requests for a record by one of its names."""
    return {
        f"record by {name}": lambda n: get(f"evidence/{quote(n[name], safe='')}"),
        f"erasure by {name}": lambda n: post("erasures", {"record": n[name], "why": "mine"}),
    }


def _paged(what: str) -> dict[str, Look]:
    return {f"{what} behind a cursor": lambda n: get(what, after=n[f"after {what}"], limit="1000")}


LOOKS: Mapping[str, Look] = {
    **_named("record"),
    **_named("event"),
    **_named("key"),
    **_named("digest"),
    **{name: look for what in LISTS for name, look in _paged(what).items()},
    "a project's list": lambda n: get("evidence", project=n["project"]),
    "a project's conversation": lambda n: get(
        "conversation", agent=n["agent"], session=n["session"], project=n["project"]
    ),
    "write into a project": lambda n: Ask(
        "POST", f"/api/v1/evidence?project={n['project']}", event(n, "prompt", text="mine")
    ),
    "blame in a project": lambda n: _blame(n, project_id=n["project"]),
    "blame": _blame,
    "conversation": lambda n: get("conversation", agent=n["agent"], session=n["session"]),
    "session": lambda n: get("log", session=n["session"]),
    "sessions of an agent": lambda n: get("log", agent=n["agent"]),
    "graph of a session": lambda n: get("graph", session=n["session"]),
    "calls of a session": lambda n: get(f"sessions/{n['session']}/calls"),
    "next call": lambda n: get("graph/next", session=n["session"]),
    "like a node": lambda n: get("graph/related", node=n["node"]),
    "way to a node": lambda n: get("graph/path", start=n["node"], end=n["node"]),
    "an agent's score": lambda n: get(f"trust/{n['agent']}"),
    "why an agent's score": lambda n: get(f"trust/{n['agent']}/why"),
    "an agent's score by question": lambda n: get("trust", agent=n["agent"]),
    "source": lambda n: get(f"sources/{n['source']}"),
    "chain": lambda n: get(f"chains/{n['store']}"),
    "chain with texts": lambda n: get(f"chains/{n['store']}", texts="true"),
    "origins": lambda n: get(f"chains/{n['store']}/origins"),
    "origins of a file": lambda n: get(f"chains/{n['store']}/origins", digest=n["digest"]),
    "duplicates of a change": lambda n: get(f"changes/{n['commit']}/duplicates"),
    "why a line": lambda n: get("why", file=n["path"], line="1"),
    "audit by a session": lambda n: post("audits", {"markdown": "A claim. [1]\n", "session": n["session"]}),
    "the same prompt": lambda n: post("evidence", event(n, "prompt", text="mine")),
    "the same conversation": lambda n: post(
        "conversations", {"agent": n["agent"], "session": n["session"], "at": AT, "prompts": []}
    ),
    "the same trace": lambda n: post("traces", trace(n, "mine")),
    "the same commit": lambda n: post("commit-links", {"commit_sha": n["commit"], "trace_ids": [n["trace"]]}),
    "the same source": lambda n: post("sources", {"url": n["url"], "title": "mine"}),
    "the same decision": lambda n: post(
        "decisions", {"agent": n["agent"], "decision": "accepted", "id": n["decision"]}
    ),
    "another decision": lambda n: post(
        "decisions",
        {"agent": n["agent"], "decision": "rejected", "overrides": n["decision"], "actor": "ana", "reason": "mine"},
    ),
    "a chain's end": lambda n: get(f"chains/{n['store']}", after="3", limit="2"),
}


def trace(n: Names, words: str) -> dict[str, object]:
    """Return a trace with an item's names."""
    told = {
        "contributor": {"type": "ai", "model_id": words},
        "ranges": [{"start_line": 1, "end_line": 5, "content_hash": n["hash"]}],
    }
    return {
        "version": "0.1.0",
        "id": n["trace"],
        "timestamp": AT,
        "tool": {"name": n["agent"], "version": "1"},
        "vcs": {"type": "git", "revision": n["commit"]},
        "files": [{"path": n["path"], "conversations": [told]}],
    }
