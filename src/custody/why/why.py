"""Trace a line through its commits to the tool call, the subagent and the prompt.

Every chain ends with an ``EndLink``; each gap on the way is an ``EndLink`` with its reason.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from custody.attribution import Trace, TraceAttribution
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.commit_messages import is_named_by_commit
from custody.attribution.app.context import AttributionContext, FileVersion, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.app.removals import LineChanges
from custody.attribution.wire import Attribution
from custody.core.errors import InputError
from custody.core.ids import CommitSha, PromptId
from custody.core.paths import Lines
from custody.core.plural import count_noun
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import ToolCall, View
from custody.core.wire.body import format_digest
from custody.core.wire.time import format_timestamp
from custody.git import Commit
from custody.ledger.queries import (
    find_first_session_prompt,
    find_session_call,
    list_session_rows,
)
from custody.ledger.sessions import read_session_ends
from custody.store import ObservedView, Store
from custody.why.context import (
    make_why_change_link,
    make_why_score_link,
    make_why_sources_link,
    make_why_tests_link,
    trace_subagent_to_call,
)
from custody.why.prompts import (
    PROMPTS_READ_MAX,
    PromptFinding,
    find_call_prompt,
    list_event_records,
    make_prompt_finding,
)
from custody.why.report import (
    AnyLink,
    CallLink,
    ChainCommit,
    EndLink,
    LineLink,
    PromptLink,
    SessionLink,
    SubagentLink,
    TestsLink,
    WhyReport,
)
from custody.workspace.revisions import format_author_time
from custody.workspace.workspace import Workspace

NS_PER_SECOND = 1_000_000_000
PARENT_CALLS_MAX = 64

WHOLE = "complete: traced back to the prompt"
UNCAPTURED = "nothing has been captured here"


class _Call(Struct, frozen=True):
    """A call merged from all its views, with their records."""

    call: ToolCall
    records: list[str]


def why(workspace: Workspace, file: str, line: int, *, revision: str | None = None) -> WhyReport:
    """Return the chain from one line of a file back to its prompt, as far as evidence reaches."""
    repository = workspace.repository
    path = repository.path(file, workspace.folder)
    bare = repository.work_tree is None
    commit = repository.resolve(revision or "HEAD") if revision is not None or bare else None
    # Only profile 'lineage' knows the commits that a line came through.
    with open_attribution(workspace, "lineage") as evidence:
        report = trace_line(evidence, evidence.version(path, commit), line)
        evidence.save()
        return report


def trace_line(evidence: AttributionContext, version: FileVersion, line: int) -> WhyReport:
    """Return the chain from one line of a version back to its prompt."""
    if not 1 <= line <= len(version.lines):
        hint = f"the file has {count_noun(len(version.lines), 'line')}"
        raise InputError(f"'{version.path.display}' has no line {line}", hint=hint)
    (answer,) = LineAttributor(evidence).of(version, [Lines(line, line)])
    changes = LineChanges(evidence, version, commits=True)
    chain = _Chain(evidence, version, answer, BlameReporter(evidence).attribution(answer, changes))
    links = list(chain.links())
    gaps = [link.why for link in links if isinstance(link, EndLink)]
    return WhyReport(
        path=version.path.display,
        line=line,
        revision=version.commit,
        rules_digest=format_digest(evidence.digest),
        chain=links,
        ends="; ".join(gaps),
        notes=list(evidence.history.searched.limits),
    )


class _Chain:
    """The links from one answer backwards."""

    def __init__(
        self, evidence: AttributionContext, version: FileVersion, answer: LineAnswer, attribution: Attribution
    ) -> None:
        self._evidence = evidence
        self._version = version
        self._answer = answer
        self._attribution = attribution

    def links(self) -> Iterator[AnyLink]:
        """Yield every link in order, its ends last."""
        line = self._answer.lines.first
        yield LineLink(
            path=self._version.path.display,
            line=line,
            text=self._version.texts[line - 1],
            attribution=self._attribution,
            records=sorted({record for signal in self._attribution.evidence for record in signal.records}),
        )
        yield from self._commits(line)
        trace = self._answer.trace
        if trace is None:
            yield EndLink(why=_explain_missing_chain(self._attribution))
            return
        path_to_prompt = list(_trace_line_to_prompt(self._evidence.store, trace, self._answer))
        yield from (link for link in path_to_prompt if not isinstance(link, EndLink))
        if self._answer.story is not None:
            yield make_why_sources_link(
                self._evidence.workspace.repository, self._evidence.store, trace, self._answer.story.at_ns
            )
            yield self._tests(trace)
        yield self._session(trace)
        yield make_why_score_link(self._evidence.workspace, self._evidence.store, trace.agent)
        yield from self._change(line)
        gaps = [link for link in path_to_prompt if isinstance(link, EndLink)]
        yield from gaps or [EndLink(why=WHOLE)]

    def _commits(self, line: int) -> Iterator[ChainCommit]:
        """Yield the commits that the line came through, latest first."""
        trail = self._answer.trail or self._blame_introducing_commit(line)
        for sha in reversed(trail):
            yield _make_why_commit_link(sha, None if sha is None else self._evidence.commit(sha))

    def _change(self, line: int) -> Iterator[AnyLink]:
        """Yield the change that first added the line, if it is committed."""
        trail = [sha for sha in self._answer.trail or self._blame_introducing_commit(line) if sha is not None]
        if trail:
            yield make_why_change_link(self._evidence.store, trail[0])

    def _blame_introducing_commit(self, line: int) -> tuple[CommitSha, ...]:
        """Return the commit of a line that is older than anything captured, by git blame of that line."""
        base = self._version.base
        if base is None:
            return ()
        number = self._evidence.find_line_in_base(self._version, line)
        with self._evidence.repository.blame(base, self._version.path, [Lines(number, number)]) as entries:
            return tuple(entry.commit for entry in entries)[:1]

    def _tests(self, trace: Trace) -> TestsLink:
        """Return whether the file was tested before the line's first commit, or until now."""
        added = next((sha for sha in self._answer.trail if sha is not None), None)
        commit = None if added is None else self._evidence.commit(added)
        made = None if commit is None else commit.committer.at
        until_ns = None if made is None else made.seconds * NS_PER_SECOND
        return make_why_tests_link(self._evidence.workspace, self._evidence.store, trace, self._version.path, until_ns)

    def _session(self, trace: Trace) -> SessionLink:
        store = self._evidence.store
        rows = [
            row
            for row in list_session_rows(store, limit=PROMPTS_READ_MAX, named=trace.session)
            if row.agent == trace.agent
        ]
        session_ends = [
            session_end
            for session_end in read_session_ends(store, trace.session)
            if session_end.view.agent == trace.agent
        ]
        session = merge_session_views(session_end.view for session_end in session_ends)
        finding = self._answer.finding
        fallback = finding.candidate.records if isinstance(finding, TraceAttribution) and not session_ends else ()
        return SessionLink(
            agent=trace.agent,
            session=trace.session,
            model=self._attribution.model_id or (session.model if session else None),
            operator=session.operator if session else None,
            started=format_timestamp(rows[0].first_ns) if rows else None,
            records=_list_why_record_refs(session_ends) or [str(ref) for ref in fallback],
        )


def _trace_line_to_prompt(store: Store, trace: Trace, answer: LineAnswer) -> Iterator[AnyLink]:
    """Yield the call that wrote the line, its parent calls and subagents, and the prompt."""
    if is_named_by_commit(answer):
        yield EndLink(why="only its commit names the agent; no session of it was captured here")
        return
    if answer.story is None:
        prompt = find_first_session_prompt(store, trace.agent, trace.session)
        if prompt is not None and prompt.view.text.content is not None:
            at, record = format_timestamp(prompt.view.at_ns), str(prompt.record.ref)
            yield PromptLink(id=prompt.view.id, at=at, text=prompt.view.text.content, named=True, records=[record])
            return
        yield EndLink(why="known only from another tool's trace, which names no call or prompt")
        return
    calls: list[_Call] = []
    for link in _trace_call_to_parents(store, trace, answer.call):
        if isinstance(link, _Call):
            calls.append(link)
            yield _make_why_call_link(link)
        else:
            yield link
    named = next((call.call.prompt for call in calls if call.call.prompt is not None), None)
    at_ns = calls[-1].call.started_ns if calls else answer.story.at_ns
    yield _make_why_prompt_link(store, trace, named, at_ns)


class LinePrompt(Struct, frozen=True):
    """The calls that led to lines, the one that wrote them first, and the prompt behind them."""

    calls: tuple[ToolCall, ...]
    prompt: PromptFinding


def find_line_prompt(store: Store, trace: Trace, answer: LineAnswer) -> LinePrompt:
    """Return the call that wrote the lines of an answer, its parent calls, and the prompt behind them."""
    if answer.story is None:
        if is_named_by_commit(answer):
            return LinePrompt((), PromptFinding("no-session"))
        first = find_first_session_prompt(store, trace.agent, trace.session)
        return LinePrompt((), PromptFinding("not-captured") if first is None else make_prompt_finding(store, first))
    links = _trace_call_to_parents(store, trace, answer.call)
    calls = tuple(link.call for link in links if isinstance(link, _Call))
    named = next((call.prompt for call in calls if call.prompt is not None), None)
    at_ns = calls[-1].started_ns if calls else answer.story.at_ns
    return LinePrompt(calls, find_call_prompt(store, trace, named, at_ns))


def _trace_call_to_parents(store: Store, trace: Trace, call: str | None) -> Iterator["_Call | AnyLink"]:
    """Yield a call and its parents, with the subagents between them."""
    if call is None:
        yield EndLink(why="the record of the edit names no call")
        return
    visited: set[str] = set()
    call_id: str | None = call
    while call_id is not None:
        if call_id in visited or len(visited) >= PARENT_CALLS_MAX:
            yield EndLink(why=f"the call '{call_id}' is recorded as its own parent")
            return
        visited.add(call_id)
        current = _read_chain_call(store, trace, call_id)
        if current is None:
            yield EndLink(why=_explain_missing_call(store, trace, call_id))
            return
        yield current
        subagent, parent = current.call.subagent, current.call.parent
        if subagent is not None and parent is None:
            parent = trace_subagent_to_call(store, trace, subagent)
        above = None if parent is None else _read_chain_call(store, trace, parent)
        if subagent is not None and (above is None or above.call.subagent != subagent):
            yield SubagentLink(id=subagent)
            if parent is None:
                yield EndLink(why=f"the call that started the subagent '{subagent}' was not captured")
        call_id = parent


def _read_chain_call(store: Store, trace: Trace, call: str) -> _Call | None:
    views = [view for view in find_session_call(store, trace.session, call) if view.view.agent == trace.agent]
    merged = merge_call_views(view.view for view in views)
    return _Call(merged[0], _list_why_record_refs(views)) if merged else None


def _explain_missing_call(store: Store, trace: Trace, call: str) -> str:
    if list_event_records(store, trace, "call", call):
        return f"the record of the call '{call}' was erased"
    return f"the call '{call}' was not captured"


def _make_why_prompt_link(store: Store, trace: Trace, named: PromptId | None, at_ns: int) -> PromptLink | EndLink:
    """Return the prompt that a call names, else the last captured one before it, or the reason why there is none."""
    finding = find_call_prompt(store, trace, named, at_ns)
    if finding.prompt is None or finding.prompt.text.content is None:
        return EndLink(why=finding.describe_gap(), records=list(finding.records))
    return PromptLink(
        id=finding.prompt.id,
        at=format_timestamp(finding.prompt.at_ns),
        text=finding.prompt.text.content,
        named=finding.is_named,
        records=list(finding.records),
    )


def _make_why_call_link(merged: _Call) -> CallLink:
    call = merged.call
    return CallLink(
        id=call.id,
        name=call.name,
        started=format_timestamp(call.started_ns),
        ended=None if call.ended_ns is None else format_timestamp(call.ended_ns),
        status=call.status.value,
        model=call.model,
        parent=call.parent,
        prompt=call.prompt,
        records=merged.records,
    )


def _make_why_commit_link(sha: CommitSha | None, commit: Commit | None) -> ChainCommit:
    if commit is None:
        return ChainCommit(commit=sha)
    return ChainCommit(
        commit=sha,
        author=_decode_chain_commit_text(commit.author.name),
        at=format_author_time(commit.author),
        subject=_decode_chain_commit_text(commit.subject),
    )


def _decode_chain_commit_text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _explain_missing_chain(attribution: Attribution) -> str:
    """Return why a line has no chain, and what was searched."""
    if attribution.said_by:
        said = attribution.said_by[0]
        return f"{said.person} recorded it on {said.at[:10]}" + (f": {said.message}" if said.message else "")
    searched = attribution.searched
    if searched is None or searched.since is None:
        return UNCAPTURED
    extent = f"{count_noun(searched.records, 'snapshot')} and {count_noun(searched.commits, 'commit')}"
    return f"{attribution.reason}; searched {extent} since {searched.since[:10]}"


def _list_why_record_refs(views: Sequence[ObservedView[View]]) -> list[str]:
    return [str(ref) for ref in sorted({view.record.ref for view in views})]
