"""Who vouches for decisions in a real repository, and what that lets merge."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.config import TeamPolicy, TeamReviewer, TeamStore
from custody.core.assurance import Assurance
from custody.core.ids import CommitSha, EventId, StoreId
from custody.core.wire.arrival import arrival_from_json
from custody.core.wire.canonical import Json
from custody.core.wire.claims import ChainRatings
from custody.core.wire.time import format_timestamp
from custody.signing import has_presence_flag
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.decision_assurance import DecisionPolicy, DecisionRater
from custody.trust.app.decision_signature import NAMESPACE, encode_signed_decision
from custody.trust.app.record import DecisionRequest, record_commit_decision
from custody.trust.app.show import trust_show, trust_why
from custody.trust.model import DecisionType
from custody.trust.queries import list_agent_decisions
from custody.trust.wire import TrustApproveReport
from tests.builders.device_keys import DeviceKey
from tests.builders.trust import NS, OLD, TrustWorld
from tests.builders.verdicts import a_key

SELF, ENROLLED, WITNESSED = Assurance
AGENT = "claude-code"
NO_AUDIT = "[trust]\naudit_share = 0.0\n"


@pytest.fixture
def world(tmp_path: Path) -> TrustWorld:
    return TrustWorld(tmp_path / "repository").rules(NO_AUDIT)


@pytest.fixture
def device() -> DeviceKey:
    return DeviceKey()


def a_team(key: str | None, *accounts: str, **stores: TeamStore) -> TeamPolicy:
    return TeamPolicy(stores, {"ana": TeamReviewer(key=key, accounts=accounts)})


def append(world: TrustWorld, event: dict[str, Json], name: str = "trust-1") -> None:
    """Append an event to the chain as it is."""
    with world.workspace.writing() as store:
        store.append([arrival_from_json(EventId(name), event)])


def a_decision_event(world: TrustWorld, **fields: Any) -> dict[str, Json]:
    said = {"id": "d", "at": format_timestamp(world.at * NS), "agent": AGENT, "decision": "accepted", "actor": "ana"}
    about = {"commit": world.first, "changed_lines": 250, "patch": "1" * 64, "agent_lines": 250}
    return {"custody": 1, "kind": "decision", **said, **about, **fields}


def signed(event: dict[str, Json], sign: Callable[[bytes], str], by: str = "ana") -> dict[str, Json]:
    witness: Json = {"kind": "signature", "by": by, "signature": sign(encode_signed_decision(event))}
    return {**event, "witness": witness}


def by_device(device: DeviceKey, namespace: str = NAMESPACE, flags: int = 1) -> Callable[[bytes], str]:
    return lambda message: device.sign(message, namespace, flags=flags)


def rated(world: TrustWorld, team: TeamPolicy, **policy: Any) -> list[Assurance]:
    """Return the assurance of each decision about the agent."""
    with world.workspace.reading() as store:
        whole = DecisionPolicy(**{"team": team, "repository": world.workspace.repository, **policy})
        rater = DecisionRater(store, whole, world.at * NS)
        return [rater.rate(decision) for decision in list_agent_decisions(store, AGENT)]


def own_chain(world: TrustWorld) -> StoreId:
    with world.workspace.reading() as store:
        own = store.own()
        assert own is not None
        return own


class TestSignatures:
    def test_a_touched_device_witnesses(self, world: TrustWorld, device: DeviceKey) -> None:
        append(world, signed(a_decision_event(world), by_device(device)))
        assert rated(world, a_team(device.public)) == [WITNESSED]

    def test_without_a_touch_it_is_enrolled(self, world: TrustWorld, device: DeviceKey) -> None:
        append(world, signed(a_decision_event(world), by_device(device, flags=0)))
        assert rated(world, a_team(device.public)) == [ENROLLED]

    def test_a_key_in_a_file_is_enrolled(self, world: TrustWorld, tmp_path: Path) -> None:
        key = a_key(tmp_path / "keys")
        world.agent_wrote(2)
        request = DecisionRequest(
            agent=AGENT, decision=DecisionType.ACCEPTED, commit="HEAD", actor="Ana", sign_key=key.private
        )
        record_commit_decision(world.workspace, request)
        public = " ".join(key.public.decode().split()[:2])
        assert rated(world, a_team(public)) == [ENROLLED]
        assert rated(world, a_team(None)) == rated(world, TeamPolicy()) == [SELF]

    @pytest.mark.parametrize(
        "accounts", [("TESTER@example.invalid",), ("a  tester",), ("Olga",), ("\u200bolga",), ("Claude-Code",)]
    )
    def test_an_author_or_operator_witnesses_nothing(
        self, world: TrustWorld, device: DeviceKey, accounts: tuple[str, ...]
    ) -> None:
        append(world, signed(a_decision_event(world, operator="olga"), by_device(device)))
        assert rated(world, a_team(device.public, *accounts)) == [SELF]

    def test_a_co_author_witnesses_nothing(self, world: TrustWorld, device: DeviceKey) -> None:
        message = b"Squashed\n\nCo-authored-by: Ana <12+ana@users.noreply.github.com>"
        commit = world.built.commit(
            {b"b.py": b"b\n"}, world.first, message=message, author=b"Bot <bot@example.invalid>"
        )
        append(world, signed(a_decision_event(world, commit=commit), by_device(device)))
        append(
            world,
            a_decision_event(world, id="2", commit=commit, witness={"kind": "host", "by": "github:ana"}),
            "trust-2",
        )
        chain = frozenset((own_chain(world),))
        assert rated(world, a_team(device.public, "github:ana"), ratings=ChainRatings(chain, chain, chain)) == [
            ENROLLED,
            ENROLLED,
        ]

    def test_an_author_of_any_commit_of_a_rebased_change_witnesses_nothing(
        self, world: TrustWorld, device: DeviceKey
    ) -> None:
        built, bot = world.built, b"Bot <bot@example.invalid>"
        first = built.commit({b"b.py": b"b\n"}, world.first, author=b"A. R. <ana@example.invalid>")
        head = built.commit({b"b.py": b"b\n", b"c.py": b"c\n"}, first, author=bot)
        merged = built.commit({b"b.py": b"b\n", b"c.py": b"c\n"}, world.first, message=b"rebased", author=bot)
        append(world, signed(a_decision_event(world, commit=merged, head=head), by_device(device)))
        assert rated(world, a_team(device.public, "ana@example.invalid")) == [SELF]
        assert rated(world, a_team(device.public, "eve@example.invalid")) == [WITNESSED]

    def test_without_the_commit_its_authors_are_unknown(self, world: TrustWorld, device: DeviceKey) -> None:
        append(world, signed(a_decision_event(world, commit="f" * 40), by_device(device)))
        assert rated(world, a_team(device.public)) == [SELF]

    def test_whoever_merged_may_vouch_for_what_came_with_the_merge(self, world: TrustWorld, device: DeviceKey) -> None:
        built, files = world.built, {b"src/a.py": OLD}
        topic = built.commit({**files, b"b.py": b"b\n"}, world.first, author=b"Bot <bot@example.invalid>")
        merge = built.commit({**files, b"b.py": b"b\n"}, world.first, topic, author=b"Ana <ana@example.invalid>")
        own = built.commit({**files, b"c.py": b"c\n"}, merge, world.first, author=b"Ana <ana@example.invalid>")
        for number, commit in enumerate((merge, own)):
            event = a_decision_event(world, id=str(number), commit=commit)
            append(world, signed(event, by_device(device)), f"trust-{number}")
        assert rated(world, a_team(device.public, "ana@example.invalid")) == [WITNESSED, SELF]

    @pytest.mark.parametrize("change", [{"agent_lines": 900}, {"commit": "0" * 40}, {"agent": "other"}])
    def test_nothing_signed_can_be_changed(self, world: TrustWorld, device: DeviceKey, change: dict[str, Any]) -> None:
        witness = signed(a_decision_event(world), by_device(device))["witness"]
        append(world, {**a_decision_event(world, **change), "witness": witness, "agent": AGENT, "id": "x"})
        assert rated(world, a_team(device.public)) == [SELF]

    def test_another_namespace_name_or_time_is_nobodys(self, world: TrustWorld, device: DeviceKey) -> None:
        event = a_decision_event(world)
        append(world, signed({**event, "id": "1"}, by_device(device, "git")), "trust-1")
        append(world, signed({**event, "id": "2"}, by_device(device), by="ben"), "trust-2")
        append(world, signed({**event, "id": "3"}, lambda _: "rubbish"), "trust-3")
        assert rated(world, a_team(device.public)) == [SELF] * 3

    def test_each_signature_is_checked_once(
        self, world: TrustWorld, device: DeviceKey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append(world, signed(a_decision_event(world), by_device(device)))
        checks: list[bytes] = []

        def check(message: bytes, *_: object) -> str:
            checks.append(message)
            return "key"

        monkeypatch.setattr("custody.trust.app.decision_assurance.find_signer", check)
        policy = DecisionPolicy(a_team(device.public), repository=world.workspace.repository)
        with world.workspace.reading() as store:
            rater, decisions = DecisionRater(store, policy, world.at * NS), list_agent_decisions(store, AGENT)
            for _ in range(3):
                rater.believe(decisions)
        assert len(checks) == 1

    @pytest.mark.parametrize("text", ["", "rubbish", "-----\n!\n-----", "-----\nU1NIU0lHAAAAAf////8=\n-----"])
    def test_an_invalid_signature_shows_no_presence(self, text: str) -> None:
        assert not has_presence_flag(text)


class TestHost:
    def test_only_a_witness_of_the_team_reports_reviews(self, world: TrustWorld) -> None:
        host: Json = {"kind": "host", "by": "github:ana"}
        append(world, a_decision_event(world, witness=host))
        chain = own_chain(world)
        enrolled = frozenset((chain,))
        assert rated(world, TeamPolicy()) == [SELF]
        assert rated(world, TeamPolicy(), ratings=ChainRatings(enrolled, enrolled)) == [ENROLLED]
        witness = ChainRatings(enrolled, enrolled, enrolled)
        assert rated(world, TeamPolicy(), ratings=witness) == [WITNESSED]
        assert rated(world, a_team(None, "github:ana", "tester@example.invalid"), ratings=witness) == [ENROLLED]

    def test_a_generic_event_is_not_a_decision_of_its_store(self, world: TrustWorld) -> None:
        append(world, a_decision_event(world, witness={"kind": "host", "by": "github:ana"}), "spooled-1")
        chain = frozenset((own_chain(world),))
        assert rated(world, TeamPolicy(), ratings=ChainRatings(chain, chain, chain)) == [SELF]

    def test_a_noreply_address_is_its_account(self, world: TrustWorld) -> None:
        commit = world.built.commit({b"a": b"a"}, author=b"X <12+Ana@users.noreply.github.com>")
        append(world, a_decision_event(world, commit=commit, witness={"kind": "host", "by": "github:ana"}))
        chain = frozenset((own_chain(world),))
        assert rated(world, TeamPolicy(), ratings=ChainRatings(chain, chain, chain)) == [ENROLLED]


POLICY = """\
[trust]
audit_share = 0.0
review_paths = []
[gate]
assurance_min = "witnessed"
[reviewers]
ana = {{ key = "{key}" }}
"""


class TestApproval:
    def test_under_a_minimum_only_what_is_witnessed_counts(self, world: TrustWorld, device: DeviceKey) -> None:
        world.committed({**world.files, b"custody.toml": POLICY.format(key=device.public).encode()})
        world.proven(patch="1" * 64, agent_lines=250)
        change = world.agent_wrote(5)
        refused = approve(world, change)
        assert {reason.code for reason in refused.reasons} == {"TRUST-SAMPLES", "TRUST-UNKNOWN"}
        assert [(left.why, left.decisions) for left in refused.agents[0].left_out] == [
            ("below the required assurance", 12)
        ]
        for number in range(12):
            event = a_decision_event(world, id=f"w{number}", at=format_timestamp((world.at - 60 - number) * NS))
            append(world, signed(event, by_device(device)), f"other-{number}")
        granted = approve(world, change)
        assert (granted.agents[0].samples, granted.agents[0].assurance) == (12, "witnessed")
        # The agent's record suffices now, but only this account says that it was this agent.
        assert {reason.code for reason in granted.reasons} == {"TRUST-UNKNOWN"}

    def test_without_a_minimum_the_answer_says_what_it_rests_on(self, world: TrustWorld) -> None:
        granted = approve(world.proven(), world.agent_wrote(5))
        assert (granted.approved, granted.agents[0].assurance, granted.agents[0].left_out) == (
            True,
            "self-reported",
            [],
        )

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"agent_lines": 0, "patch": "1" * 64}, "about a change without lines of the agent"),
            ({"commit": None}, "about no commit of this repository"),
            ({"commit": "f" * 40}, "about no commit of this repository"),
        ],
    )
    def test_decisions_about_nothing_let_nothing_merge(
        self, world: TrustWorld, fields: dict[str, Any], why: str
    ) -> None:
        refused = approve(world.proven(**fields), world.agent_wrote(5))
        assert [reason.code for reason in refused.reasons] == ["TRUST-SAMPLES"]
        assert [(left.why, left.decisions) for left in refused.agents[0].left_out] == [(why, 12)]

    def test_small_reviews_vouch_for_small_changes(self, world: TrustWorld) -> None:
        world.proven(changed_lines=20, complexity="critical")
        assert approve(world, world.agent_wrote(40)).approved
        assert [reason.code for reason in approve(world, world.agent_wrote(41)).reasons] == ["TRUST-SIZE"]

    def test_every_decision_is_shown_with_who_vouches_for_it(self, world: TrustWorld) -> None:
        world.proven(count=2)
        shown = trust_show(world.workspace, AGENT, limit=1).history
        assert [step.assurance for step in (*shown, *trust_why(world.workspace, AGENT).steps)] == ["self-reported"] * 3


class TestRejections:
    def rejected(self, world: TrustWorld) -> CommitSha:
        """Return the base of a change that was rejected."""
        base = world.proven().head
        world.agent_wrote(3)
        about = DecisionRequest(agent=AGENT, decision=DecisionType.REJECTED, commit="HEAD", actor="ana")
        record_commit_decision(world.workspace, about)
        return base

    def test_neither_a_new_message_nor_another_author_evades_one(self, world: TrustWorld) -> None:
        base = self.rejected(world)
        other = world.built.commit(
            {**world.ruled, **world.files}, base, message=b"v2", author=b"Else <else@example.invalid>"
        )
        assert other != world.head
        assert "TRUST-REJECTED" in codes(approve(world, f"{base}..{other}"))

    def test_neither_a_new_base_nor_an_empty_commit_on_top_evades_one(self, world: TrustWorld) -> None:
        base = self.rejected(world)
        moved = world.built.commit({b"src/a.py": OLD, b"docs/x.md": b"words\n"}, base)
        rebased = world.built.commit({**world.files, b"docs/x.md": b"words\n"}, moved)
        padded = world.built.commit({**world.files, b"docs/x.md": b"words\n"}, rebased)
        for change in (f"{moved}..{rebased}", f"{moved}..{padded}", f"{base}..{padded}"):
            assert "TRUST-REJECTED" in codes(approve(world, change))

    def test_another_line_is_another_change_and_an_override_lifts_it(self, world: TrustWorld) -> None:
        base = self.rejected(world)
        other = world.built.commit({**world.files, b"src/a.py": world.files[b"src/a.py"] + b"x = 1\n"}, base)
        assert "TRUST-REJECTED" not in codes(approve(world, f"{base}..{other}", agent=AGENT))
        world.later(hours=1)
        amended = world.built.commit({**world.ruled, **world.files}, base, message=b"v2")
        lifted = {"id": "o", "overrides": f"commit:{world.head}", "reason": "it is fine", "actor": "ben"}
        world.tell("decision", **{"agent": AGENT, "decision": "accepted", **lifted})
        assert "TRUST-REJECTED" not in codes(approve(world, f"{base}..{amended}"))


def approve(world: TrustWorld, change: str, **more: Any) -> TrustApproveReport:
    request = ApprovalRequest(change=change, approver="ci", dry_run=True)
    return trust_approve(world.workspace, replace(request, **more))


def codes(report: TrustApproveReport) -> list[str]:
    return [reason.code for reason in report.reasons]
