"""Only the service's own webhook may say that a code host reviewed a change."""

import json
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.wire.arrival import arrival_from_bytes
from custody.intake.import_events import import_event_file
from custody.server.app.intake import Intake
from custody.server.github.shapes import Login, Pull, PullRequestSide, PullReview, find_pull_witness
from custody.trust.queries import list_agent_decisions
from custody.trust_lineage import ChangeComplexity, DecisionType, TrustLineageManager
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.trust import TrustWorld
from tests.builders.verdicts import a_key

HOST = {"kind": "host", "by": "github:ana"}
SIGNED = {"kind": "signature", "by": "ana", "signature": "rubbish"}


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    return TrustWorld(tmp_path / "repository")


def test_every_input_refuses_it(world: TrustWorld, tmp_path: Path) -> None:
    event = an_event("decision", witness=HOST)
    with pytest.raises(InputError, match="only recorded by the service's own webhook"):
        arrival_from_bytes(EventId("1"), event)
    with pytest.raises(InputError, match="only recorded by"):
        spool_of(world.built.path).put(event)
    ran = custody(world.built.path, "record", "--agent", "robot", stdin=event.decode())
    assert "only recorded by the service's own webhook" in ran.err
    assert spool_of(world.built.path).names() == []
    file = tmp_path / "events.jsonl"
    file.write_bytes(event + b"\n" + an_event("decision", id="2", witness=SIGNED) + b"\n")
    report = import_event_file(world.workspace, file)
    assert (report.new, report.problem_count) == (1, 1)
    with pytest.raises(InputError, match="only recorded by"):
        Intake(world.workspace).event(json.loads(event))
    assert Intake(world.workspace).event(json.loads(an_event("decision", witness=SIGNED)))


def test_what_a_hook_acknowledged_is_ingested_without_it(world: TrustWorld) -> None:
    spool = spool_of(world.built.path)
    spool.put_all([an_event("decision", agent="robot", id="1", witness=HOST)])  # durable without another check
    with world.workspace.reading() as store:
        (decision,) = list_agent_decisions(store, "robot")
    assert (decision.view.id, decision.view.witness) == ("1", None)


def test_the_signature_of_the_verb_is_the_actors(world: TrustWorld, tmp_path: Path) -> None:
    key = a_key(tmp_path / "keys")
    words = ("trust", "record", "robot", "accepted", "HEAD", "--actor", "ana", "--sign-key", str(key.private))
    assert custody(world.built.path, *words).status == 0
    assert custody(world.built.path, *words[:4], "HEAD", *words[5:7], "--sign-key", str(tmp_path / "none")).status == 2
    with world.workspace.reading() as store:
        (decision,) = list_agent_decisions(store, "robot")
    assert decision.view.witness is not None and decision.view.witness.signature is not None
    assert (decision.view.witness.kind, decision.view.witness.by) == ("signature", "ana")


def a_review(login: str, state: str = "APPROVED", *, commit: str = "a" * 40, association: str = "MEMBER") -> PullReview:
    return PullReview(state=state, user=Login(login), commit_id=commit, author_association=association)


def a_pull(author: str | None = "cara", merged_by: Login | None = None) -> Pull:
    head, base = PullRequestSide("a" * 40), PullRequestSide("b" * 40)
    user = None if author is None else Login(author)
    return Pull(number=1, state="closed", merged=True, user=user, merged_by=merged_by, head=head, base=base)


@pytest.mark.parametrize(
    ("reviews", "merged_by", "witness"),
    [
        ([a_review("ana")], None, "ana"),
        ([a_review("ana"), a_review("ben")], Login("cara"), "ben"),
        ([a_review("ana"), a_review("ana", "CHANGES_REQUESTED")], None, None),
        ([a_review("ana"), a_review("ana", "COMMENTED")], None, "ana"),
        ([a_review("CARA")], Login("Cara"), None),
        ([a_review("ana", association="NONE")], None, None),
        ([a_review("ana", commit="c" * 40)], None, None),
        ([], Login("ana"), "ana"),
        ([], Login("merger[bot]", "Bot"), None),
        ([], None, None),
    ],
)
def test_who_vouches_for_a_merged_pull_request(
    reviews: list[PullReview], merged_by: Login | None, witness: str | None
) -> None:
    assert find_pull_witness(a_pull(merged_by=merged_by), reviews) == witness
    assert find_pull_witness(a_pull(author=None, merged_by=merged_by), reviews) is None


class TestLibrary:
    def record(self, manager: TrustLineageManager, decision: DecisionType = DecisionType.ACCEPTED, **more: str) -> str:
        said = {"change_size": 50, "complexity": ChangeComplexity.TRIVIAL, "review_time_ms": 5000}
        return manager.record_decision("robot", decision, "abc1234", **said, **more).id  # type: ignore[arg-type]

    def total(self, manager: TrustLineageManager) -> int:
        return manager.get_agent_profile("robot").total_decisions

    def test_an_exact_repeat_is_dropped_unless_it_has_an_id(self, tmp_path: Path) -> None:
        manager = TrustLineageManager(tmp_path / "store")
        first = self.record(manager)
        assert ([self.record(manager) for _ in range(11)], self.total(manager)) == ([first] * 11, 1)
        self.record(manager, decision_id="other")
        assert self.total(manager) == 2

    def test_whatever_came_between_makes_it_another_decision(self, tmp_path: Path) -> None:
        manager = TrustLineageManager(tmp_path / "store")
        self.record(manager)
        self.record(manager, DecisionType.REJECTED)
        self.record(manager)
        manager.record_decision("other", DecisionType.REJECTED, "abc1234")
        self.record(manager)
        manager.record_decision("robot", DecisionType.ACCEPTED, "abc1234", change_size=51)
        assert self.total(manager) == 5

    def test_its_answers_are_self_reported(self, tmp_path: Path) -> None:
        approval = TrustLineageManager(tmp_path / "store").should_auto_approve("robot", 1)
        assert approval.assurance is not None
        assert approval.assurance.value == "self-reported"
