"""Attacks in two steps: an honest part that is vouched for, and a part that rides along."""

import functools
import time
from collections.abc import Callable

from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from custody.workspace.workspace import Workspace
from tests.attacks.decisions import A1
from tests.attacks.ground import ANA, APP, DECISIONS, GOOD, REVIEWED_LINES, ROBOT, an_event_of, code_lines, leave_edit
from tests.attacks.model import Attacker, Setting, WayIn
from tests.attacks.policy import WEAK_GATE
from tests.attacks.registry import AttackBook
from tests.attacks.rejected import check_still_rejected, read_trusted_files
from tests.attacks.revisions import CHECK_REMOVED, reject_trusted
from tests.attacks.target import Target
from tests.builders.repo import Files

BOOK = AttackBook()

A2 = Attacker.COLLEAGUE
FILLERS = 120
"""Empty commits, more than the gate searches for rejections one by one."""
REMOVED = f"src/{ROBOT}_3.py".encode()


# Lines that a trusted agent wrote, and a change beside them without evidence.


def _remove_beside(target: Target) -> Files:
    files = read_trusted_files(target)
    files[REMOVED] = b"".join(files[REMOVED].splitlines(keepends=True)[20:])
    return files


def _remove_in_the_same_file(target: Target) -> Files:
    files = read_trusted_files(target)
    return {**files, APP.encode(): files[APP.encode()].replace(b"print(prices.total())\n", b"")}


def _delete_beside(target: Target) -> Files:
    files = read_trusted_files(target)
    del files[REMOVED]
    return files


def _rename_beside(target: Target) -> Files:
    files = read_trusted_files(target)
    files[b"docs/other.md"] = files.pop(b"docs/notes.md")
    return files


def _add_an_empty_file(target: Target) -> Files:
    return {**read_trusted_files(target), b"src/__init__.py": b""}


def _reorder(target: Target) -> Files:
    files = read_trusted_files(target)
    lines = files[APP.encode()].splitlines(keepends=True)
    return {**files, APP.encode(): b"".join((*lines[:3], *lines[:2:-1]))}


def _leave_out_lines(target: Target) -> Files:
    files = read_trusted_files(target)
    lines = files[APP.encode()].splitlines(keepends=True)
    return {**files, APP.encode(): b"".join((*lines[:10], *lines[11:]))}


def _indent(target: Target) -> Files:
    files = read_trusted_files(target)
    lines = files[APP.encode()].splitlines(keepends=True)
    return {**files, APP.encode(): b"".join((*lines[:10], *(b"    " + line for line in lines[10:])))}


def _put_elsewhere(target: Target) -> Files:
    added = read_trusted_files(target)[APP.encode()].splitlines(keepends=True)[3:]
    return {**target.files, b"src/conftest.py": b"".join(added)}


RIDERS: dict[str, tuple[Callable[[Target], Files], str]] = {
    "removed-beside": (_remove_beside, "removes lines of another file beside"),
    "removed-within": (_remove_in_the_same_file, "removes a check in the same file beside"),
    "deleted-beside": (_delete_beside, "deletes another file beside"),
    "renamed-beside": (_rename_beside, "renames another file beside"),
    "empty-beside": (_add_an_empty_file, "adds an empty file beside"),
    "reordered": (_reorder, "commits in another order the"),
    "left-out": (_leave_out_lines, "commits without the check among them the"),
    "indented": (_indent, "commits with another indentation the"),
    "put-elsewhere": (_put_elsewhere, "commits in another file the"),
}


def _ride_along(target: Target, form: str) -> None:
    make, _ = RIDERS[form]
    target.judge_head(target.commit(make(target), ref="refs/heads/rider"))


def _check_not_approved(target: Target) -> None:
    assert target.verdict is not None
    if target.ground.setting is not Setting.ALONE:
        assert target.verdict.level != "approve", "a part of the change without evidence was approved"
        assert not target.verdict.is_granted, "'trust approve' grants a part without evidence"


for _form, (_, _how) in RIDERS.items():
    BOOK.attack(
        A1,
        WayIn.FILES,
        name=_form,
        does=f"{_how} lines of a trusted agent",
        check=_check_not_approved,
        writes_records=False,
    )(functools.partial(_ride_along, form=_form))


# A rejected change below more commits than are compared one by one.


@BOOK.attack(
    A1,
    WayIn.FILES,
    does=f"proposes a rejected change below {FILLERS} empty commits and a vouched change",
    prepare=reject_trusted,
    check=check_still_rejected,
    writes_records=False,
)
def rejected_and_buried(target: Target) -> None:
    head = target.commit(read_trusted_files(target), message=b"again")
    for number in range(FILLERS):
        head = target.home.git("commit-tree", f"{head}^{{tree}}", "-p", head, "-m", f"step {number}").decode().strip()
    path, text = "src/more.py", code_lines("more", 1)
    leave_edit(target.home.path, GOOD, path, None, text, head, time.time() - 60)
    target.judge_head(target.commit({**read_trusted_files(target), path.encode(): text.encode()}, head))


# Reviews of the code host about changes of others.


@BOOK.attack(
    A1,
    WayIn.SERVICE,
    does="claims the lines of people's pull requests before a reviewer merges them",
    writes_records=False,
)
def claimed_pull_requests(target: Target) -> None:
    commits, parent, files = [], str(target.ground.base), target.files
    for number in range(DECISIONS):
        path, text = f"src/person_{number}.py", code_lines(f"person_{number}", REVIEWED_LINES)
        with target.service() as service:
            claim = {"agent": ROBOT, "session": f"s-{ROBOT}", "path": path, "before": "", "after": text, "head": parent}
            service.send("evidence", an_event_of("edit", **claim))
        files = {**files, path.encode(): text.encode()}
        commits.append((parent, parent := target.commit(files, parent, ref="refs/heads/people")))
    for number, (base, head) in enumerate(commits):
        merged = OutcomeRequest(
            change=f"{base}..{head}",
            outcome="merged",
            actor="github:ana",
            reason=f"acme/app#{number}",
            host_account="github:ana",
        )
        record_outcome(Workspace(target.home.path), merged, believes_claims=True)


# Names that git resolves to something else.


@BOOK.attack(
    A2,
    WayIn.REMOTE,
    does="pushes a tag with the name of the base branch, at a commit with a weak policy",
    writes_records=False,
)
def tag_with_the_name_of_the_base(target: Target) -> None:
    target.home.git("branch", "base", target.ground.base)
    policy = {b"custody.toml": WEAK_GATE.encode()}
    base = target.commit({**target.files, **policy}, ref="refs/heads/weak", author=ANA)
    target.home.git("tag", "base", base)
    head = target.commit({**target.files, **policy, APP.encode(): CHECK_REMOVED}, base)
    target.change = f"base..{head}"
