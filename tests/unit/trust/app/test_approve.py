"""Approval of a change in a real repository: who wrote it, what their records allow, and what is recorded."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import InputError, StoreError
from custody.ledger.records import list_newest_records, show_named_records
from custody.trust.app import approve
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.audit_key import open_audit_key
from custody.trust.app.record import DecisionRequest, record_commit_decision, record_revert
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.app.verify import trust_verify
from custody.trust.model import DecisionType
from custody.trust.wire import TrustApproveReport
from tests.builders.hooks import home_of
from tests.builders.repo import LINK, PROGRAM, SUBMODULE
from tests.builders.trust import OLD, TrustWorld

ACCEPTED, MODIFIED, REJECTED = DecisionType
NO_AUDIT = "[trust]\naudit_share = 0.0\n"


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    return TrustWorld(tmp_path / "repository").rules(NO_AUDIT)


def asked(world: TrustWorld, change: str, **request: Any) -> TrustApproveReport:
    return trust_approve(world.workspace, ApprovalRequest(change=change, **{"approver": "ci", **request}))


def codes(report: TrustApproveReport) -> list[str]:
    assert (report.outcome == "fine") is report.approved is (not report.reasons)
    return [reason.code for reason in report.reasons]


class TestApproved:
    def test_a_small_change_of_a_proven_agent_merges_and_is_recorded(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(5)
        report = asked(world, change)
        assert (codes(report), report.lines, report.areas, report.unknown_lines) == ([], 5, ["src"], 0)
        (agent,) = report.agents
        assert (agent.agent, agent.tier, agent.samples, agent.lines) == ("claude-code", "verified", 12, 5)
        assert (agent.budget, agent.budget_left) == (500, 500)
        (payload,) = show_named_records(world.workspace, report.recorded[0]).payloads
        assert (payload["decision"], payload["unreviewed"], payload["actor"]) == ("accepted", True, "ci")
        assert (payload["head"], payload["commit"], payload["areas"]) == (world.head, world.head, ["src"])
        assert (payload["changed_lines"], payload["complexity"]) == (5, "trivial")
        assert (payload["rules_digest"], payload["chain_head"]) == (report.rules_digest, report.chain_head)

    def test_it_does_not_count_before_it_settled(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(5)
        assert asked(world, change).approved
        assert trust_show(world.workspace, "claude-code", limit=0).standing.samples == 12
        assert trust_why(world.workspace, "claude-code").steps[-1].kind == "landing"
        world.later(days=14)
        assert trust_show(world.workspace, "claude-code", limit=0).standing.samples == 13
        assert trust_why(world.workspace, "claude-code").steps[-1].kind == "settlement"
        assert trust_verify(world.workspace).outcome == "fine"

    def test_a_dry_run_records_nothing(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(5)
        before = list_newest_records(world.workspace, limit=1).total
        report = asked(world, change, dry_run=True)
        assert (report.approved, report.recorded, list_newest_records(world.workspace, limit=1).total) == (
            True,
            [],
            before,
        )

    def test_the_same_head_is_recorded_once_and_spends_once(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(400)
        first, again = asked(world, change), asked(world, change)
        assert (first.approved, again.approved, len(first.recorded), again.recorded) == (True, True, 1, [])

    def test_what_it_is_bound_to_changes_with_head_rules_and_chain(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(5)
        one = asked(world, change, dry_run=True)
        assert one == asked(world, change, dry_run=True)
        world.tell("prompt")
        other = asked(world, change, dry_run=True)
        assert (other.chain_head != one.chain_head, other.rules_digest == one.rules_digest) == (True, True)
        assert (one.head, one.as_of) == (world.head, other.as_of)
        world.rules(NO_AUDIT + "ema_alpha = 0.2\n")
        assert asked(world, change, dry_run=True).rules_digest == one.rules_digest, "the rules of its base decide"
        assert asked(world, world.agent_wrote(5), dry_run=True).rules_digest != one.rules_digest

    def test_a_patch_that_is_drawn_needs_a_review(self, world: TrustWorld) -> None:
        world.proven().rules("[trust]\naudit_share = 1.0\n")
        assert codes(asked(world, world.agent_wrote(5))) == ["TRUST-AUDIT"]

    def test_an_amended_message_does_not_draw_again(self, world: TrustWorld) -> None:
        world.proven().rules("[trust]\naudit_share = 0.5\n")
        base, changes = world.head, [world.agent_wrote(5)]
        for _ in range(8):
            world.head = base
            world.later(hours=0.01)  # another time gives another commit of the same patch
            changes.append(world.committed(world.files))
        answers = [codes(asked(world, change, dry_run=True)) for change in changes]
        assert (len(set(changes)), len(set(map(tuple, answers)))) == (9, 1)

    def test_the_key_of_the_environment_must_be_long_enough(
        self, world: TrustWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CUSTODY_AUDIT_KEY", "short")
        with pytest.raises(InputError, match="CUSTODY_AUDIT_KEY has 5 bytes"):
            asked(world.proven(), world.agent_wrote(5))

    def test_without_a_key_every_change_is_drawn(self, world: TrustWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        world.proven().rules("[trust]\naudit_share = 0.000001\n")
        change = world.agent_wrote(5)
        assert codes(asked(world, change, dry_run=True)) == []
        monkeypatch.setattr(approve, "open_audit_key", lambda _: None)
        assert codes(asked(world, change, dry_run=True)) == ["TRUST-AUDIT"]

    def test_the_key_is_the_stores_own_unless_the_environment_has_one(self, world: TrustWorld) -> None:
        world.proven()
        key = open_audit_key(world.workspace, {})
        assert key == (home_of(world.built.path) / "key").read_bytes() == open_audit_key(world.workspace, {})
        given = "a key that CI holds for itself"
        assert open_audit_key(world.workspace, {"CUSTODY_AUDIT_KEY": given}) == given.encode()
        (home_of(world.built.path) / "key").write_bytes(b"")
        assert open_audit_key(world.workspace, {}) is None


class TestIdentity:
    def test_a_line_of_an_unknown_author_needs_a_review(self, world: TrustWorld) -> None:
        world.proven()
        change = world.agent_wrote(2, more={b"src/b.py": b"by = nobody(known)\n"})
        report = asked(world, change)
        assert (codes(report), report.unknown_lines) == (["TRUST-UNKNOWN"], 1)

    def test_a_change_of_an_unknown_author_needs_a_review(self, world: TrustWorld) -> None:
        report = asked(world.proven(), world.committed({b"src/a.py": OLD + b"by = nobody(known)\n"}))
        assert (codes(report), report.agents) == (["TRUST-UNKNOWN"], [])

    def test_the_caller_may_name_the_agent_where_nothing_was_captured(self, world: TrustWorld) -> None:
        world.proven()
        change = world.committed({b"src/a.py": OLD + b"by = nobody(known)\n"})
        assert asked(world, change, agent="claude-code").approved
        assert codes(asked(world, change, agent="stranger")) == ["TRUST-SAMPLES"]

    def test_naming_a_trusted_agent_does_not_help_another_one(self, world: TrustWorld) -> None:
        change = world.proven("claude-code").agent_wrote(2, agent="stranger")
        assert codes(asked(world, change, agent="claude-code")) == ["TRUST-SAMPLES"]

    def test_of_several_agents_the_least_trusted_decides(self, world: TrustWorld) -> None:
        world.proven("claude-code").proven("other", 3)
        base = world.head
        world.agent_wrote(2, agent="claude-code")
        world.agent_wrote(2, agent="other", path="src/b.py")
        report = asked(world, f"{base}..{world.head}")
        assert [(one.agent, one.approved, one.lines) for one in report.agents] == [
            ("claude-code", True, 2),
            ("other", False, 2),
        ]
        assert codes(report) == ["TRUST-SAMPLES"]

    def test_a_new_model_inherits_half(self, world: TrustWorld) -> None:
        world.proven(count=12, model="m-1")
        report = asked(world, world.agent_wrote(2, model="m-2"))
        (agent,) = report.agents
        assert (agent.model, codes(report)) == ("m-2", ["TRUST-SAMPLES"])
        assert report.reasons[0].sentence == ("the agent has 12 reviews (12 of another model), fewer than 10")
        assert asked(world, world.agent_wrote(2, model="m-1")).approved

    def test_an_operator_is_the_sessions_not_the_accounts(self, world: TrustWorld) -> None:
        report = asked(world.proven(), world.agent_wrote(2, operator="olga"))
        assert [agent.operator for agent in report.agents] == ["olga"]
        (payload,) = show_named_records(world.workspace, report.recorded[0]).payloads
        assert payload["operator"] == "olga"

    def test_a_decision_carries_model_operator_and_areas_of_its_commit(self, world: TrustWorld) -> None:
        world.agent_wrote(2, model="m-1", operator="olga", more={b"docs/x.md": b"words\n", b"README": b"words\n"})
        world.later(hours=1)
        opened = "2023-11-14T22:00:00Z"
        wanted = DecisionRequest(agent="claude-code", decision=ACCEPTED, commit="HEAD", actor="ana", opened=opened)
        taken = record_commit_decision(world.workspace, wanted).report().taken
        (payload,) = show_named_records(world.workspace, taken.record).payloads
        assert (payload["model"], payload["operator"]) == ("m-1", "olga")
        assert (payload["areas"], payload["opened_at"]) == ([".", "docs", "src"], opened)


class TestNever:
    # Conformance: 001-059
    @pytest.mark.parametrize(
        ("more", "code"),
        [
            ({b"logo": b"\0\1\2"}, "TRUST-KIND"),
            ({b"lib": (SUBMODULE, b"a" * 40)}, "TRUST-KIND"),
            ({b"link": (LINK, b"src/a.py")}, "TRUST-KIND"),
            ({b"run": (PROGRAM, b"")}, "TRUST-KIND"),
            ({b".github/workflows/ci.yml": b""}, "TRUST-PATH"),
        ],
    )
    def test_kinds_and_paths(self, world: TrustWorld, more: Any, code: str) -> None:
        assert code in codes(asked(world.proven(), world.agent_wrote(2, more=more)))

    def test_another_mode_and_a_file_that_goes_from_a_named_path(self, world: TrustWorld) -> None:
        world.committed({**world.files, b"run": b"words\n", b"custody.toml": b"[gate]\n"})
        world.proven()
        change = world.agent_wrote(2, more={b"run": (PROGRAM, b"words\n")})
        assert codes(asked(world, change)) == ["TRUST-KIND"]
        world.built.path.joinpath("custody.toml").unlink(missing_ok=True)
        gone = {path: content for path, content in world.files.items() if path != b"custody.toml"}
        change = world.committed(gone)
        world.rules(NO_AUDIT)
        assert "TRUST-PATH" in codes(asked(world, change, agent="claude-code"))

    def test_what_only_goes_counts_by_its_lines(self, world: TrustWorld) -> None:
        world.committed({**world.files, b"src/big.py": b"x = 1\n" * 501})
        change = world.proven().committed({b"src/a.py": OLD})
        assert codes(asked(world, change, agent="claude-code")) == ["TRUST-SIZE"]

    def test_a_new_name_counts_as_a_line(self, world: TrustWorld) -> None:
        change = world.proven().committed({b"src/b.py": OLD})
        assert asked(world, change, agent="claude-code", dry_run=True).lines == 1

    @pytest.mark.parametrize("approver", ["claude-code", "A tester", "tester@example.invalid"])
    def test_an_author_does_not_approve(self, world: TrustWorld, approver: str) -> None:
        assert codes(asked(world.proven(), world.agent_wrote(2), approver=approver)) == ["TRUST-SELF"]

    def test_the_operator_of_the_agent_does_not_approve(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(2, operator="olga")
        assert codes(asked(world, change, approver="olga")) == ["TRUST-SELF"]

    def test_a_head_that_a_person_rejected_does_not_merge(self, world: TrustWorld) -> None:
        world.proven()
        change = world.agent_wrote(2)
        record_commit_decision(
            world.workspace, DecisionRequest(agent="claude-code", decision=REJECTED, commit="HEAD", actor="ana")
        )
        assert "TRUST-REJECTED" in codes(asked(world, change))
        assert "TRUST-REJECTED" in codes(asked(world, change, agent="other"))

    def test_a_head_that_merged_and_was_reverted_does_not_merge_again(self, world: TrustWorld) -> None:
        change = world.proven().agent_wrote(2)
        assert asked(world, change).approved
        world.later(hours=1)
        done = record_revert(
            world.workspace, "claude-code", f"unreviewed:{world.head}", actor="ana", reason="slow"
        ).report()
        assert (done.taken.kind, done.taken.lines, done.standing.rejected) == ("revert", 2, 1)
        assert "TRUST-REJECTED" in codes(asked(world, change))

    def test_an_empty_change_is_the_callers_turn(self, world: TrustWorld) -> None:
        with pytest.raises(InputError, match="changes nothing"):
            asked(world, "HEAD..HEAD")

    def test_where_nothing_was_recorded_nothing_is_made(self, world: TrustWorld) -> None:
        change = world.committed({b"src/a.py": OLD + b"more = 1\n"})
        assert codes(asked(world, change, agent="claude-code")) == ["TRUST-SAMPLES"]
        assert not home_of(world.built.path).exists()


class TestChance:
    def test_with_few_decisions_it_is_reported_and_does_not_decide(self, world: TrustWorld) -> None:
        report = asked(world.proven(), world.agent_wrote(2))
        (agent,) = report.agents
        assert (report.approved, agent.chance is not None) == (True, True)
        assert agent.chance is not None
        assert (agent.chance.passes, agent.chance.target, agent.chance.realised) == (False, 0.01, None)

    def test_with_enough_the_control_of_risk_decides_too(self, world: TrustWorld) -> None:
        world.proven().rules(NO_AUDIT + "chance_decisions_min = 12\n")
        assert codes(asked(world, world.agent_wrote(2))) == ["TRUST-CHANCE"]

    def test_before_anything_was_decided_there_is_none(self, world: TrustWorld) -> None:
        report = asked(world, world.agent_wrote(2), dry_run=True)
        assert [agent.chance for agent in report.agents] == [None]


class TestBudget:
    def test_slices_of_one_agent_share_it(self, world: TrustWorld) -> None:
        world.proven()
        assert asked(world, world.agent_wrote(300)).approved
        assert codes(asked(world, world.agent_wrote(201))) == ["TRUST-BUDGET"] * 3
        report = asked(world, world.agent_wrote(200))
        assert (report.approved, report.agents[0].budget_left) == (True, 200)
        world.later(hours=25)
        assert asked(world, world.agent_wrote(201)).approved

    def test_another_agent_in_the_same_area_shares_it(self, world: TrustWorld) -> None:
        world.proven("claude-code").proven("other")
        assert asked(world, world.agent_wrote(400, agent="claude-code", operator="olga")).approved
        in_src = asked(world, world.agent_wrote(200, agent="other", operator="pia", path="src/b.py"))
        assert [reason.sentence[:26] for reason in in_src.reasons] == ["400 lines in 'src' were me"]
        assert asked(world, world.agent_wrote(200, agent="other", operator="pia", path="docs/b.py")).approved

    def test_another_agent_of_the_same_operator_shares_it(self, world: TrustWorld) -> None:
        world.proven("claude-code").proven("other")
        assert asked(world, world.agent_wrote(400, agent="claude-code", operator="olga")).approved
        report = asked(world, world.agent_wrote(200, agent="other", operator="olga", path="docs/b.py"))
        assert [reason.sentence[:33] for reason in report.reasons] == ["400 lines of operator olga were m"]

    def test_what_was_reviewed_uses_up_nothing(self, world: TrustWorld) -> None:
        world.proven()
        world.agent_wrote(400)
        record_commit_decision(
            world.workspace, DecisionRequest(agent="claude-code", decision=ACCEPTED, commit="HEAD", actor="ana")
        )
        assert asked(world, world.agent_wrote(400)).approved

    def test_a_clock_set_back_spends_nothing(self, world: TrustWorld) -> None:
        world.proven()
        assert asked(world, world.agent_wrote(300)).approved
        change = world.agent_wrote(201)
        world.later(days=-2)
        assert "TRUST-CLOCK" in codes(asked(world, change))

    # Conformance: 001-058
    def test_processes_that_ask_at_once_do_not_overspend(self, world: TrustWorld) -> None:
        world.proven()
        changes = [world.agent_wrote(100) for _ in range(8)]
        asked(world, changes[0], dry_run=True)  # captured edits are replayed once
        children = [_asks(world, change) for change in changes]
        ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert sorted(ended) == [0] * 5 + [1] * 3, "500 lines a day, 100 each"
        assert trust_verify(world.workspace).outcome == "fine"


class TestTampering:
    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM record WHERE seq = 3",
            "DELETE FROM decision WHERE seq = 3",
            "UPDATE record SET at_ns = at_ns + 1 WHERE seq = 3",
            "UPDATE body SET bytes = X'7B7D' WHERE digest = (SELECT digest FROM record WHERE seq = 3)",
        ],
    )
    def test_a_log_that_was_changed_lets_nothing_merge(self, world: TrustWorld, statement: str) -> None:
        change = world.proven("claude-code", 1, "rejected").proven("claude-code").agent_wrote(2)
        assert asked(world, change, dry_run=True).agents[0].samples == 13
        with closing(sqlite3.connect(home_of(world.built.path) / "custody.db")) as db, db:
            db.execute(statement)
        assert "TRUST-LOG" in codes(asked(world, change))

    def test_a_cache_that_was_changed_is_not_believed_and_found(self, world: TrustWorld) -> None:
        change = world.proven("claude-code", 120, "rejected").agent_wrote(2)
        assert trust_verify(world.workspace).outcome == "fine"
        trust_list(world.workspace)
        with closing(sqlite3.connect(home_of(world.built.path) / "custody.db")) as db, db:
            ((folded,),) = db.execute("SELECT folded FROM trust_standing").fetchall()
            score = folded.split('"score":')[1].split(",")[0]
            forged = folded.replace(f'"score":{score}', '"score":0.99').replace('"earned":' + score, '"earned":0.99')
            db.execute("UPDATE trust_standing SET folded = ?", (forged,))
        assert trust_list(world.workspace).agents[0].stored == 0.99
        assert "TRUST-UNTRUSTED" in codes(asked(world, change))
        assert [finding.code for finding in trust_verify(world.workspace).findings] == ["TRUST-DIFFERS"]


def _asks(world: TrustWorld, change: str) -> int:
    """Start a process that asks to approve a change; it exits with 0 if the change may merge."""
    child = os.fork()
    if child == 0:
        status = 9
        try:
            status = 0 if _asked_until_answered(world, change).approved else 1
        finally:
            os._exit(status)
    return child


def _asked_until_answered(world: TrustWorld, change: str) -> TrustApproveReport:
    """Ask on a machine so busy that other writers outlast SQLite's timeout."""
    for _ in range(5):
        try:
            return asked(world, change)
        except StoreError:
            continue
    return asked(world, change)
