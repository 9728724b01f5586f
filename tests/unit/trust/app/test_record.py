"""Which decisions are accepted and rejected, and that every accepted one is a record of the chain."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.ledger.records import list_newest_records, show_named_records
from custody.trust.app.record import (
    DecisionRequest,
    record_commit_decision,
    record_override,
    record_recovery,
    record_revert,
    record_trust_decision,
)
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.model import ChangeComplexity, DecisionType, UnknownAgent
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.repo import Built, a_history, a_repository

ACCEPTED, MODIFIED, REJECTED = DecisionType
NOON = 1_769_860_800_000_000_000
DAY = 86_400 * 1_000_000_000
FILES = [{b"a.py": b"".join(b"x = %d\n" % n for n in range(count))} for count in (5, 45, 645)]
"""Commits of 5, 40 and 600 lines."""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.day = 0.0

    def __call__(self) -> int:
        return NOON + round(self.day * DAY)


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


@pytest.fixture
def commits(built: Built) -> list[str]:
    return list(a_history(built, *FILES))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(built: Built, commits: list[str], clock: Clock) -> Workspace:
    assert commits
    return Workspace(built.path, now_ns=clock)


def a_decision(decision: DecisionType = ACCEPTED, **fields: Any) -> DecisionRequest:
    """Return a decision with stakes of 1 unless a test says otherwise."""
    said = {"agent": "robot", "lines": 50, "complexity": ChangeComplexity.TRIVIAL, "actor": "ana", **fields}
    return DecisionRequest(decision=decision, **said)


def score(workspace: Workspace, agent: str = "robot") -> float:
    return trust_show(workspace, agent, limit=0).standing.score


# Conformance: 001-037
@pytest.mark.parametrize(("place", "lines", "complexity"), [(0, 5, "trivial"), (1, 40, "minor"), (2, 600, "critical")])
def test_size_and_complexity_are_those_of_the_diff(
    workspace: Workspace, commits: list[str], place: int, lines: int, complexity: str
) -> None:
    taken = (
        record_commit_decision(workspace, DecisionRequest(agent="robot", decision=ACCEPTED, commit=commits[place]))
        .report()
        .taken
    )
    assert (taken.lines, taken.complexity, taken.commit) == (lines, complexity, commits[place])


# Conformance: 001-037
def test_what_the_diff_shows_can_be_raised_and_never_lowered(workspace: Workspace, commits: list[str]) -> None:
    wanted = DecisionRequest(agent="robot", decision=ACCEPTED, commit=commits[1])
    for lower in ({"lines": 39}, {"complexity": ChangeComplexity.TRIVIAL}):
        with pytest.raises(InputError) as refused:
            record_commit_decision(workspace, replace(wanted, **lower))
        assert refused.value.hint == "the value of the diff can be raised, not lowered"
    taken = (
        record_commit_decision(workspace, replace(wanted, lines=400, complexity=ChangeComplexity.CRITICAL))
        .report()
        .taken
    )
    assert (taken.lines, taken.complexity) == (400, "critical")


def test_a_commit_is_decided_once(workspace: Workspace, commits: list[str]) -> None:
    record_commit_decision(workspace, DecisionRequest(agent="robot", decision=ACCEPTED, commit="HEAD"))
    with pytest.raises(InputError, match="is already decided in record"):
        record_commit_decision(workspace, DecisionRequest(agent="robot", decision=REJECTED, commit=commits[2]))
    record_commit_decision(workspace, DecisionRequest(agent="other", decision=REJECTED, commit=commits[2]))


def test_a_decision_on_a_missing_commit_is_refused_and_nothing_is_recorded(workspace: Workspace) -> None:
    with pytest.raises(InputError):
        record_commit_decision(workspace, DecisionRequest(agent="robot", decision=ACCEPTED, commit="1" * 40))
    assert trust_list(workspace).agents == []


# Conformance: 001-074
def test_a_decision_is_a_record_of_the_chain(workspace: Workspace) -> None:
    taken = record_trust_decision(workspace, a_decision(commit="v1", reason="fine")).report().taken
    (kept,) = list_newest_records(workspace, limit=5).records
    assert (kept.record, kept.kind) == (taken.record, "decision")
    (payload,) = show_named_records(workspace, taken.record).payloads
    assert (payload["commit_name"], payload["actor"], payload["reason"]) == ("v1", "ana", "fine")


def test_secrets_in_a_reason_are_not_kept(workspace: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    taken = record_trust_decision(workspace, a_decision(reason=f"leaked {secret} in a log")).report().taken
    assert taken.reason is not None and "leaked" in taken.reason and secret not in taken.reason


@pytest.mark.parametrize(
    "fields", [{"lines": -1}, {"lines": float("nan")}, {"lines": True}, {"review_ms": -1}], ids=str
)
def test_an_invalid_count_is_refused(workspace: Workspace, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not a whole number of at least 0"):
        record_trust_decision(workspace, a_decision(**fields))
    assert trust_list(workspace).agents == []


def test_an_agent_does_not_decide_about_itself(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="cannot decide about its own change"):
        record_trust_decision(workspace, a_decision(actor="robot"))
    record_trust_decision(workspace, a_decision(REJECTED, actor="robot"))


def test_an_override_is_a_new_record_and_the_old_one_stays(workspace: Workspace, clock: Clock) -> None:
    record_trust_decision(workspace, a_decision(id="pr-1"))
    clock.day = 1
    done = record_override(workspace, "robot", "pr-1", REJECTED, actor="ben", reason="it was not tested").report()
    assert (done.taken.kind, done.taken.actor, done.taken.reason) == ("override", "ben", "it was not tested")
    assert (done.standing.accepted, done.standing.rejected) == (0, 1)
    assert list_newest_records(workspace, limit=5).total == 2
    first, _ = trust_why(workspace, "robot").steps
    assert (first.decision, first.notes) == ("rejected", ["was accepted; overridden by ben: it was not tested"])


def test_the_past_is_answered_as_it_would_have_been(workspace: Workspace, clock: Clock) -> None:
    record_trust_decision(workspace, a_decision(id="pr-1"))
    clock.day = 30
    record_override(workspace, "robot", "pr-1", REJECTED, actor="ben", reason="it was not tested")
    assert trust_why(workspace, "robot", at="2026-01-31T12:00:00Z").standing.score == pytest.approx(0.65)
    before = trust_why(workspace, "robot", at="2026-03-02T11:59:59Z")
    assert before.standing.score == pytest.approx(0.575, abs=1e-6)
    assert [step.decision for step in before.steps] == ["accepted"]
    assert trust_why(workspace, "robot", at="2026-03-02T12:00:00Z").standing.score == pytest.approx(0.425)
    with pytest.raises(UnknownAgent, match="until 2026-01-31T11:59:59Z"):
        trust_why(workspace, "robot", at="2026-01-31T11:59:59Z")


def test_a_decision_is_found_by_id_record_and_commit(workspace: Workspace, commits: list[str]) -> None:
    taken = (
        record_commit_decision(workspace, DecisionRequest(agent="robot", decision=ACCEPTED, commit=commits[0]))
        .report()
        .taken
    )
    for name, decision in ((taken.id, REJECTED), (taken.record, MODIFIED), (commits[0][:8], ACCEPTED)):
        record_override(workspace, "robot", name, decision, actor="ben", reason="again")
        assert trust_why(workspace, "robot").steps[0].decision == decision.value


@pytest.mark.parametrize(
    ("target", "actor", "reason", "problem"),
    [
        ("pr-2", "ben", "x", "no decision 'pr-2' about 'robot'"),
        ("abc", "ben", "x", "no decision 'abc' about 'robot'"),
        ("abcd", "ben", "x", "'abcd' matches 2 decisions about 'robot'"),
        ("pr-1", "", "x", "needs an actor and a reason"),
        ("pr-1", "ben", " ", "needs an actor and a reason"),
        ("pr-1", "robot", "x", "'robot' cannot correct its own record"),
    ],
)
def test_a_correction_says_what_who_and_why(
    workspace: Workspace, target: str, actor: str, reason: str, problem: str
) -> None:
    record_trust_decision(workspace, a_decision(id="pr-1", commit="abcd1"))
    record_trust_decision(workspace, a_decision(id="pr-3", commit="abcd2"))
    with pytest.raises(InputError, match=problem):
        record_override(workspace, "robot", target, REJECTED, actor=actor, reason=reason)
    with pytest.raises(InputError, match=problem):
        record_revert(workspace, "robot", target, actor=actor, reason=reason)
    assert list_newest_records(workspace, limit=5).total == 2


def test_an_override_that_changes_nothing_is_refused(workspace: Workspace) -> None:
    record_trust_decision(workspace, a_decision(id="pr-1"))
    with pytest.raises(InputError, match="'pr-1' is already accepted"):
        record_override(workspace, "robot", "pr-1", ACCEPTED, actor="ben", reason="x")


def test_a_revert_is_a_rejection_at_full_stakes(workspace: Workspace) -> None:
    record_trust_decision(workspace, a_decision(id="pr-1", complexity=ChangeComplexity.CRITICAL, review_ms=60_000))
    done = record_revert(workspace, "robot", "pr-1", actor="ben", reason="slow in production").report()
    assert (done.taken.kind, done.taken.decision, done.taken.weight) == ("revert", "rejected", 8)
    assert done.standing.score == pytest.approx(0.65 * 0.7**8)
    assert (done.standing.accepted, done.standing.rejected) == (1, 1)


def test_what_was_rejected_or_reverted_cannot_be_reverted(workspace: Workspace) -> None:
    record_trust_decision(workspace, a_decision(REJECTED, id="pr-1"))
    record_trust_decision(workspace, a_decision(id="pr-2"))
    record_revert(workspace, "robot", "pr-2", actor="ben", reason="x")
    with pytest.raises(InputError, match="so it never merged"):
        record_revert(workspace, "robot", "pr-1", actor="ben", reason="x")
    with pytest.raises(InputError, match="'revert:pr-2' is already decided"):
        record_revert(workspace, "robot", "pr-2", actor="ben", reason="x")


def test_a_recovery_is_a_record_with_actor_and_reason(workspace: Workspace, clock: Clock) -> None:
    record_trust_decision(workspace, a_decision(REJECTED))
    done = record_recovery(workspace, "robot", boost=None, actor="ana", reason="a new model").report()
    assert (done.taken.kind, done.taken.actor, done.taken.reason) == ("recovery", "ana", "a new model")
    assert done.standing.score == pytest.approx(0.40)
    clock.day = 6.99
    with pytest.raises(InputError, match="less than 7 day"):
        record_recovery(workspace, "robot", boost=None, actor="ana", reason="again")
    clock.day = 7
    record_recovery(workspace, "robot", boost=0.01, actor="ana", reason="again")


# Conformance: 001-068
def test_an_agent_without_decisions_cannot_be_lifted(workspace: Workspace) -> None:
    with pytest.raises(UnknownAgent, match="no decisions about 'robot'"):
        record_recovery(workspace, "robot", boost=None, actor="ana", reason="x")
    record_trust_decision(workspace, a_decision(agent="other"))
    with pytest.raises(UnknownAgent) as refused:
        record_override(workspace, "robot", "pr-1", REJECTED, actor="ana", reason="x")
    assert refused.value.hint == "known agents: 'other'"


def test_decisions_that_any_recorder_tells_count_too(workspace: Workspace) -> None:
    told: list[dict[str, Any]] = [
        {"complexity": "trivial", "changed_lines": 50},
        {"complexity": "unheard of"},
        {"decision": "accepted", "reverts": "0"},
        {"decision": "recovered"},
    ]
    for number, fields in enumerate(told):
        spool_of(workspace.folder).put(
            an_event("decision", id=str(number), at=f"2026-01-31T12:00:0{number}Z", **fields)
        )
    steps = trust_why(workspace, "robot").steps
    assert [(step.kind, step.decision, step.counts) for step in steps] == [
        ("decision", "accepted", True),
        ("decision", "accepted", True),
        ("revert", "rejected", True),
        ("recovery", None, False),
    ]
    assert [step.weight for step in steps] == [1, 0.5, 1, None]


def test_a_clock_set_back_does_not_lift_a_score(workspace: Workspace, clock: Clock) -> None:
    clock.day = 60
    record_trust_decision(workspace, a_decision(REJECTED))
    low = score(workspace)
    clock.day = 0
    assert score(workspace) == low
    record_trust_decision(workspace, a_decision())
    assert score(workspace) < 0.5


def test_rules_of_the_repository_hold(workspace: Workspace, built: Built) -> None:
    (built.path / "custody.toml").write_text("[trust]\nema_alpha = 0.1\n")
    assert record_trust_decision(workspace, a_decision()).report().standing.score == pytest.approx(0.55)


def test_every_decision_about_a_commit_carries_its_patch_and_the_agents_lines(
    workspace: Workspace, commits: list[str]
) -> None:
    taken = record_commit_decision(workspace, DecisionRequest(agent="robot", decision=ACCEPTED, commit=commits[0]))
    override = record_override(workspace, "robot", commits[0], REJECTED, actor="ana", reason="broke the build")
    record_override(workspace, "robot", commits[0], ACCEPTED, actor="ana", reason="did not break it")
    revert = record_revert(workspace, "robot", commits[0], actor="ana", reason="slow")
    names = [receipt.report().taken.record for receipt in (taken, override, revert)]
    payloads = [show_named_records(workspace, name).payloads[0] for name in names]
    assert {payload["agent_lines"] for payload in payloads} == {0}
    assert len({payload["patch"] for payload in payloads}) == 1
