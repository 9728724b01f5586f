"""One budget of lines, spent more than once."""

import json
from collections.abc import Iterable
from pathlib import Path

from tests.attacks.decisions import A1
from tests.attacks.ground import BUDGET_LINES, GOOD, LARGE, LARGE_LINES
from tests.attacks.model import WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target

BOOK = AttackBook()

LAST = LARGE[-1]


def _ask_gate(target: Target, name: str, at: Path | None = None) -> None:
    """Ask the gate about a branch, and note whether it approved."""
    head = target.ground.heads[name]
    ran = target.run("gate", f"{target.ground.base}..{head}", "--json", at=at)
    if ran.status == 0 and ran.out and json.loads(ran.out)["level"] == "approve":
        target.notes.setdefault("approved", set()).add(name)


def _ask_about(target: Target, names: Iterable[str]) -> None:
    for name in names:
        _ask_gate(target, name)


def _judge_last(target: Target) -> None:
    target.judge_branch(LAST)


def _spend(target: Target) -> None:
    """Use up the budget of the day, then judge one more change."""
    _judge_last(target)
    _ask_about(target, LARGE[:-1])


def check_within_budget(target: Target) -> None:
    approved: set[str] = target.notes.get("approved", set())
    lines = LARGE_LINES * len(approved)
    assert lines <= BUDGET_LINES, (
        f"the gate approved {lines} lines of one agent in a day, {BUDGET_LINES} are its budget"
    )


@BOOK.attack(
    A1, WayIn.CLI, does="asks the gate about five branches that each use the same budget", check=check_within_budget
)
def several_branches(target: Target) -> None:
    _ask_about(target, LARGE)


@BOOK.attack(A1, WayIn.CLI, does="asks the gate and trust approve in turn", check=check_within_budget)
def gate_and_approve_in_turn(target: Target) -> None:
    for name in LARGE:
        change = f"{target.ground.base}..{target.ground.heads[name]}"
        if target.run("trust", "approve", change, "--approver", "ci").status == 0:
            target.notes.setdefault("approved", set()).add(name)
        _ask_gate(target, name)


def _share_chain(target: Target) -> None:
    target.share()
    _judge_last(target)


@BOOK.attack(
    A1,
    WayIn.CLI,
    WayIn.REMOTE,
    does="has each branch judged in a fresh clone, as CI does",
    prepare=_share_chain,
    check=check_within_budget,
)
def fresh_clones(target: Target) -> None:
    for name in LARGE:
        clone = target.clone(f"ci-{name}")
        target.pull(clone)
        _ask_gate(target, name, clone.path)


@BOOK.attack(A1, WayIn.CLI, does="sets the clock two days forward, so that the budget is free again", prepare=_spend)
def clock_forward(target: Target) -> None:
    target.days = 2


@BOOK.attack(A1, WayIn.CLI, does="sets the clock two days back, to before the budget was used", prepare=_spend)
def clock_back(target: Target) -> None:
    target.days = -2


@BOOK.attack(A1, WayIn.CLI, does="records reviews of the changes that used the budget", prepare=_spend)
def budget_paid_back(target: Target) -> None:
    for name in LARGE[:-1]:
        target.run("trust", "record", GOOD, "accepted", target.ground.heads[name], "--actor", "ana")


@BOOK.attack(A1, WayIn.CLI, does="deletes the records of what the budget was used for", prepare=_spend)
def deleted_approvals(target: Target) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(target.custody_home / "custody.db")) as database, database:
        database.execute("DELETE FROM decision WHERE commit_sha IS NULL OR unreviewed = 1")
