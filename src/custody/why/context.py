"""What a line's chain leads to: the sources read, the subagent's call, the agent's record."""

from collections.abc import Iterator, Sequence

import msgspec

from custody.attribution import Trace
from custody.capture.typed_field import fields, get_string
from custody.cite.app.source_numbers import page_source_number
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.views import Reading, SourceAccess, ToolCall
from custody.core.wire.time import text_from
from custody.dupes.app.indexed_changes import changes_by_head, evidence_about
from custody.dupes.wire import DupesEvidence
from custody.git import Repository
from custody.intake.backfill import work_trees
from custody.intake.queries import calls_of_session
from custody.ledger.queries import first_session_views, locators_read_by, readings_of_source
from custody.store import ObservedView, Store
from custody.trust.app.decisions import agents_in, make_trust_query, read_settled_decisions
from custody.trust.app.show import trust_line
from custody.trust.app.standing import read_standing
from custody.why.report import ChangeLink, SimilarChangeReport, SourceLine, SourcesLink, StandingLink
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


# Which sources a session had read before it wrote a line: an indexed look-up of that session and nothing more.


SHOWN_MAX = 10
EACH_MAX = 4
"""Of one source so many readings are looked at, the latest: a file may have been read a hundred times."""
PARENTS_MAX = 8
"""How many sessions upwards are looked at."""
READINGS = tuple(Reading)


def sources_before(repository: Repository, store: Store, trace: Trace, at_ns: int) -> SourcesLink:
    """The sources that a session, subagents included, or one that started it had read by a moment, the latest first."""
    sessions = [trace.session, *_above(store, trace)]
    found = locators_read_by(store, sessions, at_ns, SHOWN_MAX)
    trees = work_trees(repository) if any(text.startswith("/") for text in found.locators) else []
    lines: list[SourceLine] = []
    for locator in found.locators:
        readings = readings_of_source(store, sessions, locator, at_ns, EACH_MAX)
        seen = [reading for reading in readings if reading.view.agent == trace.agent]
        if seen:
            lines.append(_line(store, seen, trees))
    return SourcesLink(sources=lines, more=found.total - len(found.locators))


def _line(store: Store, seen: Sequence[ObservedView[SourceAccess]], trees: Sequence[str]) -> SourceLine:
    reads = [view.view for view in seen]
    best = min(reads, key=lambda read: (READINGS.index(read.reading), -read.at_ns))
    last = max(reads, key=lambda read: read.at_ns)
    return SourceLine(
        id=_number(store, last.locator),
        locator=_place(last.locator, trees),
        title=next((read.title for read in reads if read.title), None),
        reading=best.reading.value,
        at=text_from(last.at_ns),
        call=last.call,
        records=[str(ref) for ref in sorted({view.record.ref for view in seen})],
    )


def _place(locator: str, trees: Sequence[str]) -> str:
    """A path of the repository where it is one, else as it was written."""
    for tree in trees:
        if locator.startswith(f"{tree.rstrip('/')}/"):
            return locator[len(tree.rstrip("/")) + 1 :]
    return locator


def _number(store: Store, locator: str) -> str | None:
    if locator[:4].lower() != "http":
        return None
    number = page_source_number(store, locator)
    return None if number is None else f"S{number}"


def _above(store: Store, trace: Trace) -> Iterator[SessionId]:
    """The sessions that started this one, where its recorder names them."""
    met, session = {trace.session}, trace.session
    for _ in range(PARENTS_MAX):
        parent = next((seen.view.parent for seen in first_session_views(store, session, 1)), None)
        if parent is None or parent in met:
            return
        met.add(parent)
        session = parent
        yield parent


# The call that started a subagent, where the subagent's own calls do not name it.
# The hooks of Claude Code and Cursor say of a call only which subagent made it; the call that started the subagent
# says so in its answer, which comes later and in a record of its own, with Cursor in the event that the subagent
# starts.


STARTING = frozenset(("Agent", "Task"))
"""The tools that start a subagent, by all the names that they have had."""


def starter_of(store: Store, trace: Trace, subagent: str) -> CallId | None:
    """The captured call of the session that says it started this subagent, if there is one."""
    for seen in calls_of_session(store, trace.session):
        call = seen.view
        if call.agent != trace.agent or call.name not in STARTING:
            continue
        if _started(store, seen) == subagent:
            return call.id
    return None


def _started(store: Store, seen: ObservedView[ToolCall]) -> str | None:
    said = fields(fields(store.tables.payload(seen.record)).get("payload"))
    starts = said.get("hook_event_name") == "subagentStart"
    return get_string(fields(said.get("tool_response")).get("agentId")) or (
        get_string(said.get("conversation_id")) if starts else None
    )
