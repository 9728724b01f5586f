"""Read from git history what was taken back, and record it: each revert of an agent's lines once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.wire.time import text_from
from custody.git import Ancestry, NoObject, Repository
from custody.trust.app.authors import AuthorLines, written_each
from custody.trust.app.decisions import trust_rules
from custody.trust.app.outcomes import OutcomeRequest, keep_outcome
from custody.trust.app.revert_history import (
    WINDOW_COMMITS,
    PastCommit,
    RevertHistory,
    RevertPair,
    history_of,
    silent_reverts,
    undone_by,
)
from custody.trust.app.subject import OutcomeSubject, commit_subject
from custody.trust.commit_words import ID_DIGITS_MIN, Claim, number_of
from custody.trust.rules import TrustRules
from custody.trust.undo_check import UNDONE_NOTHING, UndoMeasure, UndoShare
from custody.trust.wire import AgentOutcome, RevertReport, TrustRevertsReport
from custody.workspace.change import additions_of
from custody.workspace.machine import user
from custody.workspace.workspace import Workspace

# Find which commits take back which: what messages say, held against what git shows; and what is undone in silence.


DAY_SECONDS = 86_400
TITLED_MAX = 5
"""Of the commits with one title, so many of the nearest are looked at."""


class RevertClaim(Enum):
    """How a commit says what it takes back."""

    ID = "id"
    NUMBER = "number"
    TITLE = "title"
    DIFF = "diff"
    """It says nothing; its diff is the other one's backwards."""


class RevertState(Enum):
    """What was found out about a revert; only ``WHOLE`` counts."""

    WHOLE = "whole"
    PARTIAL = "partial"
    UNTRUE = "untrue"
    """All that the named commit did is still there."""
    GONE = "gone"
    """The named commit was rewritten before, and nothing that was left of it was taken back."""
    CANCELLED = "cancelled"
    """It was taken back itself."""
    UNLANDED = "unlanded"
    """Both came with one merge: it was taken back before it landed."""
    UNKNOWN = "unknown"
    ELSEWHERE = "elsewhere"
    """The named commit is no ancestor."""
    AMBIGUOUS = "ambiguous"
    SHORT = "short"
    """Too few digits to name a commit."""
    UNSEEN = "unseen"
    """History was cut there: what the commit changed is not here."""


_TAKEN = {
    UndoShare.WHOLE: RevertState.WHOLE,
    UndoShare.PARTIAL: RevertState.PARTIAL,
    UndoShare.NOTHING: RevertState.UNTRUE,
    UndoShare.GONE: RevertState.GONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """That ``by`` takes back ``target``, and what was found out about it.

    ``said`` is the name that the message gives; ``parent`` is what the target is compared with, of a merge the parent
    that stayed. ``cancelled_by`` is the commit that takes this one back.
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


@dataclass(frozen=True, slots=True)
class Reverts:
    """Every revert that was found, the oldest first, and the history it was found in."""

    history: RevertHistory
    found: tuple[Revert, ...] = ()
    tip: CommitSha | None = None
    base: CommitSha | None = None


def found_reverts(workspace: Workspace, typed: str | None, rules: TrustRules) -> Reverts:
    """The reverts among ``BASE..HEAD``, or among everything that a commit descends from; without a name, HEAD."""
    repository = workspace.repository
    base, tip = _ends(repository, typed)
    if tip is None:
        return Reverts(RevertHistory({}, frozenset()))
    history = history_of(repository, tip, base, workspace.progress)
    claimed = list(_claimed(repository, history))
    judged = _judged(workspace, history, claimed, rules)
    silent = _judged(workspace, history, list(_silent(workspace, history, judged, rules)), rules)
    every = sorted(
        _once([*judged, *silent]), key=lambda revert: (-history.commits[revert.by].place, revert.said or "", revert.by)
    )
    return Reverts(history, tuple(_settled(every, history)), tip, base)


def _ends(repository: Repository, typed: str | None) -> tuple[CommitSha | None, CommitSha | None]:
    if typed is None:
        return None, repository.head().commit
    base, dots, head = typed.partition("..")
    if not dots:
        return None, repository.resolve(typed)
    if not base:
        raise InputError(f"'{typed}' has no base", hint="say where to begin: BASE..HEAD")
    return repository.resolve(base), repository.resolve(head.removeprefix(".") or "HEAD")


def _once(every: Sequence[Revert]) -> Iterator[Revert]:
    """Each pair once; what a message names in vain is not told where the diff shows what was meant."""
    shown = {revert.by for revert in every if revert.how is RevertClaim.DIFF}
    seen: set[tuple[CommitSha, CommitSha]] = set()
    for revert in every:
        if revert.target is None:
            if revert.how is RevertClaim.ID or revert.by not in shown:
                yield revert
        elif (revert.by, revert.target) not in seen:
            seen.add((revert.by, revert.target))
            yield revert


# --- what messages say ------------------------------------------------------------------------------------------------


def _claimed(repository: Repository, history: RevertHistory) -> Iterator[Revert]:
    """Every claim of a message with the commit that it names, if it names one that is there and earlier."""
    named = [_named(history.commits[by], claim, history) for by, claims in history.claims.items() for claim in claims]
    named = _elsewhere(repository, named)
    pairs = {Ancestry(sha, target.by) for target in named for sha in target.candidates}
    older = repository.ancestries(pairs) if pairs else frozenset()
    for target in named:
        earlier = [sha for sha in target.candidates if Ancestry(sha, target.by) in older and sha != target.by]
        if not target.candidates or not earlier:
            state = target.problem or RevertState.ELSEWHERE
            yield Revert(by=target.by, how=target.how, state=state, said=target.claim.name, partly=target.claim.partly)
            continue
        yield _about(history, target, earlier[0])


@dataclass(frozen=True, slots=True)
class _NamedTarget:
    """A claim with the commits that it may mean, the likeliest first; or why it means none."""

    by: CommitSha
    how: RevertClaim
    claim: Claim
    candidates: tuple[CommitSha, ...] = ()
    problem: RevertState | None = None


def _named(by: PastCommit, claim: Claim, history: RevertHistory) -> _NamedTarget:
    if claim.id is not None:
        return _by_id(by.id, claim, history)
    older = history.titled(claim.title or "") if claim.number is None else history.numbered(claim.number)
    near = tuple(past.id for past in older if past.place > by.place)[:TITLED_MAX]
    how = RevertClaim.TITLE if claim.number is None else RevertClaim.NUMBER
    return _NamedTarget(by.id, how, claim, near, None if near else RevertState.UNKNOWN)


def _by_id(by: CommitSha, claim: Claim, history: RevertHistory) -> _NamedTarget:
    assert claim.id is not None, "the caller looked"
    if len(claim.id) < ID_DIGITS_MIN:
        return _NamedTarget(by, RevertClaim.ID, claim, problem=RevertState.SHORT)
    fitting = tuple(history.named(claim.id))
    problem = RevertState.AMBIGUOUS if len(fitting) > 1 else None if fitting else RevertState.UNKNOWN
    return _NamedTarget(by, RevertClaim.ID, claim, () if problem else fitting, problem)


def _elsewhere(repository: Repository, named: Sequence[_NamedTarget]) -> list[_NamedTarget]:
    """The same; an unknown id that is here on another line of history is told apart from one that is nowhere."""
    asked = sorted({target.claim.id for target in named if target.claim.id and target.problem is RevertState.UNKNOWN})
    infos = dict(zip(asked, repository.look_up(asked), strict=True)) if asked else {}
    return [
        target if target.claim.id not in infos else replace(target, problem=_problem(infos[target.claim.id]))
        for target in named
    ]


def _problem(info: object) -> RevertState:
    if isinstance(info, NoObject):
        return RevertState.AMBIGUOUS if info.reason == "ambiguous" else RevertState.UNKNOWN
    return RevertState.ELSEWHERE


def _about(history: RevertHistory, named_target: _NamedTarget, target: CommitSha) -> Revert:
    """A claim about a commit that is there; of a merge the named parent has to be one of its own."""
    found = Revert(
        by=named_target.by,
        how=named_target.how,
        state=RevertState.GONE,
        said=named_target.claim.name,
        target=target,
        partly=named_target.claim.partly,
    )
    parents = history.commits[target].parents
    if target in history.cuts:
        return replace(found, state=RevertState.UNSEEN)
    if named_target.claim.mainline is None:
        return replace(found, parent=next(iter(parents), None))
    stayed = [parent for parent in parents if parent.startswith(named_target.claim.mainline)]
    return replace(found, parent=stayed[0]) if stayed else replace(found, state=RevertState.UNKNOWN, target=None)


# --- what git shows ---------------------------------------------------------------------------------------------------


def _judged(workspace: Workspace, history: RevertHistory, claimed: Sequence[Revert], rules: TrustRules) -> list[Revert]:
    """The same with what each really took back."""
    pairs: dict[int, RevertPair] = {}
    for place, revert in enumerate(claimed):
        by_parents = history.commits[revert.by].parents
        if revert.target is not None and revert.state is RevertState.GONE and by_parents:
            pairs[place] = RevertPair(revert.target, revert.parent, revert.by, by_parents[0])
    undone = dict(zip(pairs, undone_by(workspace.repository, list(pairs.values()), workspace.progress), strict=True))
    return [_state(revert, undone[place], rules) if place in undone else revert for place, revert in enumerate(claimed)]


def _state(revert: Revert, undone: UndoMeasure, rules: TrustRules) -> Revert:
    state = _TAKEN[undone.how_much(rules)]
    if state is RevertState.WHOLE and revert.partly:
        state = RevertState.PARTIAL  # whoever wrote it knows best that it was not all
    return replace(revert, undone=undone, state=state)


def _silent(
    workspace: Workspace, history: RevertHistory, told: Sequence[Revert], rules: TrustRules
) -> Iterator[Revert]:
    """Commits whose diff is an earlier one's backwards, of those that do not say so themselves."""
    shown = {revert.by for revert in told if revert.state in (RevertState.WHOLE, RevertState.PARTIAL)}
    asked = history.asked - shown
    first = max((history.commits[sha].place for sha in asked), default=-1)
    near = [past for past in history.commits.values() if past.place <= first + WINDOW_COMMITS]
    plain = [past.id for past in reversed(near) if len(past.parents) == 1 and past.id not in history.cuts]
    pairs = list(silent_reverts(workspace.repository, plain, asked, rules, workspace.progress))
    wanted = {Ancestry(target, by) for by, target in pairs}
    older = workspace.repository.ancestries(wanted) if wanted else frozenset()
    for by, target in pairs:
        if Ancestry(target, by) in older and _is_near(history.commits[target], history.commits[by], rules):
            parent = history.commits[target].parents[0]
            yield Revert(by=by, how=RevertClaim.DIFF, state=RevertState.GONE, target=target, parent=parent)


def _is_near(earlier: PastCommit, later: PastCommit, rules: TrustRules) -> bool:
    if earlier.at_seconds is None or later.at_seconds is None:
        return False
    return later.at_seconds - earlier.at_seconds <= rules.revert_window_days * DAY_SECONDS


def _settled(every: Sequence[Revert], history: RevertHistory) -> Iterator[Revert]:
    """The same after it was looked at what became of each: a revert that was taken back is none, and so on."""
    by_target: dict[CommitSha, list[Revert]] = {}
    for revert in every:
        if revert.target is not None and revert.state is RevertState.WHOLE:
            by_target.setdefault(revert.target, []).append(revert)
    standing: dict[CommitSha, CommitSha | None] = {}
    # What takes back is always the later one, so the newest are settled first.
    for revert in reversed(every):
        if revert.state is RevertState.WHOLE:
            again = [later.by for later in by_target.get(revert.by, ()) if standing.get(later.by) is None]
            standing[revert.by] = again[0] if again else None
    return (_became(revert, standing, history) for revert in every)


def _became(revert: Revert, standing: Mapping[CommitSha, CommitSha | None], history: RevertHistory) -> Revert:
    if revert.state is not RevertState.WHOLE or revert.target is None:
        return revert
    if (by := standing.get(revert.by)) is not None:
        return replace(revert, state=RevertState.CANCELLED, cancelled_by=by)
    return replace(revert, state=RevertState.UNLANDED) if _in_one_change(history, revert.by, revert.target) else revert


def _in_one_change(history: RevertHistory, by: CommitSha, target: CommitSha) -> bool:
    """Whether both came with one merge, and the earlier one had not landed on a line of its own before."""
    landed, past = history.landed_with, history.commits[target]
    if len(past.parents) > 1 or number_of(past.subject) is not None:
        return False
    return landed.get(by, by) != by and landed[by] == landed.get(target)


NS = 1_000_000_000
SHORT_DIGITS = 12
SUBJECT_SIGNS_MAX = 200


def trust_reverts(
    workspace: Workspace, typed: str | None = None, *, record: bool = False, actor: str | None = None
) -> TrustRevertsReport:
    """The reverts among ``BASE..HEAD``, or among all that a commit descends from; without a name, HEAD.

    With ``record`` each that counts, and takes back lines of an agent, is recorded as a change that was reverted; one
    that is recorded already is not recorded again.
    """
    reverts = found_reverts(workspace, typed, trust_rules(workspace))
    outcomes = _recorded(workspace, reverts, actor or user()) if record and workspace.exists() else {}
    states = Counter(revert.state.value for revert in reverts.found)
    made = [outcome for agent_outcomes in outcomes.values() for outcome in agent_outcomes if outcome.taken is not None]
    return TrustRevertsReport(
        tip=reverts.tip,
        base=reverts.base,
        commits=len(reverts.history.asked),
        found=[_report_revert(revert, reverts, outcomes.get(revert.target, ())) for revert in reverts.found],
        counts={state.value: states[state.value] for state in RevertState if states[state.value]},
        recording=record,
        recorded=len(made),
    )


def _recorded(workspace: Workspace, reverts: Reverts, actor: str) -> Mapping[CommitSha | None, Sequence[AgentOutcome]]:
    """What the reverts that count mean for the agents whose lines they take back, by the commit taken back."""
    counting = {
        revert.target: revert
        for revert in reverts.found
        if revert.state is RevertState.WHOLE and revert.target is not None
    }
    subjects = [commit_subject(workspace.repository, target, base=revert.parent) for target, revert in counting.items()]
    outcomes: dict[CommitSha | None, Sequence[AgentOutcome]] = {}
    for revert, subject, by in zip(counting.values(), subjects, _written(workspace, subjects), strict=True):
        subject_line = reverts.history.commits[revert.by].subject[:SUBJECT_SIGNS_MAX]
        reason = f"taken back by {revert.by[:SHORT_DIGITS]}: {subject_line}"
        wanted = OutcomeRequest(change=subject.change, outcome="reverted", actor=actor, reason=reason)
        outcomes[revert.target] = keep_outcome(workspace, wanted, subject, by).agents
    return outcomes


def _written(workspace: Workspace, subjects: Sequence[OutcomeSubject]) -> Iterator[AuthorLines]:
    """Who wrote each of the changes, found out before anything is recorded."""
    workspace.progress.start("finding authors", len(subjects))
    found = []
    for by in written_each(workspace, ((additions_of(subject.files), subject.head) for subject in subjects)):
        found.append(by)
        workspace.progress.step(1)
    return iter(found)


def _report_revert(revert: Revert, reverts: Reverts, outcomes: Sequence[AgentOutcome]) -> RevertReport:
    by = reverts.history.commits[revert.by]
    target = None if revert.target is None else reverts.history.commits[revert.target]
    return RevertReport(
        by=revert.by,
        subject=by.subject[:SUBJECT_SIGNS_MAX],
        at=None if by.at_seconds is None else text_from(by.at_seconds * NS),
        target=revert.target,
        target_subject=None if target is None else target.subject[:SUBJECT_SIGNS_MAX],
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
