"""What stands beside a line's chain: what its agent has earned, and what the change that brought it is like."""

import msgspec

from custody.core.ids import AgentName, CommitSha
from custody.core.wire.time import text_from
from custody.dupes.app.change_index import changes_by_head, evidence_about
from custody.dupes.wire.report import DupesEvidence
from custody.store import Store
from custody.trust.app.decisions import agents_in, make_trust_query, read_settled_decisions
from custody.trust.app.show import trust_line
from custody.trust.app.standing import read_standing
from custody.why.report import ChangeLink, SimilarChangeReport, StandingLink
from custody.workspace.workspace import Workspace

LIKES_MAX = 5


def standing_link(workspace: Workspace, store: Store, agent: AgentName) -> StandingLink:
    """Where the agent stands now, by the rules in force."""
    asked = make_trust_query(workspace)
    at = text_from(asked.now_ns)
    with read_settled_decisions(store):
        known = agent in agents_in(store)
    if not known:
        return StandingLink(agent=agent, decisions=0, score=None, tier=None, at=at)
    line = trust_line(agent, read_standing(store, agent, asked), asked)
    return StandingLink(agent=agent, decisions=line.samples, score=line.score, tier=line.tier, at=at)


def change_link(store: Store, commit: CommitSha) -> ChangeLink:
    """The change whose head a commit is, and what 'custody dupes check' or the gate found it to be like."""
    indexed = changes_by_head(store, commit)
    told = [
        (row.id, evidence)
        for row in evidence_about(store, commit)
        if (evidence := _read(row.body)) is not None and evidence.this.head == commit
    ]
    likes = {evidence.other.head: _like(id_, evidence) for id_, evidence in reversed(told)}
    return ChangeLink(
        head=commit,
        title=indexed[0].title if indexed else None,
        likes=list(likes.values())[:LIKES_MAX] if told else None,
    )


def _read(body: str) -> DupesEvidence | None:
    try:
        return msgspec.json.decode(body, type=DupesEvidence)
    except msgspec.ValidationError:
        return None  # of another version: 'custody dupes check' finds it again


def _like(id_: str, evidence: DupesEvidence) -> SimilarChangeReport:
    return SimilarChangeReport(
        head=evidence.other.head,
        title=evidence.other.title,
        says=evidence.says,
        category=evidence.category,
        relations=[relation.relation for relation in evidence.relations],
        evidence=id_,
    )
