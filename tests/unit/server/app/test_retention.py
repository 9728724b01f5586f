"""Retention: old conversations are erased as if by a person, and nothing else is."""

from pathlib import Path

import pytest

from custody.attribution.queries.traces import find_candidate_edits_in_window
from custody.core.paths import RepoPath
from custody.core.wire.time import parse_timestamp
from custody.ledger.verify import verify_ledger
from custody.server.app.jobs import DAY_NS, apply_project_retention
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import KINDS, an_arrival

AT = "2026-01-31T12:00:00Z"
LONG = "what somebody asked, at length\n" * 300


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    now = parse_timestamp(AT) + 30 * DAY_NS
    return Workspace(a_git_folder(tmp_path), now_ns=lambda: now)


def test_old_prompts_are_erased_and_verify_says_so(workspace: Workspace) -> None:
    with workspace.writing() as store:
        made = store.append(
            [
                an_arrival("prompt", id="old", text="a secret"),
                an_arrival("prompt", id="long", text=LONG),
                an_arrival("prompt", id="new", at="2026-02-20T12:00:00Z"),
            ]
        ).made
    assert apply_project_retention(workspace, 29) == 3, "two payloads and a long text"
    report = verify_ledger(workspace)
    assert (report.outcome, report.erased) == ("fine", 3)
    with workspace.reading() as store:
        said = [store.tables.payload(record) for record in made]
        assert said[:2] == [None, None]
        assert said[2] is not None
        (told,) = [r for r in store.tables.newest(10, "erased") if r.entry.digest][:1]
        assert store.tables.payload(told) is not None
    assert apply_project_retention(workspace, 29) == 0, "what was erased is not erased again"


def test_nothing_that_a_conclusion_rests_on_is_erased(workspace: Workspace) -> None:
    kept = [kind for kind in KINDS if kind != "prompt"]
    with workspace.writing() as store:
        made = store.append([an_arrival(kind, id=kind) for kind in kept]).made
    assert apply_project_retention(workspace, 1) == 0
    with workspace.reading() as store:
        assert all(store.tables.payload(record) is not None for record in made)


def test_a_text_that_an_edit_holds_too_stays(workspace: Workspace) -> None:
    with workspace.writing() as store:
        store.append([an_arrival("prompt", id="p", text=LONG), an_arrival("edit", id="e", after=LONG)])
    assert apply_project_retention(workspace, 1) == 1, "the prompt's payload goes, the text that it shares stays"
    with workspace.reading() as store:
        (edit,) = find_candidate_edits_in_window(store, RepoPath.of("src/app.py"), since_ns=0, until_ns=2**62)
        payload = store.tables.payload(edit.record)
        assert isinstance(payload, dict)
        assert payload["after"] == LONG


def test_what_is_as_old_as_it_may_be_stays(workspace: Workspace) -> None:
    with workspace.writing() as store:
        store.append([an_arrival("prompt", id="p")])
    assert apply_project_retention(workspace, 30) == 0
