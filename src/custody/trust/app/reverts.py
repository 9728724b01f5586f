"""Search for reverts in git history, and recording of each revert of an agent's lines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.time import format_timestamp
from custody.git import Ancestry, NoObject, Repository
from custody.trust.app.authors import AuthorLines, count_trust_authors_per_change
from custody.trust.app.decisions import load_trust_rules
from custody.trust.app.outcomes import OutcomeRequest, record_outcome_for_authors
from custody.trust.app.revert_history import (
    WINDOW_COMMITS,
    PastCommit,
    RevertHistory,
    RevertPair,
    find_silent_reverts,
    measure_reverts,
    read_revert_history,
)
from custody.trust.app.subject import OutcomeSubject, outcome_subject_from_commit
from custody.trust.commit_words import ID_DIGITS_MIN, Claim, parse_revertible_pull_number
from custody.trust.rules import TrustRules
from custody.trust.undo_check import UNDONE_NOTHING, UndoMeasure, UndoShare
from custody.trust.wire import AgentOutcome, RevertReport, TrustRevertsReport
from custody.workspace.change import list_change_additions
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

# Reverts are found by commit messages, verified by git diffs, and by diffs that no message mentions.


DAY_SECONDS = 86_400
TITLED_MAX = 5
"""The most commits with one title that are checked, the nearest first."""


class RevertClaim(Enum):
    """How a commit identifies what it reverts."""

    ID = "id"
    NUMBER = "number"
    TITLE = "title"
    DIFF = "diff"
    """By its diff alone, which is the reverse of the other."""


class RevertState(Enum):
    """The state of a revert; only ``WHOLE`` counts."""

    WHOLE = "whole"
    PARTIAL = "partial"
    UNTRUE = "untrue"
    """All changes of the named commit are still there."""
    GONE = "gone"
    """The named commit was rewritten before, and nothing of the rest was reverted."""
    CANCELLED = "cancelled"
    """It was reverted itself."""
    UNLANDED = "unlanded"
    """Both came with one merge: it was reverted before it was merged."""
    UNKNOWN = "unknown"
    ELSEWHERE = "elsewhere"
    """The named commit is not an ancestor."""
    AMBIGUOUS = "ambiguous"
    SHORT = "short"
    """Too few digits to identify a commit."""
    UNSEEN = "unseen"
    """The commit is outside of a shallow clone."""


_TAKEN = {
    UndoShare.WHOLE: RevertState.WHOLE,
    UndoShare.PARTIAL: RevertState.PARTIAL,
    UndoShare.NOTHING: RevertState.UNTRUE,
    UndoShare.GONE: RevertState.GONE,
}


class Revert(Struct, frozen=True, kw_only=True):
    """A revert of ``target`` by the commit ``by``, and its state.

    ``said`` is the name in the message. The target is compared with ``parent``. ``cancelled_by`` is the commit that
    reverts this one.
    """

    by: CommitSha
    how: RevertClaim
    state: RevertState
    said: str | None = None
    target: CommitSha | None = None
    parent: CommitSha | None = None
    undone: UndoMeasure = UNDONE_NOTHING
    cancelled_by: CommitSha | None = None
    partly: bool = False


class Reverts(Struct, frozen=True):
    """All reverts, the oldest first, and the searched history."""

    history: RevertHistory
    found: tuple[Revert, ...] = ()
    tip: CommitSha | None = None
    base: CommitSha | None = None


def find_reverts(workspace: Workspace, name: str | None, rules: TrustRules) -> Reverts:
    """Return the reverts in ``BASE..HEAD``, or in the history of a commit; without a name, of HEAD."""
    repository = workspace.repository
    base, tip = _resolve_revert_range(repository, name)
    if tip is None:
        return Reverts(RevertHistory({}, frozenset()))
    history = read_revert_history(repository, tip, base, workspace.progress)
    claimed = list(_resolve_revert_claims(repository, history))
    judged = _verify_reverts(workspace, history, claimed)
    silent = _verify_reverts(workspace, history, list(_find_unclaimed_reverts(workspace, history, judged, rules)))
    every = sorted(
        _deduplicate_reverts([*judged, *silent]),
        key=lambda revert: (-history.commits[revert.by].place, revert.said or "", revert.by),
    )
    return Reverts(history, tuple(_settle_reverts(every, history)), tip, base)


def _resolve_revert_range(repository: Repository, name: str | None) -> tuple[CommitSha | None, CommitSha | None]:
    if name is None:
        return None, repository.head().commit
    base, dots, head = name.partition("..")
    if not dots:
        return None, repository.resolve(name)
    if not base:
        raise InputError(f"'{name}' has no base", hint="pass BASE..HEAD")
    return repository.resolve(base), repository.resolve(head.removeprefix(".") or "HEAD")


def _deduplicate_reverts(every: Sequence[Revert]) -> Iterator[Revert]:
    """Yield each pair once; claims without a target are dropped where the diff shows the reverted commit."""
    by_diff = {revert.by for revert in every if revert.how is RevertClaim.DIFF}
    pairs: set[tuple[CommitSha, CommitSha]] = set()
    for revert in every:
        if revert.target is None:
            if revert.how is RevertClaim.ID or revert.by not in by_diff:
                yield revert
        elif (revert.by, revert.target) not in pairs:
            pairs.add((revert.by, revert.target))
            yield revert


# --- claims of messages -----------------------------------------------------------------------------------------------


def _resolve_revert_claims(repository: Repository, history: RevertHistory) -> Iterator[Revert]:
    """Yield every claim of a message with the earlier commit that it names, if there is one."""
    named = [
        _find_revert_target(history.commits[by], claim, history)
        for by, claims in history.claims.items()
        for claim in claims
    ]
    named = _mark_unreachable_revert_targets(repository, named)
    pairs = {Ancestry(sha, target.by) for target in named for sha in target.candidates}
    older = repository.ancestries(pairs) if pairs else frozenset()
    for target in named:
        earlier = [sha for sha in target.candidates if Ancestry(sha, target.by) in older and sha != target.by]
        if not target.candidates or not earlier:
            state = target.problem or RevertState.ELSEWHERE
            yield Revert(by=target.by, how=target.how, state=state, said=target.claim.name, partly=target.claim.partly)
            continue
        yield _revert_from_claim(history, target, earlier[0])


class _NamedTarget(Struct, frozen=True):
    """A claim with the commits that it may mean, the most likely first; or why there are none."""

    by: CommitSha
    how: RevertClaim
    claim: Claim
    candidates: tuple[CommitSha, ...] = ()
    problem: RevertState | None = None


def _find_revert_target(by: PastCommit, claim: Claim, history: RevertHistory) -> _NamedTarget:
    if claim.id is not None:
        return _find_revert_target_by_id(by.id, claim, history)
    older = history.find_by_title(claim.title or "") if claim.number is None else history.find_by_number(claim.number)
    near = tuple(past.id for past in older if past.place > by.place)[:TITLED_MAX]
    how = RevertClaim.TITLE if claim.number is None else RevertClaim.NUMBER
    return _NamedTarget(by.id, how, claim, near, None if near else RevertState.UNKNOWN)


def _find_revert_target_by_id(by: CommitSha, claim: Claim, history: RevertHistory) -> _NamedTarget:
    assert claim.id is not None, "the caller checks it"
    if len(claim.id) < ID_DIGITS_MIN:
        return _NamedTarget(by, RevertClaim.ID, claim, problem=RevertState.SHORT)
    fitting = tuple(history.find_by_prefix(claim.id))
    problem = RevertState.AMBIGUOUS if len(fitting) > 1 else None if fitting else RevertState.UNKNOWN
    return _NamedTarget(by, RevertClaim.ID, claim, () if problem else fitting, problem)


def _mark_unreachable_revert_targets(repository: Repository, named: Sequence[_NamedTarget]) -> list[_NamedTarget]:
    """Return the targets; unknown ids that exist outside of this history get another state."""
    in_range = sorted(
        {target.claim.id for target in named if target.claim.id and target.problem is RevertState.UNKNOWN}
    )
    infos = dict(zip(in_range, repository.look_up(in_range), strict=True)) if in_range else {}
    return [
        target
        if target.claim.id not in infos
        else replace(target, problem=_revert_state_from_lookup(infos[target.claim.id]))
        for target in named
    ]


def _revert_state_from_lookup(info: object) -> RevertState:
    if isinstance(info, NoObject):
        return RevertState.AMBIGUOUS if info.reason == "ambiguous" else RevertState.UNKNOWN
    return RevertState.ELSEWHERE


def _revert_from_claim(history: RevertHistory, named_target: _NamedTarget, target: CommitSha) -> Revert:
    """Return the revert for a claim about an existing commit; a named mainline must be one of its parents."""
    revert = Revert(
        by=named_target.by,
        how=named_target.how,
        state=RevertState.GONE,
        said=named_target.claim.name,
        target=target,
        partly=named_target.claim.partly,
    )
    parents = history.commits[target].parents
    if target in history.cuts:
        return replace(revert, state=RevertState.UNSEEN)
    if named_target.claim.mainline is None:
        return replace(revert, parent=next(iter(parents), None))
    mainline = [parent for parent in parents if parent.startswith(named_target.claim.mainline)]
    return replace(revert, parent=mainline[0]) if mainline else replace(revert, state=RevertState.UNKNOWN, target=None)


# --- verification by diffs --------------------------------------------------------------------------------------------


def _verify_reverts(workspace: Workspace, history: RevertHistory, claimed: Sequence[Revert]) -> list[Revert]:
    """Return the reverts with the measured share of reverted lines."""
    pairs: dict[int, RevertPair] = {}
    for place, revert in enumerate(claimed):
        by_parents = history.commits[revert.by].parents
        if revert.target is not None and revert.state is RevertState.GONE and by_parents:
            pairs[place] = RevertPair(revert.target, revert.parent, revert.by, by_parents[0])
    undone = dict(
        zip(pairs, measure_reverts(workspace.repository, list(pairs.values()), workspace.progress), strict=True)
    )
    return [
        _classify_revert(revert, undone[place]) if place in undone else revert for place, revert in enumerate(claimed)
    ]


def _classify_revert(revert: Revert, undone: UndoMeasure) -> Revert:
    state = _TAKEN[undone.classify_share()]
    if state is RevertState.WHOLE and revert.partly:
        state = RevertState.PARTIAL  # the message says that it is partial
    return replace(revert, undone=undone, state=state)


def _find_unclaimed_reverts(
    workspace: Workspace, history: RevertHistory, claimed: Sequence[Revert], rules: TrustRules
) -> Iterator[Revert]:
    """Yield reverts that no message mentions: commits whose diff is the reverse of an earlier one."""
    verified = {revert.by for revert in claimed if revert.state in (RevertState.WHOLE, RevertState.PARTIAL)}
    in_range = history.in_range - verified
    first = max((history.commits[sha].place for sha in in_range), default=-1)
    near = [past for past in history.commits.values() if past.place <= first + WINDOW_COMMITS]
    plain = [past.id for past in reversed(near) if len(past.parents) == 1 and past.id not in history.cuts]
    pairs = list(find_silent_reverts(workspace.repository, plain, in_range, workspace.progress))
    candidates = {Ancestry(target, by) for by, target in pairs}
    older = workspace.repository.ancestries(candidates) if candidates else frozenset()
    for by, target in pairs:
        if Ancestry(target, by) in older and _is_within_revert_window(
            history.commits[target], history.commits[by], rules
        ):
            parent = history.commits[target].parents[0]
            yield Revert(by=by, how=RevertClaim.DIFF, state=RevertState.GONE, target=target, parent=parent)


def _is_within_revert_window(earlier: PastCommit, later: PastCommit, rules: TrustRules) -> bool:
    if earlier.at_seconds is None or later.at_seconds is None:
        return False
    return later.at_seconds - earlier.at_seconds <= rules.revert_window_days * DAY_SECONDS


def _settle_reverts(every: Sequence[Revert], history: RevertHistory) -> Iterator[Revert]:
    """Yield the reverts with their final state: a revert that was reverted itself does not count, and so on."""
    by_target: dict[CommitSha, list[Revert]] = {}
    for revert in every:
        if revert.target is not None and revert.state is RevertState.WHOLE:
            by_target.setdefault(revert.target, []).append(revert)
    cancelled_by: dict[CommitSha, CommitSha | None] = {}
    # A revert is always later than its target, so the newest are settled first.
    for revert in reversed(every):
        if revert.state is RevertState.WHOLE:
            again = [later.by for later in by_target.get(revert.by, ()) if cancelled_by.get(later.by) is None]
            cancelled_by[revert.by] = again[0] if again else None
    return (_settle_revert(revert, cancelled_by, history) for revert in every)


def _settle_revert(
    revert: Revert, cancelled_by: Mapping[CommitSha, CommitSha | None], history: RevertHistory
) -> Revert:
    if revert.state is not RevertState.WHOLE or revert.target is None:
        return revert
    if (by := cancelled_by.get(revert.by)) is not None:
        return replace(revert, state=RevertState.CANCELLED, cancelled_by=by)
    return (
        replace(revert, state=RevertState.UNLANDED)
        if _is_reverted_before_merge(history, revert.by, revert.target)
        else revert
    )


def _is_reverted_before_merge(history: RevertHistory, by: CommitSha, target: CommitSha) -> bool:
    """Return whether both came with the same merge, so that the earlier one was never on main alone."""
    merged, past = history.merged_with, history.commits[target]
    if len(past.parents) > 1 or parse_revertible_pull_number(past.subject) is not None:
        return False
    return merged.get(by, by) != by and merged[by] == merged.get(target)


NS = 1_000_000_000
SHORT_DIGITS = 12
SUBJECT_CHARACTERS_MAX = 200


def trust_reverts(
    workspace: Workspace, name: str | None = None, *, record: bool = False, actor: str | None = None
) -> TrustRevertsReport:
    """Return the reverts in ``BASE..HEAD``, or in the history of a commit; without a name, of HEAD.

    With ``record`` each whole revert of an agent's lines is recorded as a reverted change, once.
    """
    reverts = find_reverts(workspace, name, load_trust_rules(workspace))
    outcomes = (
        _record_revert_outcomes(workspace, reverts, actor or machine_user_name())
        if record and workspace.exists()
        else {}
    )
    states = Counter(revert.state.value for revert in reverts.found)
    made = [outcome for agent_outcomes in outcomes.values() for outcome in agent_outcomes if outcome.taken is not None]
    return TrustRevertsReport(
        tip=reverts.tip,
        base=reverts.base,
        commits=len(reverts.history.in_range),
        found=[_report_revert(revert, reverts, outcomes.get(revert.target, ())) for revert in reverts.found],
        counts={state.value: states[state.value] for state in RevertState if states[state.value]},
        recording=record,
        recorded=len(made),
    )


def _record_revert_outcomes(
    workspace: Workspace, reverts: Reverts, actor: str
) -> Mapping[CommitSha | None, Sequence[AgentOutcome]]:
    """Record the whole reverts, and return their effects on agents by the reverted commit."""
    counting = {
        revert.target: revert
        for revert in reverts.found
        if revert.state is RevertState.WHOLE and revert.target is not None
    }
    subjects = [
        outcome_subject_from_commit(workspace.repository, target, base=revert.parent)
        for target, revert in counting.items()
    ]
    outcomes: dict[CommitSha | None, Sequence[AgentOutcome]] = {}
    for revert, subject, by in zip(
        counting.values(), subjects, _find_outcome_authors(workspace, subjects), strict=True
    ):
        subject_line = reverts.history.commits[revert.by].subject[:SUBJECT_CHARACTERS_MAX]
        reason = f"reverted by {revert.by[:SHORT_DIGITS]}: {subject_line}"
        request = OutcomeRequest(change=subject.change, outcome="reverted", actor=actor, reason=reason)
        outcomes[revert.target] = record_outcome_for_authors(workspace, request, subject, by).agents
    return outcomes


def _find_outcome_authors(workspace: Workspace, subjects: Sequence[OutcomeSubject]) -> Iterator[AuthorLines]:
    """Return who wrote each change, before anything is recorded."""
    workspace.progress.start("finding authors", len(subjects))
    authors = []
    for by in count_trust_authors_per_change(
        workspace, ((list_change_additions(subject.files), subject.head) for subject in subjects)
    ):
        authors.append(by)
        workspace.progress.step(1)
    return iter(authors)


def _report_revert(revert: Revert, reverts: Reverts, outcomes: Sequence[AgentOutcome]) -> RevertReport:
    by = reverts.history.commits[revert.by]
    target = None if revert.target is None else reverts.history.commits[revert.target]
    return RevertReport(
        by=revert.by,
        subject=by.subject[:SUBJECT_CHARACTERS_MAX],
        at=None if by.at_seconds is None else format_timestamp(by.at_seconds * NS),
        target=revert.target,
        target_subject=None if target is None else target.subject[:SUBJECT_CHARACTERS_MAX],
        base=revert.parent,
        how=revert.how.value,
        state=revert.state.value,
        said=revert.said,
        changed=revert.undone.changed,
        left=revert.undone.left,
        undone=revert.undone.taken,
        cancelled_by=revert.cancelled_by,
        outcomes=list(outcomes) if revert.state is RevertState.WHOLE else [],
    )
