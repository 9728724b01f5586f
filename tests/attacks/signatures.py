"""Signatures that must not count, or count only once."""

from typing import Any

from tests.attacks.decisions import A1, import_events
from tests.attacks.ground import (
    AGENTS_OWN,
    ANA,
    DECISIONS,
    DEVICE,
    GOOD,
    ORDINARY,
    REVIEWED_LINES,
    ROBOT,
    a_decision,
    an_event_of,
    mail_of,
    put,
    signed,
)
from tests.attacks.keys import PersonKey
from tests.attacks.model import WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target

BOOK = AttackBook()

KNOWN_REVIEWS = 3


def sign_reviews(target: Target, key: PersonKey, by: str, commits: list[str]) -> list[dict[str, Any]]:
    """Return accepted decisions about commits of the unknown agent, signed by a key."""
    return [signed(a_decision(ROBOT, sha, id=f"{by}-{n}", actor=by), key, by) for n, sha in enumerate(commits)]


def _write_as_ana(target: Target) -> None:
    target.notes["commits"] = [
        target.agent_commit(f"by_ana_{number}", REVIEWED_LINES, author=ANA) for number in range(DECISIONS)
    ]
    target.judge_head(target.agent_commit("judged_of_ana", 40, author=ANA))


@BOOK.attack(A1, WayIn.CLI, does="presents signed decisions by the author of the changes", prepare=_write_as_ana)
def signature_by_the_author(target: Target) -> None:
    target.record(*sign_reviews(target, DEVICE, "ana", target.notes["commits"]))


def _operated_by_ana(target: Target) -> None:
    operator = {"operator": mail_of(ANA)}
    put(target.home.path, an_event_of("session", agent=ROBOT, session=f"s-{ROBOT}", id="operator", **operator))


@BOOK.attack(A1, WayIn.CLI, does="presents signed decisions by the operator of the agent", prepare=_operated_by_ana)
def signature_by_the_operator(target: Target) -> None:
    target.record(*sign_reviews(target, DEVICE, "ana", target.ground.robots))


@BOOK.attack(A1, WayIn.CLI, does="signs with the ordinary key that a reviewer left unlocked")
def signature_without_presence(target: Target) -> None:
    target.record(*sign_reviews(target, ORDINARY, "ben", target.ground.robots))


@BOOK.attack(A1, WayIn.CLI, does="signs with a key of its own in the name of a reviewer")
def signature_by_an_unlisted_key(target: Target) -> None:
    target.record(*sign_reviews(target, AGENTS_OWN, "ana", target.ground.robots))


@BOOK.attack(A1, WayIn.CLI, does="names another reviewer than the one that signed")
def signature_in_another_name(target: Target) -> None:
    target.record(*sign_reviews(target, ORDINARY, "ana", target.ground.robots))


@BOOK.attack(A1, WayIn.CLI, does="puts a reviewer's signature about another agent under its own decisions")
def moved_signature(target: Target) -> None:
    stolen = signed(a_decision(GOOD, target.ground.good[0], id="good-0", actor="ana"), DEVICE, "ana")["witness"]
    target.record(
        *(
            a_decision(ROBOT, sha, id=f"moved-{n}", actor="ana", witness=stolen)
            for n, sha in enumerate(target.ground.robots)
        )
    )


@BOOK.attack(A1, WayIn.CLI, does="signs with the right key in the namespace of another program")
def signature_for_another_purpose(target: Target) -> None:
    from custody.core.wire.canonical import dump_canonical_json

    for number, sha in enumerate(target.ground.robots):
        plain = a_decision(ROBOT, sha, id=f"git-{number}", actor="ana")
        signature = DEVICE.sign(dump_canonical_json(plain), "git")
        target.record({**plain, "witness": {"kind": "signature", "by": "ana", "signature": signature}})


def _have_three_reviews(target: Target) -> None:
    reviews = sign_reviews(target, DEVICE, "ana", target.ground.robots[:KNOWN_REVIEWS])
    target.notes["reviews"] = reviews
    put(target.home.path, *reviews)


@BOOK.attack(
    A1, WayIn.CLI, WayIn.FILES, does="records three signed reviews again and again", prepare=_have_three_reviews
)
def replayed_decisions(target: Target) -> None:
    for _ in range(DECISIONS):
        target.record(*target.notes["reviews"])
    import_events(target, *target.notes["reviews"])


@BOOK.attack(A1, WayIn.CLI, does="records signed reviews again under new ids", prepare=_have_three_reviews)
def replayed_decisions_under_new_ids(target: Target) -> None:
    for number in range(DECISIONS):
        target.record(*({**review, "id": f"{review['id']}-{number}"} for review in target.notes["reviews"]))


@BOOK.attack(A1, WayIn.CLI, does="turns signed rejections into approvals")
def edited_signed_decision(target: Target) -> None:
    for review in sign_reviews(target, DEVICE, "ana", target.ground.robots):
        rejection = signed({**review, "decision": "rejected"}, DEVICE, "ana")
        target.record({**rejection, "decision": "accepted"})
