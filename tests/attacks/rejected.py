"""A rejected change that comes back in another form."""

import functools
from collections.abc import Callable

from tests.attacks.decisions import A1
from tests.attacks.ground import APP, CHANGED_LINES, DEVICE, GOOD, HOUR, a_decision, put, signed, stamp
from tests.attacks.model import WayIn
from tests.attacks.registry import AttackBook
from tests.attacks.target import Target

BOOK = AttackBook()


def _reject_trusted(target: Target) -> None:
    """Reject the change of the agent with a good record, on the command line and with a signature."""
    target.judge_branch("trusted")
    head = target.ground.heads["trusted"]
    target.run("trust", "record", GOOD, "rejected", head, "--actor", "ana", "--reason", "it opens a back door")
    again = a_decision(
        GOOD, head, id="rejected", actor="ana", decision="rejected", at=stamp(target.ground.now - HOUR), head=head
    )
    put(target.home.path, signed(again, DEVICE, "ana"))


def check_still_rejected(target: Target) -> None:
    assert target.verdict is not None
    assert target.verdict.level != "approve", "the rejected change was approved in another form"
    assert not target.verdict.is_granted, "'trust approve' grants the rejected change in another form"


def read_trusted_files(target: Target) -> dict[bytes, bytes]:
    text = target.home.git("cat-file", "blob", f"{target.ground.heads['trusted']}:{APP}")
    return {**target.files, APP.encode(): text}


def _amend(target: Target) -> str:
    return target.commit(read_trusted_files(target), message=b"v2")


def _reauthor(target: Target) -> str:
    return target.commit(read_trusted_files(target), author="Somebody Else <else@example.com>")


def _rebase(target: Target) -> str:
    onto = target.commit({**target.files, b"docs/other.md": b"another text\n"}, author="Ana Ruiz <ana@example.com>")
    target.notes["base"] = onto
    return target.commit({**read_trusted_files(target), b"docs/other.md": b"another text\n"}, onto)


def _split(target: Target) -> str:
    lines = read_trusted_files(target)[APP.encode()].splitlines(keepends=True)
    half = {**target.files, APP.encode(): b"".join(lines[: -CHANGED_LINES // 2])}
    return target.commit(read_trusted_files(target), target.commit(half), message=b"second half")


def _cherry_pick(target: Target) -> str:
    target.home.git("checkout", "--quiet", "-b", "picked", target.ground.base)
    target.home.git("cherry-pick", "--no-commit", target.ground.heads["trusted"])
    target.home.git("commit", "--quiet", "-m", "picked")
    return target.home.head()


def _add_empty_commit(target: Target) -> str:
    return target.commit(read_trusted_files(target), target.ground.heads["trusted"], message=b"nothing more")


FORMS: dict[str, tuple[Callable[[Target], str], str]] = {
    "amended": (_amend, "with another message"),
    "re-authored": (_reauthor, "with another author"),
    "rebased": (_rebase, "on another base"),
    "split": (_split, "as two commits"),
    "cherry-picked": (_cherry_pick, "on another branch"),
    "extended": (_add_empty_commit, "with an empty commit on top"),
}


def _propose_again(target: Target, form: str) -> None:
    make, _ = FORMS[form]
    head = make(target)
    target.change = f"{target.notes.get('base', target.ground.base)}..{head}"


for _form, (_, _how) in FORMS.items():
    BOOK.attack(
        A1,
        WayIn.CLI,
        name=f"rejected-and-{_form}",
        does=f"proposes a rejected change again {_how}",
        prepare=_reject_trusted,
        check=check_still_rejected,
    )(functools.partial(_propose_again, form=_form))
