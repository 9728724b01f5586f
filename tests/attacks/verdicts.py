"""Signed verdicts that are presented as something else."""

import json
from pathlib import Path

from tests.attacks.decisions import A1
from tests.attacks.model import Attacker, Setting, WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target
from tests.builders.cli import Ran
from tests.builders.verdicts import a_key

BOOK = AttackBook()

REFUSED = 1


def _sign_verdict(target: Target, branch: str, key: str = "ci") -> Path:
    """Return the verdict on a branch in a signed envelope."""
    path = target.folder / key
    private = path if path.is_file() else a_key(target.folder, key).private
    out = target.folder / f"verdict-{branch}-{key}.json"
    change = f"{target.ground.base}..{target.ground.heads[branch]}"
    target.run("gate", change, "--format", "statement", "--sign-key", str(private), "--out", str(out))
    return out


def _present(target: Target, verdict: Path, *words: str) -> None:
    """Present a verdict to somebody who wants to merge; note the answer."""
    key = str((target.folder / "ci").with_suffix(".pub"))
    target.notes["answers"] = [
        *target.notes.get("answers", []),
        target.run("verify", "--verdict", str(verdict), "--key", key, *words),
    ]


def check_refused(target: Target) -> None:
    answers: list[Ran] = target.notes["answers"]
    for answer in answers:
        assert answer.status == REFUSED, (
            f"verify --verdict ended with {answer.status}, not 1: {answer.err or answer.out}"
        )


@BOOK.attack(
    Attacker.STRANGER, WayIn.CLI, does="presents a signed verdict 'review' as an approval", check=check_refused
)
def review_as_approval(target: Target) -> None:
    head = target.topic
    _present(target, _sign_verdict(target, "topic"), "--head", head, "--min-level", "approve")


def _check_refused_and_honest_accepted(target: Target) -> None:
    check_refused(target)
    if target.ground.setting is not Setting.ALONE:
        return
    target.notes["answers"] = []
    _present(target, target.notes["honest"], "--head", target.ground.heads["trusted"], "--min-level", "approve")
    (answer,) = target.notes["answers"]
    assert answer.status == 0, f"the honest verdict was refused with {answer.status}: {answer.err or answer.out}"


@BOOK.attack(
    Attacker.STRANGER,
    WayIn.CLI,
    does="presents a signed approval of another commit",
    check=_check_refused_and_honest_accepted,
)
def verdict_on_another_commit(target: Target) -> None:
    target.notes["honest"] = _sign_verdict(target, "trusted")
    _present(target, target.notes["honest"], "--head", target.topic)


@BOOK.attack(
    A1, WayIn.CLI, does="presents an approval on self-reported evidence as a witnessed one", check=check_refused
)
def self_reported_as_witnessed(target: Target) -> None:
    _present(target, _sign_verdict(target, "trusted"), "--min-assurance", "witnessed")


@BOOK.attack(A1, WayIn.CLI, does="signs the verdict with a key of its own", check=check_refused)
def verdict_signed_by_the_agent(target: Target) -> None:
    _sign_verdict(target, "topic")
    _present(target, _sign_verdict(target, "trusted", "agents-own"))


@BOOK.attack(A1, WayIn.FILES, does="edits level and reasons of a verdict", check=check_refused)
def edited_verdict(target: Target) -> None:
    _sign_verdict(target, "topic")
    plain = target.folder / "verdict.json"
    target.run("gate", target.change, "--json", "--out", str(plain))
    ran = target.run("gate", target.change, "--json")
    verdict = json.loads(plain.read_text() if plain.is_file() else ran.out)
    plain.write_text(json.dumps({**verdict, "level": "approve", "outcome": "fine", "reasons": []}))
    target.notes["answers"] = [target.run("verify", "--verdict", str(plain))]
