"""Why a line is there: from the line through commits to the tool call, the subagent and what was asked.

Every chain ends somewhere. What is missing on the way is a link of its own that says why it is missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from custody.attribution import Trace, TraceAttribution
from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.context import AttributionContext, FileVersion, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.attribution.wire import Attribution
from custody.core.errors import InputError
from custody.core.ids import CommitSha, PromptId
from custody.core.paths import Lines
from custody.core.view_merge import merge_calls, merge_session
from custody.core.views import Prompt, ToolCall, View
from custody.core.wire.body import digest_text
from custody.core.wire.time import text_from
from custody.git import Commit, Person
from custody.ledger.queries import ConversationTables, call_views, prompts_of_session, prompts_until, session_rows
from custody.ledger.sessions import session_ends
from custody.store import ObservedView, Store
from custody.why.context import change_link, sources_before, standing_link, starter_of
from custody.why.report import (
    AnyLink,
    CallLink,
    ChainCommit,
    EndLink,
    LineLink,
    PromptLink,
    SessionLink,
    SubagentLink,
    WhyReport,
)
from custody.workspace.workspace import Workspace

NS = 1_000_000_000
SECONDS_MAX = 253_402_300_799
"""The last second of the year 9999: a commit may claim any moment."""
CALLS_UP_MAX = 64
"""How many calls upwards a chain is followed."""
PROMPTS_READ_MAX = 20
"""Prompts before a call among which its agent's last one is looked for."""
PROMPTING = frozenset(("prompt", "UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt"))
"""What agents call the event of a prompt, as it stands in a record's key."""

WHOLE = "nothing is missing: the chain ends at what was asked"
UNCAPTURED = "nothing has been captured here"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call as everything that was seen of it says, with the records that show it."""

    call: ToolCall
    records: list[str]


def why(workspace: Workspace, file: str, line: int, *, revision: str | None = None) -> WhyReport:
    """The chain from one line of a file back to what was asked, as far as evidence reaches."""
    repository = workspace.repository
    path = repository.path(file, workspace.folder)
    bare = repository.work_tree is None
    commit = repository.resolve(revision or "HEAD") if revision is not None or bare else None
    # Only lineage knows a path through commits: profile 'document' has none to show.
    with open_attribution(workspace, "lineage") as evidence:
        version = evidence.version(path, commit)
        if not 1 <= line <= len(version.lines):
            raise InputError(f"'{path.display}' has no line {line}", hint=f"it has {len(version.lines):,} line(s)")
        (answer,) = LineAttributor(evidence).of(version, [Lines(line, line)])
        chain = _Chain(evidence, version, answer, BlameReporter(evidence).attribution(answer))
        links = list(chain.links())
        evidence.save()
        gaps = [link.why for link in links if isinstance(link, EndLink)]
        return WhyReport(
            path=path.display,
            line=line,
            revision=commit,
            rules_digest=digest_text(evidence.digest),
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
        """Every link in order; the last says where the chain ends."""
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
            yield EndLink(why=_searched(self._attribution))
            return
        asked = list(_trace_to_prompt(self._evidence.store, trace, self._answer))
        yield from (link for link in asked if not isinstance(link, EndLink))
        if self._answer.story is not None:
            yield sources_before(
                self._evidence.workspace.repository, self._evidence.store, trace, self._answer.story.at_ns
            )
        yield self._session(trace)
        yield standing_link(self._evidence.workspace, self._evidence.store, trace.agent)
        yield from self._change(line)
        gaps = [link for link in asked if isinstance(link, EndLink)]
        yield from gaps or [EndLink(why=WHOLE)]

    def _commits(self, line: int) -> Iterator[ChainCommit]:
        """The commits that the line came through, the latest first."""
        trail = self._answer.trail or self._introduced(line)
        for sha in reversed(trail):
            yield _commit_link(sha, None if sha is None else self._evidence.commit(sha))

    def _change(self, line: int) -> Iterator[AnyLink]:
        """The change that brought the line first, if it is committed."""
        trail = [sha for sha in self._answer.trail or self._introduced(line) if sha is not None]
        if trail:
            yield change_link(self._evidence.store, trail[0])

    def _introduced(self, line: int) -> tuple[CommitSha, ...]:
        """The commit of a line that is older than anything captured: git knows, and one line is one short question."""
        base = self._version.base
        if base is None:
            return ()
        number = self._evidence.find_line_in_base(self._version, line)
        with self._evidence.repository.blame(base, self._version.path, [Lines(number, number)]) as entries:
            return tuple(entry.commit for entry in entries)[:1]

    def _session(self, trace: Trace) -> SessionLink:
        store = self._evidence.store
        rows = [
            row for row in session_rows(store, limit=PROMPTS_READ_MAX, named=trace.session) if row.agent == trace.agent
        ]
        seen = [
            session_end for session_end in session_ends(store, trace.session) if session_end.view.agent == trace.agent
        ]
        session = merge_session(session_end.view for session_end in seen)
        finding = self._answer.finding
        shown_by = finding.candidate.records if isinstance(finding, TraceAttribution) and not seen else ()
        return SessionLink(
            agent=trace.agent,
            session=trace.session,
            model=self._attribution.model_id or (session.model if session else None),
            operator=session.operator if session else None,
            started=text_from(rows[0].first_ns) if rows else None,
            records=_refs(seen) or [str(ref) for ref in shown_by],
        )


def _trace_to_prompt(store: Store, trace: Trace, answer: LineAnswer) -> Iterator[AnyLink]:
    """The call that wrote the line, what it was made inside of, and the prompt that was open."""
    if answer.story is None:
        yield EndLink(why="a trace of another tool tells of the line: it names neither call nor prompt")
        return
    calls: list[_Call] = []
    for link in _upwards(store, trace, answer.call):
        if isinstance(link, _Call):
            calls.append(link)
            yield _call_link(link)
        else:
            yield link
    named = next((call.call.prompt for call in calls if call.call.prompt is not None), None)
    at_ns = calls[-1].call.started_ns if calls else answer.story.at_ns
    yield _prompt(store, trace, named, at_ns)


def _upwards(store: Store, trace: Trace, call: str | None) -> Iterator["_Call | AnyLink"]:
    """A call and those that it was made inside of, with the subagents between them."""
    if call is None:
        yield EndLink(why="the record of the edit names no call")
        return
    met: set[str] = set()
    wanted: str | None = call
    while wanted is not None:
        if wanted in met or len(met) >= CALLS_UP_MAX:
            yield EndLink(why=f"the call '{wanted}' is said to be inside itself")
            return
        met.add(wanted)
        found = _call(store, trace, wanted)
        if found is None:
            yield EndLink(why=_missing_call(store, trace, wanted))
            return
        yield found
        inside, parent = found.call.subagent, found.call.parent
        if inside is not None and parent is None:
            parent = starter_of(store, trace, inside)
        above = None if parent is None else _call(store, trace, parent)
        if inside is not None and (above is None or above.call.subagent != inside):
            yield SubagentLink(id=inside)
            if parent is None:
                yield EndLink(why=f"the call that started the subagent '{inside}' was not captured")
        wanted = parent


def _call(store: Store, trace: Trace, call: str) -> _Call | None:
    seen = [call_view for call_view in call_views(store, trace.session, call) if call_view.view.agent == trace.agent]
    merged = merge_calls(call_view.view for call_view in seen)
    return _Call(merged[0], _refs(seen)) if merged else None


def _missing_call(store: Store, trace: Trace, call: str) -> str:
    if _kept_of(store, trace, "call", call):
        return f"the record of the call '{call}' was erased"
    return f"the call '{call}' was not captured"


def _kept_of(store: Store, trace: Trace, kind: str, name: str) -> list[str]:
    """The records of a call or prompt, also those that say nothing any more."""
    key = ":".join(("event", *(quote(part, safe="") for part in (trace.agent, trace.session, kind, name))))
    return [str(record.ref) for record in store.tables.records_named(key)]


def _prompt(store: Store, trace: Trace, named: PromptId | None, at_ns: int) -> PromptLink | EndLink:
    """The prompt that a call names, else the last captured one that was asked before it."""
    found = _prompt_named(store, trace, named)
    kept = [] if found is not None or named is None else _kept_of(store, trace, "prompt", named)
    if kept:
        return EndLink(why=f"the prompt '{named}' was erased", records=kept)
    found = found or _prompt_before(store, trace, at_ns)
    known = None if found is None else found.view
    if known is None or known.id != named:
        erased = _prompt_erased(store, trace, 0 if known is None else known.at_ns, at_ns)
        if erased is not None:
            return erased
    if found is None:
        return EndLink(why="the prompt was not captured")
    prompt, records = found.view, [str(found.record.ref)]
    if prompt.text.content is None:
        gone = "was withheld by the store that shared it" if _is_withheld(store, found) else "was erased"
        return EndLink(why=f"the prompt '{prompt.id}' {gone}", records=records)
    return PromptLink(
        id=prompt.id,
        at=text_from(prompt.at_ns),
        text=prompt.text.content,
        named=prompt.id == named,
        records=records,
    )


def _is_withheld(store: Store, seen: ObservedView[Prompt]) -> bool:
    return store.tables.outline(seen.record.entry.digest) is not None


def _prompt_named(store: Store, trace: Trace, named: PromptId | None) -> ObservedView[Prompt] | None:
    if named is None:
        return None
    prompts = prompts_of_session(store, trace.session)
    return next((seen for seen in prompts if (seen.view.agent, seen.view.id) == (trace.agent, named)), None)


def _prompt_before(store: Store, trace: Trace, at_ns: int) -> ObservedView[Prompt] | None:
    prompts = prompts_until(store, trace.session, at_ns, PROMPTS_READ_MAX)
    own = [seen for seen in prompts if seen.view.agent == trace.agent]
    return max(own, key=lambda seen: seen.view.at_ns, default=None)


def _prompt_erased(store: Store, trace: Trace, after_ns: int, until_ns: int) -> EndLink | None:
    """That a later prompt of the session was erased, which only its key still tells."""
    for key, ref in ConversationTables(store).erased(after_ns, until_ns):
        family, *parts = map(unquote, key.split(":"))
        if family in ("event", "hook") and parts[:2] == [trace.agent, trace.session] and parts[2] in PROMPTING:
            return EndLink(why=f"the prompt '{parts[3]}' was erased", records=[str(ref)])
    return None


def _call_link(found: _Call) -> CallLink:
    call = found.call
    return CallLink(
        id=call.id,
        name=call.name,
        started=text_from(call.started_ns),
        ended=None if call.ended_ns is None else text_from(call.ended_ns),
        status=call.status.value,
        model=call.model,
        parent=call.parent,
        prompt=call.prompt,
        records=found.records,
    )


def _commit_link(sha: CommitSha | None, commit: Commit | None) -> ChainCommit:
    if commit is None:
        return ChainCommit(commit=sha)
    return ChainCommit(
        commit=sha,
        author=_decode_lossy(commit.author.name),
        at=_moment(commit.author),
        subject=_decode_lossy(commit.subject),
    )


def _decode_lossy(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _moment(person: Person) -> str | None:
    if person.at is None or not 0 <= person.at.seconds <= SECONDS_MAX:
        return None
    return text_from(person.at.seconds * NS)


def _searched(attribution: Attribution) -> str:
    """Why a line has no chain, and what that rests on."""
    searched = attribution.searched
    if searched is None or searched.since is None:
        return UNCAPTURED
    looked = f"looked since {searched.since[:10]} in {searched.records:,} captured state(s)"
    return f"{attribution.reason}; {looked} and {searched.commits:,} commit(s)"


def _refs(seen: Sequence[ObservedView[View]]) -> list[str]:
    return [str(ref) for ref in sorted({view.record.ref for view in seen})]
