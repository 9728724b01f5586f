"""The outcome of a change, reported once or often: one decision for each agent that wrote lines of it."""

from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.ledger.records import list_newest_records, show_named_records
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from custody.trust.app.record import DecisionRequest, record_commit_decision
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.app.verify import trust_verify
from custody.trust.model import DecisionType
from custody.trust.wire import OutcomeWord, TrustOutcomeReport
from tests.builders.repo import a_repository
from tests.builders.trust import TrustWorld


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    return TrustWorld(tmp_path / "repository")


def told(world: TrustWorld, outcome: OutcomeWord, change: str, **fields: str) -> TrustOutcomeReport:
    said: dict[str, Any] = {"actor": "ana", "reason": "so", **fields}
    return record_outcome(world.workspace, OutcomeRequest(change=change, outcome=outcome, **said))


def counts(world: TrustWorld, agent: str = "claude-code") -> tuple[int, int, int]:
    line = trust_show(world.workspace, agent, limit=0).standing
    return line.accepted, line.modified, line.rejected


@pytest.mark.parametrize(
    ("outcome", "decision"), [("merged", "accepted"), ("changed", "modified"), ("closed", "rejected")]
)
def test_an_outcome_is_a_decision_about_the_agent_that_wrote_the_change(
    world: TrustWorld, outcome: OutcomeWord, decision: str
) -> None:
    change = world.agent_wrote(12, model="m1", operator="ben")
    report = told(world, outcome, change, opened="2023-11-14T22:00:00Z")
    (one,) = report.agents
    assert (one.agent, one.model, one.lines, one.state) == ("claude-code", "m1", 12, "recorded")
    assert one.taken is not None
    assert (one.taken.decision, one.taken.commit, one.taken.lines) == (decision, world.head, 12)
    (payload,) = show_named_records(world.workspace, one.taken.record).payloads
    assert (payload["outcome"], payload["operator"], payload["areas"]) == (outcome, "ben", ["src"])
    assert payload["sessions"] == ["s-claude-code-m1-ben"]
    assert trust_verify(world.workspace).findings == []


def test_each_agent_of_a_change_gets_one_decision_and_a_name_restricts_to_one(world: TrustWorld) -> None:
    base = world.head
    world.agent_wrote(5)
    world.agent_wrote(7, agent="other", path="lib/b.py")
    change = f"{base}..{world.head}"
    report = told(world, "merged", change, agent="other")
    assert [(one.agent, one.lines, one.state) for one in report.agents] == [("other", 7, "recorded")]
    report = told(world, "merged", change)
    assert [(one.agent, one.lines, one.state) for one in report.agents] == [
        ("claude-code", 5, "recorded"),
        ("other", 7, "known"),
    ]
    assert (counts(world), counts(world, "other")) == ((1, 0, 0), (1, 0, 0))


def test_the_same_report_again_is_not_a_second_decision(world: TrustWorld) -> None:
    change = world.agent_wrote(12)
    told(world, "merged", change)
    total = list_newest_records(world.workspace, limit=1).total
    for name in (change, world.head, "HEAD", "HEAD~1...HEAD"):
        (again,) = told(world, "merged", name).agents
        assert (again.state, again.taken) == ("known", None)
        assert "already accepted in record" in (again.note or "")
    assert list_newest_records(world.workspace, limit=1).total == total


def test_what_was_recorded_by_hand_is_the_same_decision(world: TrustWorld) -> None:
    world.agent_wrote(12)
    record_commit_decision(
        world.workspace,
        DecisionRequest(agent="claude-code", decision=DecisionType.ACCEPTED, commit="HEAD", actor="ana"),
    )
    assert told(world, "merged", "HEAD").agents[0].state == "known"
    with pytest.raises(InputError, match="is already decided"):
        record_commit_decision(
            world.workspace, DecisionRequest(agent="claude-code", decision=DecisionType.REJECTED, commit="HEAD")
        )


def test_another_outcome_corrects_the_first_one_and_says_who_and_why(world: TrustWorld) -> None:
    change = world.agent_wrote(12)
    told(world, "closed", change)
    for fields in ({"actor": ""}, {"reason": " "}, {"actor": "claude-code"}):
        with pytest.raises(InputError, match=r"a correction needs|its own record"):
            told(world, "merged", change, **fields)
    assert counts(world) == (0, 0, 1)
    world.later(hours=1)
    (one,) = told(world, "merged", change, reason="opened again").agents
    assert one.state == "corrected"
    assert one.taken is not None and (one.taken.kind, one.taken.decision) == ("override", "accepted")
    assert counts(world) == (1, 0, 0)
    assert told(world, "merged", change).agents[0].state == "known"
    assert told(world, "changed", change).agents[0].state == "corrected"
    assert counts(world) == (0, 1, 0)


def test_a_revert_reverts_what_was_decided_at_full_stakes_and_once(world: TrustWorld) -> None:
    change = world.agent_wrote(12)
    merged = told(world, "merged", change).agents[0]
    world.later(hours=1)
    with pytest.raises(InputError, match="a correction needs"):
        told(world, "reverted", world.head, actor="")
    (one,) = told(world, "reverted", world.head).agents
    assert one.taken is not None and merged.taken is not None
    assert (one.taken.kind, one.taken.decision, one.taken.lines) == ("revert", "rejected", 12)
    assert one.taken.notes == [f"reverts '{merged.taken.id}'"]
    assert told(world, "reverted", change).agents[0].state == "known"
    assert counts(world) == (1, 0, 1)


def test_a_revert_of_an_undecided_change_is_a_rejection_by_the_diff(world: TrustWorld) -> None:
    change = world.agent_wrote(60)
    (one,) = told(world, "reverted", change).agents
    assert one.taken is not None
    assert (one.taken.kind, one.taken.lines, one.taken.complexity) == ("revert", 60, "moderate")
    assert told(world, "reverted", change).agents[0].state == "known"
    # A merge may be reported late: then both are recorded, as they would have been in order.
    assert told(world, "merged", change).agents[0].state == "recorded"
    assert counts(world) == (1, 0, 1)


def test_what_never_merged_cannot_be_reverted(world: TrustWorld) -> None:
    change = world.agent_wrote(12)
    told(world, "closed", change)
    (one,) = told(world, "reverted", change).agents
    assert (one.state, one.taken) == ("known", None)
    assert "so never merged" in (one.note or "")
    assert counts(world) == (0, 0, 1)


def test_a_merge_without_review_is_not_a_review(world: TrustWorld) -> None:
    world.proven().rules("[trust]\naudit_share = 0.0\n")
    change = world.agent_wrote(12)
    assert trust_approve(world.workspace, ApprovalRequest(change=change, approver="ci")).approved
    (one,) = told(world, "merged", change).agents
    assert (one.state, one.taken) == ("waiting", None)
    assert counts(world) == (12, 0, 0)
    world.later(hours=1)
    (back,) = told(world, "reverted", change).agents
    assert back.taken is not None and back.taken.kind == "revert"
    world.later(days=20)
    assert counts(world) == (12, 0, 1)


def test_a_squashed_change_is_known_by_both_of_its_commits(world: TrustWorld) -> None:
    base, files = world.head, dict(world.files)
    world.agent_wrote(12)
    proposed, squashed_files = world.head, dict(world.files)
    world.files, world.head = files, base
    squashed = world.built.commit(squashed_files, base, message=b"Add values (#12)", at=world.at)
    report = told(world, "merged", f"{base}..{proposed}", landed_as=squashed)
    assert (report.change, report.head, report.agents[0].state) == (squashed, proposed, "recorded")
    assert told(world, "merged", f"{base}..{proposed}").agents[0].state == "known"
    (one,) = told(world, "reverted", squashed).agents
    assert one.taken is not None and one.taken.notes == [f"reverts 'commit:{squashed}'"]


def test_a_branch_is_what_it_has_over_ours_or_had_when_it_was_merged(world: TrustWorld) -> None:
    base = world.head
    change = world.agent_wrote(12)
    topic = world.head
    world.built.git("branch", "topic", topic)
    world.built.git("reset", "--quiet", "--hard", base)
    assert (told(world, "closed", "topic").head, told(world, "closed", "topic").base) == (topic, base)
    world.built.git("merge", "--quiet", "--no-ff", "-m", "Merge topic", "topic")
    merge = world.built.head()
    report = told(world, "merged", "topic")
    assert (report.change, report.head, report.agents[0].state) == (merge, topic, "corrected")
    assert told(world, "merged", change).agents[0].state == "known"
    assert told(world, "merged", merge).agents[0].state == "known"


def test_a_branch_that_was_forwarded_has_to_be_named_as_a_range(world: TrustWorld) -> None:
    world.agent_wrote(12)
    world.built.git("branch", "topic", world.head)
    world.committed({**world.files, b"c.py": b"by = hand()\n"})
    with pytest.raises(InputError, match="cannot tell what 'topic' changed"):
        told(world, "merged", "topic")


def test_where_no_agents_line_is_found_nothing_is_recorded(world: TrustWorld, tmp_path: Path) -> None:
    change = world.committed({**world.files, b"c.py": b"by = hand()\n"})
    world.tell("edit", agent="claude-code", session="s", path="d.py", before="", after="x = 1\n")
    report = told(world, "merged", change)
    assert (report.agents, report.outcome, report.lines, report.unknown_lines) == ([], "fine", 1, 1)
    assert trust_list(world.workspace).agents == []
    world.agent_wrote(3)
    assert told(world, "merged", "HEAD", agent="stranger").agents == []
    bare = TrustWorld(tmp_path / "nothing captured")
    assert told(bare, "merged", bare.committed({b"c.py": b"by = hand()\n"})).agents == []
    assert not bare.workspace.exists()


@pytest.mark.parametrize(
    ("change", "fields", "says"),
    [
        ("HEAD..HEAD", {}, "changes nothing"),
        ("nowhere", {}, "unknown revision 'nowhere'"),
        ("HEAD", {"landed_as": "nowhere"}, "unknown revision 'nowhere'"),
        ("HEAD", {"duplicate_of": "HEAD~1"}, "was not closed as a duplicate"),
        ("HEAD", {"actor": "claude-code"}, "cannot decide about its own change"),
        ("HEAD", {"opened": "2200-01-01T00:00:00Z"}, "in the future"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_recorded(
    world: TrustWorld, change: str, fields: dict[str, str], says: str
) -> None:
    world.agent_wrote(12)
    with pytest.raises(InputError, match=says):
        told(world, "merged", change, **fields)
    assert trust_list(world.workspace).agents == []


def test_an_unborn_repository_has_no_change(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repository")
    world.built = a_repository(tmp_path / "empty")
    with pytest.raises(InputError):
        record_outcome(type(world.workspace)(world.built.path), OutcomeRequest(change="HEAD", outcome="merged"))


def test_why_shows_outcomes_as_the_decisions_that_they_are(world: TrustWorld) -> None:
    told(world, "merged", world.agent_wrote(12))
    world.later(hours=1)
    told(world, "reverted", "HEAD")
    assert [step.kind for step in trust_why(world.workspace, "claude-code").steps] == ["decision", "revert"]


@settings(max_examples=12, deadline=None)
@given(outcomes=st.lists(st.sampled_from(("merged", "changed", "closed")), min_size=1, max_size=5))
def test_however_often_it_is_reported_the_last_word_is_the_one_decision(
    outcomes: list[OutcomeWord], tmp_path_factory: pytest.TempPathFactory
) -> None:
    world = TrustWorld(tmp_path_factory.mktemp("told") / "repository")
    change = world.agent_wrote(12)
    before = list_newest_records(world.workspace, limit=1).total
    for outcome in outcomes:
        world.later(hours=1)
        told(world, outcome, change)
    words = ("merged", "changed", "closed")
    assert counts(world) == tuple(int(word == outcomes[-1]) for word in words)
    assert list_newest_records(world.workspace, limit=1).total - before == sum(1 for _ in groupby(outcomes))
    assert trust_verify(world.workspace).findings == []


def test_a_decision_carries_the_patch_and_the_lines_of_the_agent(world: TrustWorld) -> None:
    change = world.agent_wrote(3, more={b"src/b.py": b"by = nobody(known)\n"})
    (one,) = told(world, "merged", change).agents
    corrected = told(world, "closed", change).agents[0]
    assert one.taken is not None and corrected.taken is not None
    (made,) = show_named_records(world.workspace, one.taken.record).payloads
    (corrects,) = show_named_records(world.workspace, corrected.taken.record).payloads
    assert (made["agent_lines"], len(made["patch"])) == (3, 64)
    assert (corrects["agent_lines"], corrects["patch"]) == (3, made["patch"])
