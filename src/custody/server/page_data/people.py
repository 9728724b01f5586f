"""People and a change: who read its hunks, and trust in the agents whose lines it has."""

from collections.abc import Iterable

from msgspec import Struct

from custody.core.ids import CommitSha
from custody.core.wire.time import format_timestamp
from custody.dupes.app.indexed_changes import format_change_range
from custody.people.reads import find_recorded_reads, list_change_reads
from custody.people.wire import ReadReport
from custody.server.app.questions import require_project_repository
from custody.server.page_data.changes import find_change_for_page
from custody.trust.app.authors import count_trust_author_lines
from custody.trust.app.change_decisions import list_commit_decisions
from custody.trust.app.decisions import make_trust_query
from custody.trust.app.score_cache import read_score_state
from custody.trust.app.show import trust_line
from custody.trust.wire import TrustLine
from custody.workspace.change import resolve_change_range
from custody.workspace.workspace import Workspace


class ChangeAgent(Struct, frozen=True):
    """An agent with lines in a change, their number, and the trust in it."""

    name: str
    lines: int
    trust: TrustLine


class ChangeDecision(Struct, frozen=True, kw_only=True):
    """A recorded decision about the lines of an agent in a change."""

    agent: str
    decision: str
    actor: str | None
    at: str
    reason: str | None


class ChangePeople(Struct, frozen=True):
    """A change as ``BASE..HEAD``, who read its hunks, its agents (the one with the most lines first), and decisions."""

    change: str
    reads: ReadReport
    agents: tuple[ChangeAgent, ...]
    decisions: tuple[ChangeDecision, ...]


def read_change_people(workspace: Workspace, name: str) -> ChangePeople:
    """Return the people and agents of a change: a range, or the name of an indexed change."""
    here = require_project_repository(workspace)
    text = name if ".." in name else format_change_range(here, find_change_for_page(workspace, name))
    change = resolve_change_range(here.repository, text)
    return ChangePeople(
        f"{change.base}..{change.head}",
        list_change_reads(here, text),
        list_change_agents(here, text),
        list_change_decisions(here, change.head),
    )


def list_change_decisions(workspace: Workspace, head: CommitSha) -> tuple[ChangeDecision, ...]:
    """Return the decisions about the head of a change, the oldest first."""
    if not workspace.exists():
        return ()
    with workspace.reading() as store:
        return tuple(
            ChangeDecision(
                agent=decision.agent,
                decision=decision.decision.value,
                actor=decision.actor,
                at=format_timestamp(decision.at_ns),
                reason=decision.reason,
            )
            for decision in list_commit_decisions(store, head)
        )


def find_own_reads(workspace: Workspace, hunks: Iterable[str], person: str) -> frozenset[str]:
    """Return those of these hunks that a person read, by the records of now."""
    if not workspace.exists():
        return frozenset()
    with workspace.reading() as store:
        return frozenset(read.view.hunk for read in find_recorded_reads(store, hunks) if read.view.person == person)


def list_change_agents(workspace: Workspace, name: str) -> tuple[ChangeAgent, ...]:
    """Return the agents with lines in ``BASE..HEAD``, claimed lines included, the one with the most lines first."""
    if not workspace.exists():
        return ()
    change = resolve_change_range(workspace.repository, name)
    by = count_trust_author_lines(workspace, change.additions, change.head).with_claims
    names = sorted({author.agent for author in by.authors}, key=lambda agent: (-by.lines(agent), agent))
    query = make_trust_query(workspace)
    with workspace.reading() as store:
        return tuple(
            ChangeAgent(agent, by.lines(agent), trust_line(agent, read_score_state(store, agent, query), query))
            for agent in names
        )
