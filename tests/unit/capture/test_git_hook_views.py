"""Events of git's own hooks become commits, and a snapshot names its commit."""

from typing import Any

import pytest

from custody.capture import hook_views, snapshot_views
from custody.core.views import FileState, ObservedCommit, View
from custody.core.wire.time import parse_timestamp

AT = "2026-01-31T12:00:00Z"
HEAD, OLD, OLDER = "a" * 40, "b" * 40, "c" * 40


def seen(event: str, **fields: Any) -> tuple[View, ...]:
    around: dict[str, Any] = {
        "custody": 1,
        "kind": "hook",
        "agent": "git",
        "id": "1",
        "at": AT,
        "head": HEAD,
        "worktree": "/w",
    }
    return hook_views({**around, "event": event, **fields})


@pytest.mark.parametrize("event", ["post-commit", "post-merge"])
def test_a_commit_that_was_made(event: str) -> None:
    assert seen(event, unparsed="") == (ObservedCommit(HEAD, parse_timestamp(AT), "/w"),)  # type: ignore[arg-type]


def test_commits_rewritten_into_one_commit() -> None:
    (one,) = seen("post-rewrite", unparsed=f"{OLD} {HEAD}\n{OLDER} {HEAD} more\nrubbish\n{OLD} {HEAD}\n")
    assert isinstance(one, ObservedCommit)
    assert (one.commit, one.replaced) == (HEAD, (OLD, OLDER))


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("post-checkout", {}),
        ("post-commit", {"head": None}),
        ("post-rewrite", {"unparsed": {"$erased": "sha256:" + "0" * 64}}),
    ],
)
def test_other_git_hooks_give_no_views(event: str, fields: dict[str, Any]) -> None:
    assert seen(event, **fields) == ()


def test_a_snapshot_knows_its_commit() -> None:
    payload: dict[str, Any] = {
        "custody": 1,
        "kind": "snapshot",
        "id": "1",
        "at": AT,
        "head": HEAD,
        "agent": "x",
        "phase": "after",
    }
    (state,) = snapshot_views({**payload, "files": [{"path": "a", "text": "x"}]})
    assert isinstance(state, FileState) and state.revision == HEAD
