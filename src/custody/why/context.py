"""Links beside a line's own path: the sources read, the subagent's call, the agent's trust, similar changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from custody.attribution import Trace
from custody.capture.typed_field import get_fields, get_string
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import Reading, SourceAccess, ToolCall
from custody.core.wire.time import format_timestamp
from custody.dupes.app.indexed_changes import find_changes_by_head
from custody.git import Repository
from custody.intake.queries import list_captured_calls
from custody.ledger.queries import list_first_session_views, list_session_source_locators, list_session_source_readings
from custody.store import ObservedView, Store
from custody.trust.app.decisions import list_agents_with_decisions, make_trust_query, read_settled_decisions
from custody.why.report import ChangeLink, SimilarChangeReport, SourceLine, SourcesLink, StandingLink, TestsLink
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.dupes.app.past_suggestions import PastSuggestion
    from custody.intake.backfill import Paths


SIMILAR_CHANGES_MAX = 5


def make_why_score_link(workspace: Workspace, store: Store, agent: AgentName) -> StandingLink:
    """Return the agent's trust now, under the rules in force."""
    query = make_trust_query(workspace)
    at = format_timestamp(query.now_ns)
    with read_settled_decisions(store):
        has_decisions = agent in list_agents_with_decisions(store)
    if not has_decisions:
        return StandingLink(agent=agent, decisions=0, score=None, tier=None, at=at)
    from custody.trust.app.score_cache import read_score_state  # many agents have no decision
    from custody.trust.app.show import trust_line

    line = trust_line(agent, read_score_state(store, agent, query), query)
    return StandingLink(agent=agent, decisions=line.samples, score=line.score, tier=line.tier, at=at)


def make_why_change_link(store: Store, commit: CommitSha) -> ChangeLink:
    """Return the change with this head, and the similar changes that 'custody dupes check' or the gate found."""
    from custody.dupes.app.past_suggestions import find_past_suggestions

    indexed = find_changes_by_head(store, commit)
    similar = {
        suggestion.other.head: _make_why_similar_change(suggestion)
        for suggestion in reversed(find_past_suggestions(store, commit))
    }
    return ChangeLink(
        head=commit,
        title=indexed[0].title if indexed else None,
        likes=list(similar.values())[:SIMILAR_CHANGES_MAX] if similar else None,
    )


def _make_why_similar_change(suggestion: PastSuggestion) -> SimilarChangeReport:
    return SimilarChangeReport(
        head=suggestion.other.head,
        title=suggestion.title,
        says=suggestion.verdict.value,
        category=suggestion.category.value,
        relations=[relation.value for relation in suggestion.relations],
        evidence=suggestion.id,
    )


# The sources that a session had read before it wrote a line, by an indexed lookup of that session.


SOURCES_SHOWN_MAX = 10
READINGS_PER_SOURCE_MAX = 4
"""Latest readings that are compared for one source: a file may have been read a hundred times."""
PARENT_SESSIONS_MAX = 8
READINGS = tuple(Reading)


class SourceQuestion(Struct, frozen=True):
    """Which sources a session had read at a time."""

    trace: Trace
    at_ns: int


def make_why_sources_link(repository: Repository, store: Store, trace: Trace, at_ns: int) -> SourcesLink:
    """Return the sources read until ``at_ns`` by the session, its subagents and its parent sessions, latest first."""
    (link,) = list_sources_before(repository, store, [SourceQuestion(trace, at_ns)])
    return link


def list_sources_before(
    repository: Repository, store: Store, questions: Sequence[SourceQuestion], shown_max: int = SOURCES_SHOWN_MAX
) -> list[SourcesLink]:
    """Answer several questions at once: git is asked once for the paths of all of them."""
    families: dict[Trace, list[SessionId]] = {}
    for question in questions:
        if question.trace not in families:
            families[question.trace] = [question.trace.session, *_trace_to_parent_sessions(store, question.trace)]
    found = [
        list_session_source_locators(store, families[question.trace], question.at_ns, shown_max)
        for question in questions
    ]
    names = {text for rows in found for text in rows.locators if text.startswith("/")}
    paths = _make_why_source_paths(repository, sorted(names)) if names else None
    links = []
    for question, rows in zip(questions, found, strict=True):
        lines: list[SourceLine] = []
        for locator in rows.locators:
            readings = list_session_source_readings(
                store, families[question.trace], locator, question.at_ns, READINGS_PER_SOURCE_MAX
            )
            own = [reading for reading in readings if reading.view.agent == question.trace.agent]
            if own:
                lines.append(_make_why_source_line(store, own, paths))
        links.append(SourcesLink(sources=lines, more=rows.total - len(rows.locators)))
    return links


def make_why_tests_link(
    workspace: Workspace, store: Store, trace: Trace, path: RepoPath, until_ns: int | None
) -> TestsLink:
    """Return whether the file was tested after its last edit until ``until_ns``, by the session that wrote the line."""
    from custody.runs import FileUnderTest
    from custody.runs.app.evidence import get_review_rules, read_run_history
    from custody.runs.app.report import report_tests

    rules = get_review_rules(load_workspace_rules(workspace)[0])
    file = FileUnderTest(path, frozenset((trace.session,)))
    evidence = read_run_history(store, rules, [file], until_ns=until_ns).judge(file)
    record = None if evidence.run is None or evidence.run.record is None else str(evidence.run.record)
    return TestsLink(tests=report_tests(evidence), records=[] if record is None else [record])


def _make_why_source_paths(repository: Repository, names: Sequence[str]) -> Paths:
    """Return the paths of these absolute names in this repository, also of work trees on other machines."""
    from custody.intake.backfill import Paths, list_backfill_work_trees

    ends = {end for name in names for end in _list_path_ends(name)}
    trees = list_backfill_work_trees(repository)
    return Paths(trees, lambda: frozenset(map(str, repository.list_tracked_files(ends))))


def _list_path_ends(name: str) -> list[RepoPath]:
    parts = name.strip("/").split("/")
    try:
        return [RepoPath.of("/".join(parts[start:])) for start in range(len(parts))]
    except InputError:
        return []  # not a name that a repository can have


def _make_why_source_line(
    store: Store, readings: Sequence[ObservedView[SourceAccess]], paths: Paths | None
) -> SourceLine:
    reads = [reading.view for reading in readings]
    best = min(reads, key=lambda read: (READINGS.index(read.reading), -read.at_ns))
    last = max(reads, key=lambda read: read.at_ns)
    return SourceLine(
        id=_format_why_source_number(store, last.locator),
        locator=_relativize_why_locator(last.locator, paths),
        title=next((read.title for read in reads if read.title), None),
        reading=best.reading.value,
        at=format_timestamp(last.at_ns),
        call=last.call,
        records=[str(ref) for ref in sorted({reading.record.ref for reading in readings})],
    )


def _relativize_why_locator(locator: str, paths: Paths | None) -> str:
    """Return the path in the repository; any other locator unchanged."""
    if paths is None or not locator.startswith("/"):
        return locator
    from custody.capture.transcripts import ChangedFile  # few sources are files

    return paths.find(ChangedFile(locator, None)) or locator


def _format_why_source_number(store: Store, locator: str) -> str | None:
    if locator[:4].lower() != "http":
        return None
    from custody.cite.app.registry_stores import page_source_number  # few lines have a page, and it loads much

    number = page_source_number(store, locator)
    return None if number is None else f"S{number}"


def _trace_to_parent_sessions(store: Store, trace: Trace) -> Iterator[SessionId]:
    """Yield the sessions that started this one, nearest first, where records name them."""
    visited, session = {trace.session}, trace.session
    for _ in range(PARENT_SESSIONS_MAX):
        parent = next((observed.view.parent for observed in list_first_session_views(store, session, 1)), None)
        if parent is None or parent in visited:
            return
        visited.add(parent)
        session = parent
        yield parent


# The call that started a subagent, where the subagent's own calls do not name it. The hooks of Claude Code and Cursor
# report only which subagent made a call. Claude Code names the subagent in the result of the starting call, which is a
# later record; Cursor names it in the event of the subagent's start.


SUBAGENT_TOOLS = frozenset(("Agent", "Task"))
"""Present and former names of the tools that start a subagent."""


def trace_subagent_to_call(store: Store, trace: Trace, subagent: str) -> CallId | None:
    """Return the captured call of the session that started this subagent, if any."""
    for observed in list_captured_calls(store, trace.session):
        call = observed.view
        if call.agent != trace.agent or call.name not in SUBAGENT_TOOLS:
            continue
        if _read_subagent_of_call(store, observed) == subagent:
            return call.id
    return None


def _read_subagent_of_call(store: Store, observed: ObservedView[ToolCall]) -> str | None:
    payload = get_fields(get_fields(store.tables.payload(observed.record)).get("payload"))
    starts = payload.get("hook_event_name") == "subagentStart"
    return get_string(get_fields(payload.get("tool_response")).get("agentId")) or (
        get_string(payload.get("conversation_id")) if starts else None
    )
