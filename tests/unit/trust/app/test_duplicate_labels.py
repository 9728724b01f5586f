"""Which labels for the duplicate search follow from the outcome of a change."""

from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes.app.check import dupes_check
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.dupes.app.labels import dupes_label, list_pair_answers
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from custody.trust.wire import OutcomeWord, TrustOutcomeReport
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import Built, Files, a_repository

STEPS = b"".join(
    b"def step_%d(state, options):\n    return state.advance(%d, options)\n\n\n" % (n, n) for n in range(12)
)
BASE: Files = {b"src/app.py": STEPS}
RETRY = STEPS.replace(
    b"return state.advance(3, options)",
    b"for attempt in range(options.retry_limit):\n        state = state.advance(3, options)\n    return state",
)
LOGGED = RETRY.replace(b"    return state\n", b"    options.logger.info('gave up')\n    return state\n", 1)


class World:
    """A main branch, one merged change, and a similar one."""

    def __init__(self, folder: Path) -> None:
        self.built: Built = a_repository(folder)
        self.root = self.built.commit(BASE, message=b"Begin")
        self.landed = self.built.commit({b"src/app.py": RETRY}, self.root, message=b"Retry step three when it fails")
        self.like = self.propose(2, LOGGED)
        self.same = self.propose(3, RETRY)
        self.workspace = Workspace(folder, now_ns=lambda: 1_800_000_000_000_000_000)
        dupes_index(self.workspace, IndexRequest(workers=1))

    def propose(self, number: int, text: bytes) -> CommitSha:
        message = b"Retry step three when it fails, number %d" % number
        return self.built.commit({b"src/app.py": text}, self.root, message=message, ref=f"refs/pull/{number}/head")

    def flagged(self, head: CommitSha) -> list[str]:
        report = dupes_check(self.workspace, f"{self.root}..{head}")
        return [one.evidence.other.head for one in report.suggestions if one.evidence.says == "duplicate"]

    def told(self, outcome: OutcomeWord, head: str, duplicate_of: str | None = None) -> TrustOutcomeReport:
        change = f"{self.root}..{head}"
        return record_outcome(
            self.workspace, OutcomeRequest(change=change, outcome=outcome, actor="ana", duplicate_of=duplicate_of)
        )

    def answers(self, one: str, other: str) -> list[str]:
        with self.workspace.reading() as store:
            return list_pair_answers(store, one, other)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "repository")


def test_closed_as_a_duplicate_is_an_answer_about_the_pair_and_told_once(world: World) -> None:
    report = world.told("closed", world.like, duplicate_of="#3")
    assert [(one.other, one.answer) for one in report.labels] == [(world.same, "duplicate")]
    assert report.agents == []
    assert world.told("closed", world.like, duplicate_of=f"{world.root}..{world.same}").labels == []
    assert world.answers(world.same, world.like) == ["duplicate"]


def test_it_calibrates_like_any_other_answer(world: World) -> None:
    world.told("closed", world.like, duplicate_of=world.landed)
    report = dupes_label(world.workspace, "#2", "#3", "duplicate", actor="ana", reason=None)
    assert report.answers == 2


def test_a_change_closed_for_nothing_says_nothing_about_pairs(world: World) -> None:
    world.flagged(world.like)
    assert world.told("closed", world.like).labels == []


def test_a_change_is_not_a_duplicate_of_itself(world: World) -> None:
    with pytest.raises(InputError, match="cannot be a duplicate of itself"):
        world.told("closed", world.like, duplicate_of="#2")


@pytest.mark.parametrize("name", ["nowhere", "#99"])
def test_what_it_is_a_duplicate_of_has_to_be_there(world: World, name: str) -> None:
    with pytest.raises(InputError):
        world.told("closed", world.like, duplicate_of=name)


def test_that_both_merged_says_that_a_flagged_pair_is_none_unless_somebody_said_otherwise(world: World) -> None:
    other = world.landed
    assert other in world.flagged(world.like)
    report = world.told("merged", world.like)
    assert (other, "related") in [(one.other, one.answer) for one in report.labels]
    assert world.same not in [one.other for one in report.labels]
    assert world.told("merged", world.like).labels == []
    assert world.answers(world.like, other) == ["related"]


def test_what_a_person_said_stands(world: World) -> None:
    world.flagged(world.like)
    for other in (world.landed, "#3"):
        dupes_label(world.workspace, "#2", other, "duplicate", actor="ben", reason=None)
    assert world.told("merged", world.like).labels == []
    assert world.answers(world.like, world.landed) == ["duplicate"]


def test_the_same_lines_twice_give_no_label_however_they_merged(world: World) -> None:
    assert world.landed in world.flagged(world.same)
    assert world.told("merged", world.same).labels == []


def test_what_merged_is_known_from_decisions_too_and_the_same_lines_stay_the_same(world: World) -> None:
    spool_of(world.built.path).put(an_event("decision", agent="robot", commit=world.same, at="2023-11-15T00:00:00Z"))
    again = world.propose(4, RETRY)
    dupes_index(world.workspace, IndexRequest(workers=1))
    assert world.same in world.flagged(world.like)
    assert world.same in [one.other for one in world.told("merged", world.like).labels]
    assert world.same in world.flagged(again)
    assert world.same not in [one.other for one in world.told("merged", again).labels]


def test_what_was_never_flagged_is_not_labelled(world: World) -> None:
    assert world.told("merged", world.like).labels == []
