"""What is listed of a session is what its records say, however many there are."""

from pathlib import Path

import pytest

from custody.ledger.sessions import ENDS_READ_MAX, log, log_session
from custody.store import projection
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder, spool_of
from tests.builders.events import an_event


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    return Workspace(a_git_folder(tmp_path / "repository"))


def told(desk: Workspace, *events: bytes) -> None:
    for event in events:
        spool_of(desk.folder).put(event)


def test_a_listed_session_says_the_same_as_a_shown_one(desk: Workspace) -> None:
    told(desk, an_event("session", operator="ana"), an_event("prompt"), an_event("edit", path="b.py", id="2"))
    told(
        desk,
        *(
            an_event("call", id=name, at=at)
            for name in "abc"
            for at in ("2026-01-31T12:00:00Z", "2026-01-31T12:01:00Z")
        ),
    )
    told(desk, an_event("edit", path="a.py", call="a"), an_event("source_read", call="a"))
    (listed,) = log(desk, limit=5).sessions
    shown = log_session(desk, "s1")
    assert listed == shown.session
    assert (listed.calls, listed.files, listed.model, listed.operator) == (3, ["a.py", "b.py"], "m-1", "ana")
    assert (shown.calls[0].files, shown.calls[0].sources) == (["a.py"], ["https://example.org/a"])


def test_a_model_named_only_in_the_middle_is_found(desk: Workspace) -> None:
    for n in range(3 * ENDS_READ_MAX):
        model = {"model": "m-7"} if n == ENDS_READ_MAX + 5 else {"model": None}
        told(desk, an_event("session", id=str(n), at=f"2026-01-31T12:{n // 60:02}:{n % 60:02}Z", **model))
    assert log(desk, limit=1).sessions[0].model == "m-7"


def test_a_session_that_names_no_model_has_that_of_its_last_call(desk: Workspace) -> None:
    for n, model in enumerate(("m-1", "m-2", None), 1):
        told(desk, an_event("call", id=f"c{n}", at=f"2026-01-31T12:00:0{n}Z", model=model))
    assert log(desk, limit=1).sessions[0].model == log_session(desk, "s1").session.model == "m-2"


def test_calls_far_apart_in_the_chain_are_all_found(desk: Workspace) -> None:
    far = projection.NEAR + 2
    for n in range(3 * far):
        session = "ours" if n % far == 0 else "others"
        told(desk, an_event("call", id=f"c{n}", session=session, at=f"2026-01-31T12:00:{n:02}Z"))
    assert [call.id for call in log_session(desk, "ours").calls] == ["c0", f"c{far}", f"c{2 * far}"]
    assert len(log_session(desk, "others").calls) == 3 * (far - 1)


def test_a_team_database_lists_the_same(desk: Workspace, fresh_postgres: str) -> None:
    events = (
        an_event("session"),
        an_event("prompt"),
        an_event("call", id="c"),
        an_event("edit", path="a.py", call="c"),
    )
    told(desk, *events)
    team = Workspace(desk.folder, fresh_postgres)
    (listed,) = log(team, limit=5).sessions
    assert (listed.calls, listed.files, listed.model) == (1, ["a.py"], "m-1")
    assert listed == log_session(team, "s1", agent="robot").session
