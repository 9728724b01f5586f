"""The list of sessions agrees with their records, however many there are."""

from pathlib import Path

import pytest

from custody.ledger.sessions import ENDS_READ_MAX, list_session_log, show_session_log
from custody.store import projection
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repository"))


def told(workspace: Workspace, *events: bytes) -> None:
    for event in events:
        spool_of(workspace.folder).put(event)


def test_a_listed_session_says_the_same_as_a_shown_one(workspace: Workspace) -> None:
    told(workspace, an_event("session", operator="ana"), an_event("prompt"), an_event("edit", path="b.py", id="2"))
    told(
        workspace,
        *(
            an_event("call", id=name, at=at)
            for name in "abc"
            for at in ("2026-01-31T12:00:00Z", "2026-01-31T12:01:00Z")
        ),
    )
    told(workspace, an_event("edit", path="a.py", call="a"), an_event("source_read", call="a"))
    (listed,) = list_session_log(workspace, limit=5, with_prompts=True).sessions
    assert list_session_log(workspace, limit=5).sessions[0].prompt is None
    shown = show_session_log(workspace, "s1")
    assert listed == shown.session
    assert (listed.calls, listed.files, listed.model, listed.operator) == (3, ["a.py", "b.py"], "m-1", "ana")
    assert (shown.calls[0].files, shown.calls[0].sources) == (["a.py"], ["https://example.org/a"])


def test_a_model_named_only_in_the_middle_is_found(workspace: Workspace) -> None:
    for n in range(3 * ENDS_READ_MAX):
        model = {"model": "m-7"} if n == ENDS_READ_MAX + 5 else {"model": None}
        told(workspace, an_event("session", id=str(n), at=f"2026-01-31T12:{n // 60:02}:{n % 60:02}Z", **model))
    assert list_session_log(workspace, limit=1).sessions[0].model == "m-7"


def test_a_session_that_names_no_model_has_that_of_its_last_call(workspace: Workspace) -> None:
    for n, model in enumerate(("m-1", "m-2", None), 1):
        told(workspace, an_event("call", id=f"c{n}", at=f"2026-01-31T12:00:0{n}Z", model=model))
    assert (
        list_session_log(workspace, limit=1).sessions[0].model
        == show_session_log(workspace, "s1").session.model
        == "m-2"
    )


def test_calls_far_apart_in_the_chain_are_all_found(workspace: Workspace) -> None:
    far = projection.NEAR + 2
    for n in range(3 * far):
        session = "ours" if n % far == 0 else "others"
        told(workspace, an_event("call", id=f"c{n}", session=session, at=f"2026-01-31T12:00:{n:02}Z"))
    assert [call.id for call in show_session_log(workspace, "ours").calls] == ["c0", f"c{far}", f"c{2 * far}"]
    assert len(show_session_log(workspace, "others").calls) == 3 * (far - 1)


def test_a_team_database_lists_the_same(workspace: Workspace, fresh_postgres: str) -> None:
    events = (
        an_event("session"),
        an_event("prompt"),
        an_event("call", id="c"),
        an_event("edit", path="a.py", call="c"),
    )
    told(workspace, *events)
    team = Workspace(workspace.folder, fresh_postgres)
    (listed,) = list_session_log(team, limit=5, prompt_text="PLEASE write", with_prompts=True).sessions
    assert (listed.calls, listed.files, listed.model) == (1, ["a.py"], "m-1")
    assert listed == show_session_log(team, "s1", agent="robot").session
