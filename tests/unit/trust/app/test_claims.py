"""A claimed author never counts for an agent: it allows no merge and improves no record."""

import json
from pathlib import Path
from typing import Any

import pytest

from custody.core.wire.time import format_timestamp
from custody.intake.import_events import import_event_file
from custody.intake.import_git_ai import import_git_ai_notes
from custody.ledger.records import show_named_records
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from custody.trust.app.record import DecisionRequest, record_commit_decision
from custody.trust.app.show import trust_show
from custody.trust.model import DecisionType
from custody.trust.wire import OutcomeWord, TrustApproveReport, TrustOutcomeReport
from tests.builders.events import an_event
from tests.builders.trust import NS, OLD, TrustWorld

ADDED = b"alpha = beta(gamma)\ndelta = epsilon(zeta)\n"


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    return TrustWorld(tmp_path / "repository").rules("[trust]\naudit_share = 0.0\n")


def somebody_wrote(world: TrustWorld) -> str:
    """Commit lines without a record, in a repository with records; return the change."""
    world.tell("prompt")
    return world.committed({**world.files, b"src/a.py": OLD + ADDED})


def noted(world: TrustWorld, agent: str = "claude-code", model: str = "unknown") -> None:
    """Add a note of git-ai that names an agent as their author."""
    meta = {"schema_version": "authorship/3.0.0", "base_commit_sha": "", "prompts": {}}
    sessions = {"s_1": {"agent_id": {"tool": agent, "id": "zz", "model": model}}}
    note = "src/a.py\n  s_1::t_1 3-4\n---\n" + json.dumps({**meta, "sessions": sessions})
    world.built.git("notes", "--ref", "refs/notes/ai", "add", "-f", "-F", "-", world.head, feed=note.encode())
    assert import_git_ai_notes(world.workspace).lines == 2


def asked(world: TrustWorld, change: str, **request: Any) -> TrustApproveReport:
    return trust_approve(world.workspace, ApprovalRequest(change=change, **{"approver": "ci", **request}))


def codes(report: TrustApproveReport) -> set[str]:
    assert (report.outcome == "fine") is report.approved is (not report.reasons)
    return {reason.code for reason in report.reasons}


def told(world: TrustWorld, outcome: OutcomeWord, change: str) -> TrustOutcomeReport:
    return record_outcome(world.workspace, OutcomeRequest(change=change, outcome=outcome, actor="ana", reason="so"))


# --- landing without review -------------------------------------------------------------------------------------------


def test_a_claim_does_not_show_who_wrote_a_change(world: TrustWorld) -> None:
    change = somebody_wrote(world.proven())
    assert (codes(asked(world, change)), asked(world, change).unknown_lines) == ({"TRUST-UNKNOWN"}, 2)
    noted(world)
    report = asked(world, change)
    assert (codes(report), report.unknown_lines, report.recorded) == ({"TRUST-UNKNOWN"}, 2, [])
    assert [(one.agent, one.lines) for one in report.agents] == [("claude-code", 2)]


def test_a_claim_that_a_person_wrote_the_rest_leaves_it_unknown(world: TrustWorld) -> None:
    base = world.proven().head
    world.agent_wrote(2)
    before = world.files[b"src/a.py"]
    world.committed({**world.files, b"src/a.py": before + ADDED})
    change = f"{base}..{world.head}"
    assert (codes(asked(world, change)), asked(world, change).unknown_lines) == ({"TRUST-UNKNOWN"}, 2)
    person = an_event(
        at=format_timestamp((world.at - 10) * NS),
        path="src/a.py",
        before=before.decode(),
        proposed=before.decode(),
        after=(before + ADDED).decode(),
        session="s9",
        head=None,
    )
    (world.built.path.parent / "events.jsonl").write_bytes(person + b"\n")
    import_event_file(world.workspace, world.built.path.parent / "events.jsonl")
    report = asked(world, change)
    assert (codes(report), report.unknown_lines) == ({"TRUST-UNKNOWN"}, 2)


def test_a_claim_does_not_choose_the_model_of_an_agent_that_the_caller_names(world: TrustWorld) -> None:
    change = somebody_wrote(world.proven(model="m-old"))
    assert codes(asked(world, change, agent="claude-code")) == {"TRUST-SAMPLES"}
    noted(world, model="m-old")
    assert codes(asked(world, change, agent="claude-code")) == {"TRUST-SAMPLES"}


def test_whom_a_claim_names_is_asked_about_and_gets_nothing_for_it(world: TrustWorld) -> None:
    change = somebody_wrote(world.proven().proven("other"))
    noted(world, agent="other")
    report = asked(world, change, agent="claude-code")
    assert [one.agent for one in report.agents] == ["claude-code", "other"]
    (payload,) = show_named_records(world.workspace, report.recorded[0]).payloads
    assert (len(report.recorded), payload["agent"]) == (1, "claude-code")


def test_a_claim_may_speak_against_a_change(world: TrustWorld) -> None:
    change = somebody_wrote(world.proven().proven("other", 40, "rejected"))
    noted(world, agent="other")
    assert "TRUST-UNTRUSTED" in codes(asked(world, change, agent="claude-code"))


# --- what became of it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["merged", "changed"])
def test_a_claim_gives_no_credit(world: TrustWorld, outcome: OutcomeWord) -> None:
    change = somebody_wrote(world)
    noted(world)
    report = told(world, outcome, change)
    assert (report.agents, report.unknown_lines) == ([], 2)


@pytest.mark.parametrize("outcome", ["closed", "reverted"])
def test_blame_falls_on_whom_a_claim_names(world: TrustWorld, outcome: OutcomeWord) -> None:
    change = somebody_wrote(world)
    noted(world)
    report = told(world, outcome, change)
    assert [(one.agent, one.lines) for one in report.agents] == [("claude-code", 2)]
    assert trust_show(world.workspace, "claude-code", limit=0).standing.rejected == 1


@pytest.mark.parametrize(("decision", "model"), [(DecisionType.ACCEPTED, None), (DecisionType.REJECTED, "m-1")])
def test_a_decision_for_an_agent_takes_no_model_from_a_claim(
    world: TrustWorld, decision: DecisionType, model: str | None
) -> None:
    somebody_wrote(world)
    noted(world, model="m-1")
    recorded = record_commit_decision(
        world.workspace, DecisionRequest(agent="claude-code", decision=decision, commit=world.head, actor="ana")
    )
    (payload,) = show_named_records(world.workspace, str(recorded.step.entry.record)).payloads
    assert payload.get("model") == model
