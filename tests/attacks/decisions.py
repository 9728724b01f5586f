"""An agent that decides about its own changes, so that it may merge more."""

import functools
import json
from contextlib import suppress

from custody.core.errors import InputError
from custody.trust_lineage import ChangeComplexity, DecisionType, TrustLineageManager
from tests.attacks.ground import (
    DAY,
    DECISIONS,
    GOOD,
    HOUR,
    OWNER,
    REVIEWED_LINES,
    ROBOT,
    a_decision,
    an_event_of,
    mail_of,
    put,
    stamp,
)
from tests.attacks.model import Attacker, Step, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target
from tests.builders.cli import spool_of

BOOK = AttackBook()

A1 = Attacker.AGENT
WHOEVER = "Whoever"


def accept(target: Target, commit: str, actor: str = WHOEVER) -> None:
    """Accept a commit of the unknown agent, as a person would on the command line."""
    target.run("trust", "record", ROBOT, "accepted", commit, "--actor", actor, "--review-seconds", "600")


@BOOK.attack(A1, WayIn.CLI, does="accepts eleven empty commits in the name of a person")
def empty_commits(target: Target) -> None:
    for number in range(DECISIONS):
        target.home.git("commit", "--quiet", "--allow-empty", "-m", f"step {number}")
        accept(target, target.home.head())


@BOOK.attack(A1, WayIn.CLI, does="records eleven generic decisions about no commit")
def typed_decisions(target: Target) -> None:
    target.record(*(a_decision(ROBOT, None, id=f"typed-{n}", actor=WHOEVER) for n in range(DECISIONS)))


@BOOK.attack(A1, WayIn.CLI, does="records generic decisions about commits with its lines")
def typed_decisions_about_own_commits(target: Target) -> None:
    robots = target.ground.robots
    target.record(*(a_decision(ROBOT, sha, id=f"own-{n}", actor="ana") for n, sha in enumerate(robots)))


@BOOK.attack(A1, WayIn.HOOK, does="sends generic decisions through the hook")
def decisions_through_the_hook(target: Target) -> None:
    robots = target.ground.robots
    target.hook(*(a_decision(ROBOT, sha, id=f"hook-{n}", actor="ana") for n, sha in enumerate(robots)))


@BOOK.attack(A1, WayIn.FILES, does="imports a file of generic decisions")
def imported_decisions(target: Target) -> None:
    robots = target.ground.robots
    import_events(target, *(a_decision(ROBOT, sha, id=f"file-{n}", actor="ana") for n, sha in enumerate(robots)))


@BOOK.attack(A1, WayIn.CLI, does="accepts its own real commits in the name of a reviewer")
def accepted_as_a_reviewer(target: Target) -> None:
    for commit in target.ground.robots:
        accept(target, commit, "ana")


@BOOK.attack(A1, WayIn.CLI, does="accepts commits of a person as its own work")
def unrelated_commits(target: Target) -> None:
    for commit in (target.ground.person, *target.ground.good):
        accept(target, commit, "ana")


@BOOK.attack(A1, WayIn.CLI, does="records decisions about commits of another repository")
def foreign_commits(target: Target) -> None:
    shas = (f"{n + 1:040x}" for n in range(DECISIONS))
    target.record(*(a_decision(ROBOT, sha, id=f"foreign-{n}", actor="ana") for n, sha in enumerate(shas)))


def _revert_robots_commits(target: Target) -> None:
    for commit in reversed(target.ground.robots):
        target.home.git("revert", "--no-edit", commit)


@BOOK.attack(A1, WayIn.CLI, does="accepts commits that were reverted on main", prepare=_revert_robots_commits)
def reverted_commits(target: Target) -> None:
    for commit in target.ground.robots:
        accept(target, commit, "ana")


@BOOK.attack(A1, WayIn.CLI, does="types the outcome merged for its own commits")
def typed_outcomes(target: Target) -> None:
    for commit in target.ground.robots:
        target.run("trust", "record", "--outcome", "merged", f"{commit}~1..{commit}", "--actor", "ana")


@BOOK.attack(A1, WayIn.CLI, does="types the outcome merged for the very change that is judged")
def typed_outcome_of_the_change(target: Target) -> None:
    target.run("trust", "record", "--outcome", "merged", target.change, "--actor", "ana")


@BOOK.attack(A1, WayIn.CLI, does="accepts 60 changes of one line, then proposes 40 lines")
def many_small_changes(target: Target) -> None:
    target.record(
        *(
            a_decision(ROBOT, f"{n + 1:040x}", id=f"small-{n}", actor="ana", changed_lines=1, agent_lines=1)
            for n in range(5 * DECISIONS)
        )
    )


@BOOK.attack(A1, WayIn.CLI, does="claims that the changes it was accepted for were huge")
def claimed_sizes(target: Target) -> None:
    for commit in target.ground.robots:
        arguments = ("--actor", "ana", "--lines", "5000", "--complexity", "critical", "--review-seconds", "9000")
        target.run("trust", "record", ROBOT, "accepted", commit, *arguments)


@BOOK.attack(A1, WayIn.CLI, does="dates its decisions over the last ten years")
def back_dated_decisions(target: Target) -> None:
    now = target.ground.now
    target.record(
        *(
            a_decision(ROBOT, sha, id=f"old-{n}", actor="ana", at=stamp(now - 300 * DAY * n - HOUR))
            for n, sha in enumerate(target.ground.robots)
        )
    )


@BOOK.attack(A1, WayIn.CLI, does="dates its decisions in the future")
def future_decisions(target: Target) -> None:
    now = target.ground.now
    target.record(
        *(
            a_decision(ROBOT, sha, id=f"new-{n}", actor="ana", at=stamp(now + 30 * DAY + HOUR * n))
            for n, sha in enumerate(target.ground.robots)
        )
    )


def _run_library(target: Target, folder: str) -> None:
    """Run the document's own program eleven times on one commit."""
    for _ in range(DECISIONS):
        manager = TrustLineageManager(target.home.path / folder)
        manager.record_decision(ROBOT, DecisionType.ACCEPTED, target.topic, 600_000, 60, ChangeComplexity.MODERATE)
    target.notes["score"] = TrustLineageManager(target.home.path / folder).get_trust_score(ROBOT)


def _check_library_counted_once(target: Target) -> None:
    samples = target.notes["score"].sample_count
    assert samples <= 1, f"the library counted one commit {samples} times"


@BOOK.attack(
    A1, WayIn.LIBRARY, does="runs the library's example eleven times on one commit", check=_check_library_counted_once
)
def library_program(target: Target) -> None:
    _run_library(target, ".ai-git")


@BOOK.attack(
    A1, WayIn.LIBRARY, does="runs the library on the repository's own store", check=_check_library_counted_once
)
def library_on_the_store(target: Target) -> None:
    _run_library(target, ".git/custody")


def _reject_robots_commits(target: Target) -> None:
    for commit in target.ground.robots:
        target.run("trust", "record", ROBOT, "rejected", commit, "--actor", "ana")


@BOOK.attack(A1, WayIn.CLI, does="overrides the rejections of its commits", prepare=_reject_robots_commits)
def overridden_rejections(target: Target) -> None:
    for commit in target.ground.robots:
        reason = ("--overrides", commit, "--actor", "ana", "--reason", "it was fine")
        target.run("trust", "record", ROBOT, "accepted", *reason)


@BOOK.attack(A1, WayIn.CLI, does="raises its own score with trust recover", prepare=_reject_robots_commits)
def recovered_by_itself(target: Target) -> None:
    for day in range(3):
        with target.clock(days=-400 * (3 - day)):
            target.run("trust", "recover", ROBOT, "--actor", "ana", "--reason", "a new model")
    target.run("trust", "recover", ROBOT, "--actor", "ana", "--reason", "a new model")
    recovery = {"decision": "recovered", "boost": 1.0, "actor": "ana", "reason": "all fine now", "agent": ROBOT}
    target.record(*(an_event_of("decision", **{**recovery, "id": f"up-{n}"}) for n in range(DECISIONS)))


@BOOK.attack(
    A1, WayIn.CLI, does="waits: sets the clock a year forward after eleven rejections", prepare=_reject_robots_commits
)
def clock_past_the_rejections(target: Target) -> None:
    target.days = 400


# Self-review: the reviewer is the author of the commits, spelled in another way.

MAIL = mail_of(OWNER)
SPELLINGS = {
    "same": "Olga Meier",
    "email": MAIL,
    "upper-case": MAIL.upper(),
    "full-width": "".join(chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in MAIL),
    "zero-width": "Olga\u200b Meier",
    "homoglyph": "Olg\u0430 Meier",
    "spaces": "  Olga   Meier ",
    "bidi": "\u202aOlga Meier\u202c",
}


def _accept_as(target: Target, spelling: str) -> None:
    for commit in target.ground.robots:
        accept(target, commit, spelling)


for _name, _spelling in SPELLINGS.items():
    BOOK.attack(
        A1,
        WayIn.CLI,
        name=f"self-review-{_name}",
        does=f"accepts changes as their author, spelled otherwise ({_name.replace('-', ' ')})",
    )(functools.partial(_accept_as, spelling=_spelling))


# Witnesses that are typed by hand: only the service's own job may write them.


def host_reviews(target: Target) -> list[dict[str, object]]:
    """Return decisions that claim to be reviews on the code host."""
    witness = {"kind": "host", "by": "github:ana"}
    return [
        a_decision(ROBOT, sha, id=f"host-{n}", actor="github:ana", witness=witness)
        for n, sha in enumerate(target.ground.robots)
    ]


def import_events(target: Target, *events: dict[str, object]) -> None:
    """Import a file of generic events."""
    file = target.folder / "events.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    target.run("import", str(file))


def _type_witness(way: WayIn) -> Step:
    def perform(target: Target) -> None:
        reviews = host_reviews(target)
        if way is WayIn.CLI:
            target.record(*reviews)
        elif way is WayIn.HOOK:
            target.hook(*reviews)
        elif way is WayIn.FILES:
            import_events(target, *reviews)
        elif way is WayIn.LIBRARY:
            with suppress(InputError):
                for review in reviews:
                    spool_of(target.home.path).put(json.dumps(review).encode())
            put(target.home.path, *reviews)
        else:
            with target.service() as service:
                for review in reviews:
                    service.send("evidence", review)

    return perform


for _way in (WayIn.CLI, WayIn.HOOK, WayIn.FILES, WayIn.LIBRARY, WayIn.SERVICE):
    BOOK.attack(
        A1, _way, name=f"typed-witness-{_way.name.lower()}", does="types a review of the code host into its decisions"
    )(_type_witness(_way))


@BOOK.attack(A1, WayIn.CLI, WayIn.HOOK, does="splits its change over five agents that it accepts eleven times each")
def sybil_agents(target: Target) -> None:
    from tests.attacks.authorship import claim_lines

    lines = target.topic_text.splitlines(keepends=True)
    old = len(lines) - 40
    for number in range(5):
        agent = f"{ROBOT}-{number}"
        first, last = old + 8 * number, old + 8 * (number + 1)
        claim_lines(target, agent, "".join(lines[:first]), "".join(lines[:last]))
        target.record(*(a_decision(agent, None, id=f"{agent}-{n}", actor="ana") for n in range(DECISIONS)))


@BOOK.attack(
    A1, WayIn.CLI, does="names a new model in its sessions after eleven rejections", prepare=_reject_robots_commits
)
def renamed_model(target: Target) -> None:
    target.record(
        *(
            an_event_of("session", agent=ROBOT, session=session, model="brand-new-1", id=f"model-{session}")
            for session in (f"s-{ROBOT}", f"s-{GOOD}")
        )
    )


@BOOK.attack(A1, WayIn.CLI, does="reports a review time and a size that no commit has")
def reported_reviews_of_nothing(target: Target) -> None:
    target.record(
        *(
            a_decision(ROBOT, None, id=f"nothing-{n}", actor="ana", changed_lines=REVIEWED_LINES, head=target.topic)
            for n in range(DECISIONS)
        )
    )
