"""Gathering of who read a change: people who did not write it, as far as the policy of its base believes them."""

from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.errors import StoreError
from custody.core.identity import list_identities
from custody.core.paths import Lines
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.model import ChangeSpot, GateEvidence, MissingEvidence, ReadState
from custody.gate.rules import GateRules
from custody.ledger.assurance import rate_workspace_chains
from custody.people.read_assurance import is_involved, rate_hunk_read
from custody.people.reads import ChangedHunk, find_recorded_reads, list_changed_hunks
from custody.trust.app.decision_assurance import DecisionPolicy, list_commit_people
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

ASK_DOCTOR = "run 'custody doctor'"


def gather_read_evidence(
    workspace: Workspace, review: ChangeUnderReview, policy: Policy, evidence: GateEvidence
) -> ReadState | MissingEvidence:
    """Return which hunks no second person has read, and the lowest assurance of the marks that count."""
    rules = policy.rules.of(GateRules)
    hunks = list_changed_hunks(review.change.files)
    involved = _list_involved(review, evidence)
    best: dict[str, Assurance] = {}
    try:
        with workspace.reading() as store:
            ratings = rate_workspace_chains(workspace, store, policy.team)
            team = DecisionPolicy(policy.team, Assurance(rules.assurance_min), ratings, review.repository)
            for read in find_recorded_reads(store, (changed.hunk.id for changed in hunks)):
                rated = rate_hunk_read(read, team, involved)
                if rules.counts(rated) and not is_involved(read.view.person, team, read.view.at_ns, involved):
                    known = best.get(read.view.hunk, rated)
                    best[read.view.hunk] = max(known, rated, key=lambda each: each.rank)
    except StoreError as error:
        return MissingEvidence(f"cannot check who read the change: {error.message}", error.hint or ASK_DOCTOR)
    unread = [_spot_from_hunk(changed) for changed in hunks if changed.hunk.id not in best]
    # Files of the work tree that could not be read have no hunks.
    unread += [ChangeSpot(file.path.display) for file in review.left_out]
    return ReadState(tuple(unread), len(hunks) + len(review.left_out), find_lowest_assurance(best.values()))


def _list_involved(review: ChangeUnderReview, evidence: GateEvidence) -> frozenset[str]:
    """Return the identities of those who made a change: authors, committers, agents and their operators."""
    authors = {added.author for _, added in evidence.ranges if added.author is not None}
    names = [name for author in authors for name in (author.agent, author.operator)]
    if review.is_work_tree:
        names.append(machine_user_name())
    return list_commit_people(review.change.commits) | list_identities(names)


def _spot_from_hunk(changed: ChangedHunk) -> ChangeSpot:
    lines = [run.new_lines for run in changed.hunk.runs if run.new_lines is not None]
    return ChangeSpot(changed.path.display, Lines(lines[0].first, lines[-1].last) if lines else None)
