"""One budget of lines, spent more than once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.attacks.decisions import A1
from tests.attacks.ground import BUDGET_LINES, GOOD, LARGE, LARGE_LINES
from tests.attacks.model import Attacker, WayIn
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


# A shared budget whose reference a colleague deletes.


SHARED = '[trust]\naudit_share = 0.0\n[gate]\nbudget = "remote"\nassurance_min = "self-reported"\n'


def _spend_shared_budget(target: Target) -> None:
    """Use some of the shared budget, then judge one more change in the same clone."""
    files, changes = {**target.files, b"custody.toml": SHARED.encode()}, {}
    base = target.commit(files, ref="refs/heads/shared-budget")
    for name in LARGE:
        path = f"src/{name}.py"
        text = target.home.git("cat-file", "blob", f"{target.ground.heads[name]}:{path}")
        head = target.commit({**files, path.encode(): text}, base, ref=f"refs/heads/shared-{name}")
        changes[name] = f"{base}..{head}"
    target.share()
    target.notes["changes"] = changes
    target.run("gate", changes[LARGE[0]])
    target.change = changes[LARGE[1]]


def _check_not_verifiable(target: Target) -> None:
    assert target.verdict is not None
    assert target.verdict.level != "approve", "the gate approved after the reservations were deleted"
    assert not target.verdict.is_granted, "'trust approve' grants the change after the reservations were deleted"
    report = target.run("gate", target.change, "--json", at=target.court).out
    assert "budget not verifiable" in report, "the gate does not say that reservations are missing"


@BOOK.attack(
    Attacker.COLLEAGUE,
    WayIn.REMOTE,
    does="deletes the reservations at the remote; a clone that saw them judges",
    prepare=_spend_shared_budget,
    check=_check_not_verifiable,
    writes_records=False,
)
def deleted_reservations(target: Target) -> None:
    clone = target.clone("colleague")
    clone.git("push", "--quiet", "origin", "--delete", "refs/custody/budget")


def _reserve_two(target: Target) -> None:
    """Reserve the lines of two changes, also where the judgment before the attack is already known."""
    _spend_shared_budget(target)
    target.run("gate", target.change)


def _check_kept_within_budget(target: Target) -> None:
    """Ask about every change again: what was approved before stays so, and no more than the budget is."""
    for name, change in target.notes["changes"].items():
        report = json.loads(target.run("gate", change, "--json").out)
        if report["level"] == "approve":
            target.notes.setdefault("approved", set()).add(name)
    check_within_budget(target)
    assert set(LARGE[:2]) <= target.notes["approved"], "a killed gate took a reservation away"
    verified = target.run("verify")
    assert verified.status == 0, f"a killed gate damaged the store: {verified.out}"


@BOOK.attack(
    A1,
    WayIn.CLI,
    does="kills gates while they reserve",
    prepare=_reserve_two,
    check=_check_kept_within_budget,
    writes_records=False,
)
def killed_gates(target: Target) -> None:
    for name, wait in zip(LARGE[2:] * 2, (0.3, 0.6, 0.9, 1.2, 1.6, 2.0), strict=True):
        command = (sys.executable, "-m", "custody", "gate", target.notes["changes"][name])
        process = subprocess.Popen(
            command, cwd=target.home.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
