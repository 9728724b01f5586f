"""How far recorded decisions can be believed, under the policy of a team.

May touch the open store of its caller, the repository, and ``ssh-keygen`` through ``signing``. Each signature is
checked once per rater.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from custody.config import EffectiveRules, TeamPolicy, TeamReviewer
from custody.core.assurance import Assurance
from custody.core.identity import list_identities
from custody.core.ids import CommitSha, RecordRef
from custody.core.patterns import lazy_pattern
from custody.core.record import Record
from custody.core.views import Decision, WitnessClaim
from custody.core.wire.claims import ChainRatings
from custody.git import Commit, NoObject, Repository, Walk
from custody.ledger.assurance import rate_workspace_chains
from custody.signing import allowed_signers_from_key, find_signer, has_presence_flag
from custody.store import ObservedView, Store
from custody.trust.app.decision_signature import NAMESPACE, encode_signed_decision
from custody.trust.app.decisions import EVENT_PREFIX, FolderWorkspace
from custody.trust.assurance import DecisionBelief, DecisionVouching, rate_decision
from custody.workspace.change import ChangeRange
from custody.workspace.rules_in_force import load_base_team_policy, load_workspace_team_policy
from custody.workspace.workspace import Workspace, has_workspace_repository

ASSURANCE_RULE = "gate.assurance_min"
CHANGE_COMMITS_MAX = 1000
"""The most commits of a merged change that are searched for its authors; a larger one has no second party."""
_SHA = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_NOREPLY_EMAIL = lazy_pattern(r"(?:\d+\+)?(?P<login>[^@+]+)@users\.noreply\.github\.com", re.ASCII)


class DecisionPolicy(Struct, frozen=True):
    """Who is believed about decisions, and how far they must be when a change may merge.

    Without a ``repository`` no commit is looked up: then no witness can be told from an author of the change.
    """

    team: TeamPolicy = field(default_factory=TeamPolicy)
    least: Assurance = Assurance.SELF_REPORTED
    ratings: ChainRatings = field(default_factory=ChainRatings)
    repository: Repository | None = None


def load_decision_policy(workspace: Workspace, store: Store) -> DecisionPolicy:
    """Return who is believed about decisions, as the team's policy in HEAD says; outside a repository there is none."""
    if isinstance(workspace, FolderWorkspace) or not has_workspace_repository(workspace):
        return DecisionPolicy()
    team = load_workspace_team_policy(workspace)
    return DecisionPolicy(team, ratings=rate_workspace_chains(workspace, store, team), repository=workspace.repository)


def load_base_decision_policy(workspace: Workspace, change: ChangeRange, effective: EffectiveRules) -> DecisionPolicy:
    """Return who is believed about decisions, as the base of a change says: a change cannot choose its own judges."""
    team = load_base_team_policy(workspace.repository, change.base, change.fork)
    least = effective.settings_of(ASSURANCE_RULE.partition(".")[0])[ASSURANCE_RULE].value
    with workspace.reading() as store:
        ratings = rate_workspace_chains(workspace, store, team)
    return DecisionPolicy(team, Assurance(least), ratings, workspace.repository)


class DecisionRater:
    """Rates the decisions of one open store under one policy."""

    def __init__(self, store: Store, policy: DecisionPolicy, now_ns: int) -> None:
        self._store = store
        self._policy = policy
        self._now_ns = now_ns
        self._rated: dict[RecordRef, Assurance] = {}
        self._people: dict[tuple[str, str], frozenset[str] | None] = {}
        self._existing: dict[str, bool] = {}

    def believe(self, decisions: Sequence[ObservedView[Decision]]) -> DecisionBelief:
        """Return how far each of these decisions can be believed."""
        assurances = {decision.record.ref: self.rate(decision) for decision in decisions}
        return DecisionBelief(assurances, self._policy.least, self._find_existing_commits(decisions))

    def rate(self, decision: ObservedView[Decision]) -> Assurance:
        """Return the assurance of a decision; it is found out once."""
        ref = decision.record.ref
        if ref not in self._rated:
            self._rated[ref] = self._rate(decision)
        return self._rated[ref]

    def _rate(self, decision: ObservedView[Decision]) -> Assurance:
        record, view, ratings = decision.record, decision.view, self._policy.ratings
        # Only the verbs of decisions use this prefix: any program can send a generic event.
        is_own = record.entry.event.startswith(EVENT_PREFIX)
        chain = ratings.rate_chain(record.store) if is_own else Assurance.SELF_REPORTED
        claim = view.witness
        if claim is None:
            return chain
        signer = self._find_signing_reviewer(record, claim) if claim.kind == "signature" else None
        if claim.kind == "signature" and signer is None:
            return chain
        return rate_decision(
            DecisionVouching(
                chain,
                is_witness_chain=is_own and record.store in ratings.witnesses,
                claim=claim.kind,
                is_second_party=self._is_second_party(view, claim, signer),
                is_signed=signer is not None,
                is_present=signer is not None and signer.proves_presence and has_presence_flag(claim.signature or ""),
            )
        )

    def _find_signing_reviewer(self, record: Record, claim: WitnessClaim) -> TeamReviewer | None:
        """Return the reviewer whose key made the signature of a decision; None if no listed one did."""
        listed = self._policy.team.find_reviewers(claim.by, self._now_ns)
        payload = self._store.tables.payload(record) if listed and claim.signature is not None else None
        if not isinstance(payload, dict) or claim.signature is None:
            return None  # its texts were withheld or erased: the signed bytes are not here
        message = encode_signed_decision(payload)
        for reviewer in listed.values():
            if reviewer.key is not None and find_signer(
                message, claim.signature, NAMESPACE, allowed_signers_from_key(reviewer.key)
            ):
                return reviewer
        return None

    def _is_second_party(self, view: Decision, claim: WitnessClaim, signer: TeamReviewer | None) -> bool:
        """Return whether a witness is known to be neither an author nor an operator of the change."""
        people = self._read_people(view)
        if people is None:
            return False
        listed = self._policy.team.find_reviewers(claim.by, self._now_ns)
        accounts = [account for reviewer in listed.values() for account in reviewer.accounts]
        witness = list_identities((claim.by, *listed, *accounts, *(() if signer is None else signer.accounts)))
        return not witness & (people | list_identities((view.agent, view.operator)))

    def _read_people(self, view: Decision) -> frozenset[str] | None:
        """Return the identities of those who wrote or committed a change; None where that is not known."""
        if self._policy.repository is None or view.commit is None:
            return None
        names = (view.commit, view.head or view.commit)
        if names not in self._people:
            self._people[names] = _read_change_people(self._policy.repository, *map(CommitSha, names))
        return self._people[names]

    def _find_existing_commits(self, decisions: Iterable[ObservedView[Decision]]) -> frozenset[str] | None:
        repository = self._policy.repository
        if repository is None:
            return None
        named = {decision.view.commit for decision in decisions if decision.view.commit is not None}
        unknown = sorted(commit for commit in named - self._existing.keys() if _SHA.fullmatch(commit))
        for commit, found in zip(unknown, repository.look_up(unknown), strict=True):
            self._existing[commit] = not isinstance(found, NoObject) and found.kind == "commit"
        return frozenset(commit for commit in named if self._existing.get(commit, False))


def _read_change_people(repository: Repository, commit: CommitSha, head: CommitSha) -> frozenset[str] | None:
    """Return the people of a merged commit, and of all commits of the head that it was; None if unknown."""
    people = _read_commit_people(repository, commit)
    if people is None or head == commit:
        return people
    (found,) = repository.look_up([head])
    if isinstance(found, NoObject) or found.kind != "commit":
        return people  # a clone may lack the head of a squashed change
    with repository.log([commit], walk=Walk(count_max=1)) as answers:
        (merged,) = answers
    walk = Walk(without=merged.parents[:1], count_max=CHANGE_COMMITS_MAX)
    with repository.log([head], walk=walk) as answers:
        brought = list(answers)
    return None if len(brought) == CHANGE_COMMITS_MAX else people | list_commit_people(brought)


def _read_commit_people(repository: Repository, commit: CommitSha) -> frozenset[str] | None:
    """Return the people of a commit, or of all commits that a merge brought; None if it cannot be read."""
    (found,) = repository.look_up([commit])
    if isinstance(found, NoObject) or found.kind != "commit":
        return None
    with repository.log([commit], walk=Walk(count_max=1)) as answers:
        (head,) = answers
    if len(head.parents) < 2:
        return list_commit_people([head])
    with repository.log([commit], walk=Walk(without=[head.parents[0]], count_max=CHANGE_COMMITS_MAX)) as answers:
        brought = list(answers)
    # Whoever merges a change may be its reviewer.
    others = [each for each in brought if each.id != head.id]
    return None if len(brought) == CHANGE_COMMITS_MAX else list_commit_people(others or [head])


def list_commit_people(commits: Iterable[Commit]) -> frozenset[str]:
    """Return the identities of the authors, committers and co-authors of some commits."""
    from custody.core.commit_agents import list_co_authors  # only signed and host reviews need it

    commits = list(commits)
    names = {
        raw.decode("utf-8", "replace")
        for commit in commits
        for person in (commit.author, commit.committer)
        for raw in (person.name, person.email)
        if raw
    }
    names |= {name for commit in commits for name in list_co_authors(commit.message.decode("utf-8", "replace"))}
    logins = {f"github:{match['login']}" for name in names if (match := _NOREPLY_EMAIL.fullmatch(name))}
    return list_identities(names | logins)
