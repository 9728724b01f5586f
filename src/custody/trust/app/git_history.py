"""Plain git history as decisions, for the time before anything was recorded: a commit is an accepted change.

A commit that a later one reverts is bad from then on; a commit that is quickly repaired then counts as modified. The
author is the one that the commit names. None of this is evidence; it is good enough to try a policy on.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.ids import PENDING, RecordRef, Seq
from custody.git import Commit, Comparison, Person, Walk
from custody.trust.app.approval_case import count_approval_lines, list_approval_paths
from custody.trust.app.record import list_trust_areas
from custody.trust.commit_words import CommitText, Labels, label_reverted_commits, trust_author_from_commit
from custody.trust.model import ChangeStakes, DecisionEntry, DecisionType
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY, decision_complexity_from_lines
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
HISTORY_DAYS = 365.0
"""How long before its first day a simulation starts to learn, so that agents have a record by then."""


class CommitDecisions(Struct, frozen=True):
    """Commits as decisions; ``undated`` counts commits without a valid time."""

    pasts: tuple[PastDecision, ...]
    reverted: int = 0
    mended: int = 0
    undated: int = 0


def read_commit_decisions(workspace: Workspace, rules: TrustRules, since_ns: int, until_ns: int) -> CommitDecisions:
    """Return HEAD's history without merges, from ``HISTORY_DAYS`` before ``since_ns`` until ``until_ns``."""
    head = workspace.repository.head().commit
    if head is None:
        return CommitDecisions(())
    first_ns = since_ns - round(HISTORY_DAYS * NS_PER_DAY)
    walk = Walk(since_seconds=max(0, first_ns // NS))
    with workspace.repository.log([head], walk=walk) as commits:
        plain = [commit for commit in commits if len(commit.parents) <= 1]
    dated = [commit for commit in plain if _read_decision_times(commit) is not None]
    workspace.progress.start("reading commits", len(dated))
    changes = [
        (text, past) for text, past in _accepted_changes_from_commits(workspace, dated, rules) if text.at_ns <= until_ns
    ]
    labels = label_reverted_commits((text for text, _ in changes), rules)
    return CommitDecisions(
        pasts=tuple(_label_decisions((past for _, past in changes), labels)),
        reverted=len(labels.reverted),
        mended=len(labels.mended),
        undated=len(plain) - len(dated),
    )


def _accepted_changes_from_commits(
    workspace: Workspace, commits: Sequence[Commit], rules: TrustRules
) -> Iterator[tuple[CommitText, PastDecision]]:
    """Yield each commit as text for labels, and as an accepted change."""
    with workspace.repository.diffs([Comparison(commit.id) for commit in commits], renames=True) as diffs:
        for place, (commit, diff) in enumerate(zip(commits, diffs, strict=True)):
            workspace.progress.step(1)
            times = _read_decision_times(commit)
            assert times is not None, "commits without a time were left out"
            message = _decode_decision_text(commit.message)
            agent, operator = trust_author_from_commit(
                _decode_decision_text(commit.author.name), _decode_decision_text(commit.author.email), message
            )
            touched = tuple(list_approval_paths(diff.files))
            files = frozenset(touched_path.path for touched_path in touched)
            lines = count_approval_lines(diff.files)
            accepted = DecisionEntry(
                id=commit.id,
                at_ns=times[1],
                record=RecordRef(PENDING, Seq(place)),
                decision=DecisionType.ACCEPTED,
                stakes=ChangeStakes(decision_complexity_from_lines(lines), lines),
                commit=commit.id,
                # Without an operator, the budget is the author's own.
                operator=operator or agent,
                areas=list_trust_areas(diff.files, rules),
                opened_ns=times[0],
            )
            text = CommitText(commit.id, _decode_decision_text(commit.subject), message, times[1], files)
            yield text, PastDecision(agent, accepted, touched, "git")


def _label_decisions(changes: Iterable[PastDecision], labels: Labels) -> Iterator[PastDecision]:
    """Yield the changes, as modified where a later commit repairs them, and a rejection for each revert."""
    for change in changes:
        entry = change.entry
        assert isinstance(entry, DecisionEntry), "a commit is not a recovery"
        if (mended := labels.mended.get(entry.id)) is not None:
            # The repair is known only from its own time on.
            entry = replace(entry, decision=DecisionType.MODIFIED, at_ns=mended.at_ns)
        yield replace(change, entry=entry)
        if (revert := labels.reverted.get(entry.id)) is not None:
            yield replace(change, entry=_make_revert_decision(entry, revert))


def _make_revert_decision(merged: DecisionEntry, by: CommitText) -> DecisionEntry:
    return DecisionEntry(
        id=f"{by.sha} {merged.id}",
        at_ns=by.at_ns,
        record=merged.record,
        decision=DecisionType.REJECTED,
        stakes=merged.stakes,
        reason=by.subject,
        commit=by.sha,
        reverts=merged.id,
        operator=merged.operator,
        areas=merged.areas,
    )


def _read_decision_times(commit: Commit) -> tuple[int, int] | None:
    """Return when a commit was written and when it was committed, in this order even if a clock was wrong."""
    written, merged = _decision_ns_from_person(commit.author), _decision_ns_from_person(commit.committer)
    if merged is None:
        return None
    return min(merged if written is None else written, merged), merged


def _decision_ns_from_person(person: Person) -> int | None:
    return None if person.at is None else person.at.seconds * NS


def _decode_decision_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
