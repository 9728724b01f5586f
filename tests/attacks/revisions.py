"""Revisions, repository settings and verdicts that show the gate less than the change."""

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from custody.dupes.app.patch_identity import compute_patch_identity
from custody.workspace.change import resolve_change_range
from custody.workspace.workspace import Workspace
from tests.attacks.budget import check_within_budget
from tests.attacks.decisions import A1
from tests.attacks.ground import (
    APP,
    DEVICE,
    GOOD,
    HOUR,
    LARGE,
    OLD,
    a_decision,
    code_lines,
    leave_edit,
    put,
    signed,
    stamp,
)
from tests.attacks.model import Attacker, Setting, WayIn
from tests.attacks.policy import WEAK_GATE
from tests.attacks.registry import AttackBook
from tests.attacks.rejected import check_still_rejected, read_trusted_files
from tests.attacks.target import Target
from tests.attacks.verdicts import check_refused

BOOK = AttackBook()

STRANGER = Attacker.STRANGER
PROGRAM = "100755"
CHECK_REMOVED = b"import prices\n"
"""The file of the base without the call in it."""


# A change that a person rejected, by a rejection that leaves the agent its record.


def _reject(target: Target, head: str) -> None:
    change = resolve_change_range(Workspace(target.home.path).repository, f"{target.ground.base}..{head}")
    facts = {
        "decision": "rejected",
        "changed_lines": 1,
        "complexity": "trivial",
        "head": head,
        "patch": compute_patch_identity(change.files),
    }
    no = a_decision(GOOD, head, id="rejected-once", actor="ana", at=stamp(target.ground.now - HOUR), **facts)
    put(target.home.path, signed(no, DEVICE, "ana"))


def reject_trusted(target: Target) -> None:
    target.judge_branch("trusted")
    _reject(target, target.ground.heads["trusted"])


def _stack_a_line(target: Target) -> str:
    path, text = "src/more.py", code_lines("more", 1)
    leave_edit(target.home.path, GOOD, path, None, text, target.ground.heads["trusted"], time.time() - 60)
    files = {**read_trusted_files(target), path.encode(): text.encode()}
    return target.commit(files, target.ground.heads["trusted"], ref="refs/heads/stacked")


def _merge(target: Target) -> str:
    target.home.git("checkout", "--quiet", "-b", "merged", target.ground.base)
    target.home.git("merge", "--quiet", "--no-ff", "-m", "merge", target.ground.heads["trusted"])
    return target.home.head()


def _revert_and_repeat(target: Target) -> str:
    reverted = target.commit(target.files, target.ground.heads["trusted"])
    return target.commit(read_trusted_files(target), reverted, message=b"again")


def _repeat(target: Target) -> str:
    return target.commit(read_trusted_files(target), message=b"again")


def _set_diff_options(target: Target) -> str:
    attributes = target.folder / "attributes"
    attributes.write_text("* binary\n")
    for name, value in (
        *(("diff.algorithm", "patience"), ("diff.context", "0"), ("diff.renames", "false")),
        *(("core.autocrlf", "true"), ("core.attributesFile", str(attributes))),
    ):
        target.home.git("config", name, value)
    (target.home.path / ".git" / "info").mkdir(exist_ok=True)
    (target.home.path / ".git" / "info" / "attributes").write_text("*.py -diff\n")
    return _repeat(target)


def _set_git_variables(target: Target) -> str:
    attributes = target.folder / "attributes"
    attributes.write_text("* binary\n")
    target.environment |= {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.attributesFile",
        "GIT_CONFIG_VALUE_0": str(attributes),
        "GIT_EXTERNAL_DIFF": "/bin/true",
        "GIT_DIFF_OPTS": "--unified=0",
        "GIT_OBJECT_DIRECTORY": str(target.folder / "none"),
        "GIT_SHALLOW_FILE": str(attributes),
        "GIT_NAMESPACE": "other",
    }
    return _repeat(target)


def _cut_history(target: Target, file: str) -> str:
    head = _repeat(target)
    path = target.home.path / ".git" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{head}\n")
    return head


def _replace_commit(target: Target) -> str:
    head = _repeat(target)
    harmless = target.commit({**target.files, b"docs/other.md": b"another text\n"}, ref="refs/heads/harmless")
    target.home.git("replace", head, harmless)
    return head


def _name_by_tag(target: Target) -> str:
    target.home.git("tag", "-a", "-m", "release", "v1", _repeat(target))
    return "v1"


def _cut_off_root(target: Target) -> str:
    return target.home.git("commit-tree", f"{_repeat(target)}^{{tree}}", "-m", "a root").decode().strip()


def _start_earlier(target: Target) -> str:
    target.notes["base"] = target.home.git("rev-parse", f"{target.ground.base}~1").decode().strip()
    return target.ground.heads["trusted"]


FORMS: dict[str, tuple[Callable[[Target], str], str]] = {
    "stacked": (_stack_a_line, "with one more line in a commit on top"),
    "merged": (_merge, "as a merge commit"),
    "repeated": (_revert_and_repeat, "after a commit that reverts it"),
    "other-diff": (_set_diff_options, "under other settings and attributes of git"),
    "git-variables": (_set_git_variables, "with variables that redirect git"),
    "shallow": (functools.partial(_cut_history, file="shallow"), "as the boundary of a shallow clone"),
    "grafted": (functools.partial(_cut_history, file="info/grafts"), "cut off by a graft"),
    "replaced": (_replace_commit, "behind a replacement of its commit"),
    "tagged": (_name_by_tag, "under the name of a tag"),
    "rootless": (_cut_off_root, "as a root commit without a common ancestor"),
    "longer": (_start_earlier, "as part of a longer change"),
}


def _propose_again(target: Target, form: str) -> None:
    make, _ = FORMS[form]
    head = make(target)
    target.change = f"{target.notes.get('base', target.ground.base)}..{head}"


for _form, (_, _how) in FORMS.items():
    BOOK.attack(
        A1,
        WayIn.FILES,
        name=f"rejected-and-{_form}",
        does=f"proposes a rejected change {_how}",
        prepare=reject_trusted,
        check=check_still_rejected,
        writes_records=False,
    )(functools.partial(_propose_again, form=_form))


# Changes that add no lines.


def _remove_lines(target: Target) -> str:
    return target.commit({**target.files, APP.encode(): CHECK_REMOVED}, ref="refs/heads/removed")


def _reject_removal(target: Target) -> None:
    head = _remove_lines(target)
    target.judge_head(head)
    _reject(target, head)


@BOOK.attack(
    A1,
    WayIn.CLI,
    does="proposes a rejected removal of lines again with another message",
    prepare=_reject_removal,
    check=check_still_rejected,
    writes_records=False,
)
def rejected_removal(target: Target) -> None:
    target.judge_head(target.commit({**target.files, APP.encode(): CHECK_REMOVED}, message=b"v2"))


def _rename(target: Target) -> str:
    files = target.files
    files[b"docs/other.md"] = files.pop(b"docs/notes.md")
    return target.commit(files)


def _change_mode(target: Target) -> str:
    return target.commit({**target.files, APP.encode(): (PROGRAM, OLD.encode())})


def _merge_with_removal(target: Target) -> str:
    tree = f"{_remove_lines(target)}^{{tree}}"
    parents = ("-p", target.ground.base, "-p", f"{target.ground.base}~1")
    return target.home.git("commit-tree", tree, *parents, "-m", "merge").decode().strip()


SILENT: dict[str, tuple[Callable[[Target], str], str]] = {
    "removed-lines": (_remove_lines, "removes a check and adds nothing"),
    "renamed-file": (_rename, "renames a file and adds nothing"),
    "changed-mode": (_change_mode, "makes a file executable and adds nothing"),
    "evil-merge": (_merge_with_removal, "removes a check in a merge commit"),
}


def _propose(target: Target, form: str) -> None:
    make, _ = SILENT[form]
    target.judge_head(make(target))


def _check_not_approved(target: Target) -> None:
    if target.ground.setting is not Setting.ALONE:
        assert target.verdict is not None
        assert target.verdict.level != "approve", "a change without a voucher was approved"


for _form, (_, _how) in SILENT.items():
    BOOK.attack(STRANGER, WayIn.REMOTE, name=_form, does=_how, check=_check_not_approved, writes_records=False)(
        functools.partial(_propose, form=_form)
    )


# Policies beside the one of the base.


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="puts a weaker custody.toml into the folder above the repository",
    prepare=reject_trusted,
    check=check_still_rejected,
    writes_records=False,
)
def policy_in_the_parent_folder(target: Target) -> None:
    (target.folder / "custody.toml").write_text(WEAK_GATE)
    target.judge_head(_repeat(target))


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="makes custody.toml a link to a weaker policy",
    prepare=reject_trusted,
    check=check_still_rejected,
    writes_records=False,
)
def linked_policy(target: Target) -> None:
    (target.folder / "weak.toml").write_text(WEAK_GATE)
    link = ("120000", str(target.folder / "weak.toml").encode())
    target.judge_head(target.commit({**read_trusted_files(target), b"custody.toml": link}))


# Verdicts without an allowed signer, presented as approvals.


def _present_plain(target: Target, change: str, head: str, *words: str) -> None:
    """Write a verdict and present it to somebody who wants to merge ``head``; note the answer if it is an approval."""
    out = target.folder / f"plain-{len(target.notes)}.json"
    target.run("gate", change, "--json", "--out", str(out), *words)
    _present_file(target, out, head)


def _present_file(target: Target, file: Path, head: str) -> None:
    answer = target.run("verify", "--verdict", str(file), "--head", head, "--min-level", "approve")
    target.notes["answers"] = [*target.notes.get("answers", []), answer]


@BOOK.attack(STRANGER, WayIn.CLI, does="presents a verdict about no change", check=check_refused, writes_records=False)
def verdict_about_nothing(target: Target) -> None:
    _present_plain(target, f"{target.topic}..{target.topic}", target.topic)


@BOOK.attack(
    STRANGER,
    WayIn.CLI,
    does="presents a verdict since a base of its own that holds the lines",
    check=check_refused,
    writes_records=False,
)
def verdict_since_own_base(target: Target) -> None:
    head = target.commit(target.topic_files, target.topic, message=b"nothing more", ref="refs/heads/more")
    _present_plain(target, f"{target.topic}..{head}", head)


@BOOK.attack(
    STRANGER,
    WayIn.CLI,
    does="presents a verdict by the policy of a base of its own",
    check=check_refused,
    writes_records=False,
)
def verdict_by_own_policy(target: Target) -> None:
    policy = {b"custody.toml": WEAK_GATE.encode()}
    base = target.commit({**target.files, **policy}, ref="refs/heads/own-base")
    head = target.commit({**target.files, **policy, APP.encode(): CHECK_REMOVED}, base, ref="refs/heads/own-head")
    _present_plain(target, f"{base}..{head}", head)


@BOOK.attack(A1, WayIn.CLI, does="presents approvals that reserved nothing", check=check_refused, writes_records=False)
def unreserved_approvals(target: Target) -> None:
    for name in LARGE:
        head = target.ground.heads[name]
        _present_plain(target, f"{target.ground.base}..{head}", head, "--no-reserve")


@BOOK.attack(
    A1,
    WayIn.FILES,
    does="removes the used-up budget from the reasons of a verdict",
    check=check_refused,
    writes_records=False,
)
def removed_budget_reason(target: Target) -> None:
    for name in LARGE[:-1]:
        target.run("gate", f"{target.ground.base}..{target.ground.heads[name]}")
    head, out = target.ground.heads[LARGE[-1]], target.folder / "edited.json"
    verdict = json.loads(target.run("gate", f"{target.ground.base}..{head}", "--json").out)
    assert {reason["code"] for reason in verdict["reasons"]} == {"TRUST-BUDGET"}
    verdict["local"]["budget"]["state"] = "reserved"
    out.write_text(json.dumps(verdict | {"level": "approve", "reasons": []}))
    _present_file(target, out, head)


@BOOK.attack(
    A1,
    WayIn.CLI,
    does="presents an approval from before the change was rejected",
    check=check_refused,
    writes_records=False,
)
def outdated_approval(target: Target) -> None:
    head, out = target.ground.heads["trusted"], target.folder / "early.json"
    target.run("gate", f"{target.ground.base}..{head}", "--json", "--out", str(out))
    _reject(target, head)
    _present_file(target, out, head)


# One budget, spent by several processes at once.


@BOOK.attack(
    A1,
    WayIn.CLI,
    does="asks five gates at once about branches that use the same budget",
    check=check_within_budget,
    writes_records=False,
)
def gates_at_once(target: Target) -> None:
    changes = {name: f"{target.ground.base}..{target.ground.heads[name]}" for name in LARGE}
    command = (sys.executable, "-m", "custody", "gate", "--json")
    asked = {
        name: subprocess.Popen((*command, change), cwd=target.home.path, stdout=subprocess.PIPE, env=os.environ)
        for name, change in changes.items()
    }
    for name, process in asked.items():
        out, _ = process.communicate()
        if process.returncode == 0 and out and json.loads(out)["level"] == "approve":
            target.notes.setdefault("approved", set()).add(name)
