"""Read from git history what was taken back, and record it: each revert of an agent's lines once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from custody.core.ids import CommitSha
from custody.core.wire.time import text_from
from custody.trust.app.authors import AuthorLines, written_each
from custody.trust.app.folder import trust_rules
from custody.trust.app.outcomes import OutcomeRequest, keep_outcome
from custody.trust.app.revert_search import Revert, Reverts, RevertState, found_reverts
from custody.trust.app.subject import OutcomeSubject, commit_subject
from custody.trust.wire.report import AgentOutcome, RevertReport, TrustRevertsReport
from custody.workspace.change import additions_of
from custody.workspace.user import user
from custody.workspace.workspace import Workspace

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
