"""Plain git history as decisions, for the time before anything was recorded: a commit is a change that was accepted.

One that a later commit takes back is bad from then on, one that is quickly mended counts as modified, once it is.
Whose a commit is, it says itself. Nothing of this is evidence; it is good enough to try a policy on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from custody.core.ids import PENDING, RecordRef, Seq
from custody.git import Commit, Comparison, Person, Walk
from custody.trust.app.approval_case import proposed_lines, touched_by
from custody.trust.app.record import areas_of
from custody.trust.commit_words import CommitText, Labels, labels_of, signed_by
from custody.trust.model import ChangeStakes, DecisionEntry, DecisionType
from custody.trust.past_decisions import PastDecision
from custody.trust.rules import TrustRules
from custody.trust.score import NS_PER_DAY, complexity_of
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
HISTORY_DAYS = 365.0
"""How long before its first day a simulation begins to learn: long enough for agents to have a record by then."""


@dataclass(frozen=True, slots=True)
class CommitDecisions:
    """What commits say about each other, as decisions; ``undated`` ones do not say when they were made."""

    pasts: tuple[PastDecision, ...]
    reverted: int = 0
    mended: int = 0
    undated: int = 0


def history(workspace: Workspace, rules: TrustRules, since_ns: int, until_ns: int) -> CommitDecisions:
    """The commits that HEAD descends from, without merges, from so many days before ``since_ns`` until ``until_ns``."""
    head = workspace.repository.head().commit
    if head is None:
        return CommitDecisions(())
    first_ns = since_ns - round(HISTORY_DAYS * NS_PER_DAY)
    walk = Walk(since_seconds=max(0, first_ns // NS))
    with workspace.repository.log([head], walk=walk) as commits:
        plain = [commit for commit in commits if len(commit.parents) <= 1]
    dated = [commit for commit in plain if _moments(commit) is not None]
    workspace.progress.start("reading commits", len(dated))
    changes = [(text, past) for text, past in _changes(workspace, dated, rules) if text.at_ns <= until_ns]
    labels = labels_of((text for text, _ in changes), rules)
    return CommitDecisions(
        pasts=tuple(_label_decisions((past for _, past in changes), labels)),
        reverted=len(labels.reverted),
        mended=len(labels.mended),
        undated=len(plain) - len(dated),
    )


def _changes(
    workspace: Workspace, commits: Sequence[Commit], rules: TrustRules
) -> Iterator[tuple[CommitText, PastDecision]]:
    """Each commit as text for labels, and as an accepted change."""
    with workspace.repository.diffs([Comparison(commit.id) for commit in commits], renames=True) as diffs:
        for place, (commit, diff) in enumerate(zip(commits, diffs, strict=True)):
            workspace.progress.step(1)
            moments = _moments(commit)
            assert moments is not None, "commits without a moment were left out"
            message = _text(commit.message)
            agent, operator = signed_by(_text(commit.author.name), _text(commit.author.email), message)
            touched = tuple(touched_by(diff.files))
            files = frozenset(touched_path.path for touched_path in touched)
            lines = proposed_lines(diff.files)
            accepted = DecisionEntry(
                id=commit.id,
                at_ns=moments[1],
                record=RecordRef(PENDING, Seq(place)),
                decision=DecisionType.ACCEPTED,
                stakes=ChangeStakes(complexity_of(lines), lines),
                commit=commit.id,
                # A person runs nobody else's agent: budgets are the person's own.
                operator=operator or agent,
                areas=areas_of(diff.files, rules),
                opened_ns=moments[0],
            )
            text = CommitText(commit.id, _text(commit.subject), message, moments[1], files)
            yield text, PastDecision(agent, accepted, touched, "git")


def _label_decisions(changes: Iterable[PastDecision], labels: Labels) -> Iterator[PastDecision]:
    """The same changes as modified where a later commit mends them, and a rejection where one takes them back."""
    for change in changes:
        entry = change.entry
        assert isinstance(entry, DecisionEntry), "a commit is no recovery"
        if (mended := labels.mended.get(entry.id)) is not None:
            # That a change had to be mended is known when it is.
            entry = replace(entry, decision=DecisionType.MODIFIED, at_ns=mended.at_ns)
        yield replace(change, entry=entry)
        if (back := labels.reverted.get(entry.id)) is not None:
            yield replace(change, entry=_taken_back(entry, back))


def _taken_back(landed: DecisionEntry, by: CommitText) -> DecisionEntry:
    return DecisionEntry(
        id=f"{by.sha} {landed.id}",
        at_ns=by.at_ns,
        record=landed.record,
        decision=DecisionType.REJECTED,
        stakes=landed.stakes,
        reason=by.subject,
        commit=by.sha,
        reverts=landed.id,
        operator=landed.operator,
        areas=landed.areas,
    )


def _moments(commit: Commit) -> tuple[int, int] | None:
    """When a commit was written and when it landed; a clock that was wrong does not turn the two around."""
    written, landed = _ns(commit.author), _ns(commit.committer)
    if landed is None:
        return None
    return min(landed if written is None else written, landed), landed


def _ns(person: Person) -> int | None:
    return None if person.at is None else person.at.seconds * NS


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
