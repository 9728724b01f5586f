"""Whether a verdict is about all of a change, and holds by the records of today."""

from collections.abc import Iterator

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.plural import count_noun
from custody.core.wire.report import IntegrityFinding
from custody.gate.app.gate import GateRequest, gate
from custody.gate.model import VerdictLevel
from custody.gate.wire.report import GateReport, VerdictLevelName
from custody.git import Ancestry, Repository
from custody.trust.app.approval_case import list_reservations
from custody.workspace.change import resolve_change_range
from custody.workspace.workspace import Workspace

DEFAULT_BASES = (
    *("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"),
    *("refs/heads/main", "refs/heads/master"),
)
"""The base branch where the caller names none: the first that exists."""


def find_default_base(repository: Repository) -> str | None:
    """Return the base branch of a repository; None if none has a usual name."""
    known = {ref.name.decode("utf-8", "replace") for ref in repository.refs("refs/remotes/", "refs/heads/")}
    return next((name for name in DEFAULT_BASES if name in known), None)


def find_base_problems(repository: Repository, report: GateReport, branch: str | None) -> Iterator[IntegrityFinding]:
    """Yield how the judged change is not the one since ``branch``, if one is named.

    Another base can have other rules, or hold the lines already.
    """
    if report.fork == report.head:
        yield IntegrityFinding("nothing_judged", f"the verdict is about no change: {report.base} contains its head")
    elif branch is not None and not report.worktree:
        try:
            is_same = _is_change_since(repository, report, branch)
        except CustodyError as error:
            yield IntegrityFinding("base_differs", f"cannot compare the base with '{branch}': {error.message}")
            return
        if not is_same:
            sentence = f"the verdict is about the change since {report.base}, not since '{branch}'"
            yield IntegrityFinding("base_differs", f"{sentence} (--base names another branch)")


def _is_change_since(repository: Repository, report: GateReport, branch: str) -> bool:
    """Return whether a verdict judges all lines of its head that ``branch`` lacks, by rules of that branch."""
    tip, base = repository.resolve(branch), CommitSha(report.base)
    change = resolve_change_range(repository, f"{tip}..{report.head}")
    wanted = {Ancestry(base, tip)}
    if change.fork != report.head:  # else the branch contains the head by now
        wanted.add(Ancestry(change.fork, base))
        if change.fork != report.fork:
            return False
    return repository.ancestries(wanted) == wanted


def find_unreserved_approval(report: GateReport) -> Iterator[IntegrityFinding]:
    """Yield a finding about an approval that rests on trust and reserved no lines."""
    if report.level == VerdictLevel.APPROVE.value and report.local is not None and report.local.budget.state == "dry":
        lines = count_noun(report.local.budget.lines, "line")
        yield IntegrityFinding("not_reserved", f"the approval did not reserve its {lines} (--no-reserve)")


def find_stricter_verdict_now(
    workspace: Workspace, report: GateReport, level: VerdictLevelName, description: bytes | None
) -> Iterator[IntegrityFinding]:
    """Yield why a verdict that no allowed signer vouches for is not good enough by the records of today.

    Anybody can write its ``local`` part, choose its time, and leave out later records.
    """
    if report.worktree:
        return
    now = gate(workspace, GateRequest(change=f"{report.base}..{report.head}", description=description))
    if VerdictLevel(now.level).strictness > VerdictLevel(level).strictness:
        codes = ", ".join(dict.fromkeys(reason.code for reason in now.reasons if reason.level == now.level))
        sentence = f"no allowed signer signed the verdict, and the change is '{now.level}' now ({codes})"
        yield IntegrityFinding("level_too_strict", sentence)
    elif now.level == VerdictLevel.APPROVE.value and now.local is not None and now.local.budget.state != "none":
        budget = now.local.budget
        with workspace.reading() as store:
            reservations = list_reservations(store, 0)
        if not any(each.patch == budget.patch and each.lines >= budget.lines for each in reservations):
            lines = count_noun(budget.lines, "line")
            sentence = f"no allowed signer signed the verdict, and this store did not reserve its {lines}"
            yield IntegrityFinding("not_reserved", sentence)
