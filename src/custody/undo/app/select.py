"""Find the work that a user names: a session, a call or a prompt."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from custody.attribution.app.session_edits import EditSelection
from custody.core.errors import InputError
from custody.core.ids import AgentName, PromptId, SessionId, shorten_session_id
from custody.core.view_merge import merge_call_views
from custody.core.views import TRANSCRIPT, Prompt, ToolCall
from custody.ledger.queries import (
    list_prompts_of_sessions,
    list_recorded_session_ids,
    list_session_rows,
    list_session_views_by_kind,
)
from custody.ledger.sessions import SAME_PROMPT_NS, merge_session_prompts
from custody.store import ObservedView, Store, split_row_batches
from custody.undo.queries import list_calls_by_id

NAMES_SHOWN_MAX = 3
FOUND_MAX = 50
SESSIONS_AT_ONCE = 200

WorkKind = Literal["session", "call", "prompt"]


class NamedWork(Struct, frozen=True):
    """The selected work: a session, or some of its calls; ``id`` is the full id of what was named."""

    kind: WorkKind
    id: str
    selection: EditSelection


class _WorkName(Struct, frozen=True, order=True):
    kind: WorkKind
    agent: AgentName
    session: SessionId
    full: str


def find_named_work(store: Store, name: str, agent: str | None = None) -> NamedWork:
    """Return the work with this id or start of an id; ``InputError`` if there is not exactly one."""
    if not name:
        raise InputError("the name of the work is empty", hint="'custody log' lists the sessions")
    for search in _list_searches(store, name):
        found = sorted({work for work in search if agent in (None, work.agent)})
        if len(found) > 1:
            raise _make_ambiguous_work_error(name, found)
        if found:
            return _select_work(store, found[0])
    of_agent = "" if agent is None else f" of the agent '{agent}'"
    raise InputError(
        f"unknown session, call or prompt '{name[:80]}'{of_agent}",
        hint="'custody log' lists the sessions, 'custody log SESSION --json' the calls and prompts of one",
    )


def _list_searches(store: Store, name: str) -> Iterator[list[_WorkName]]:
    """Yield what has exactly this id, then what starts with it; prompts are read only if nothing else fits."""
    for exact in (True, False):
        yield [*_find_sessions(store, name, exact=exact), *_find_calls(store, name, exact=exact)]
        yield _find_prompts(store, name, exact=exact)


def _find_sessions(store: Store, name: str, *, exact: bool) -> list[_WorkName]:
    rows = (
        list_session_rows(store, limit=FOUND_MAX, named=name)
        if exact
        else list_session_rows(store, limit=FOUND_MAX, starting=name)
    )
    return [_WorkName("session", row.agent, row.session, row.session) for row in rows]


def _find_calls(store: Store, name: str, *, exact: bool) -> list[_WorkName]:
    calls = list_calls_by_id(store, name, exact=exact, limit=FOUND_MAX)
    return [_WorkName("call", call.agent, call.session, call.call) for call in calls]


def _find_prompts(store: Store, name: str, *, exact: bool) -> list[_WorkName]:
    found: list[_WorkName] = []
    for sessions in split_row_batches(list_recorded_session_ids(store), SESSIONS_AT_ONCE):
        prompts = (observed.view for observed in list_prompts_of_sessions(store, sessions))
        found += [
            _WorkName("prompt", prompt.agent, prompt.session, prompt.id)
            for prompt in prompts
            if prompt.id == name or (not exact and prompt.id.startswith(name))
        ]
    return found


def _select_work(store: Store, work: _WorkName) -> NamedWork:
    calls: frozenset[str] | None = None
    if work.kind == "call":
        calls = frozenset((work.full,))
    elif work.kind == "prompt":
        calls = find_prompt_calls(store, work.agent, work.session, PromptId(work.full))
    return NamedWork(work.kind, work.full, EditSelection(work.agent, work.session, calls))


def find_prompt_calls(store: Store, agent: AgentName, session: SessionId, prompt: PromptId) -> frozenset[str]:
    """Return the calls that name a prompt, and those without one that came after it and before the next prompt."""
    views = [
        observed
        for observed in list_session_views_by_kind(store, session, (Prompt, ToolCall))
        if observed.view.agent == agent
    ]
    prompts: list[ObservedView[Any]] = [observed for observed in views if isinstance(observed.view, Prompt)]
    known = {observed.view.id for observed in prompts}
    same = {observed.view.id for observed in prompts if _is_same_prompt(observed, prompt, prompts)}
    times = [int(observed.view.at_ns) for observed in prompts if observed.view.id in same]
    later = (view.at_ns for view in merge_session_prompts(views) if view.id not in same and view.at_ns > max(times))
    next_ns = min(later, default=None)
    calls = merge_call_views(observed.view for observed in views if isinstance(observed.view, ToolCall))
    return frozenset(
        call.id
        for call in calls
        if (call.prompt in same if call.prompt in known else _is_between(call.started_ns, min(times), next_ns))
    )


def _is_same_prompt(observed: ObservedView[Any], prompt: PromptId, prompts: Sequence[ObservedView[Any]]) -> bool:
    """Return whether a view is the prompt itself, or its other recording: a hook's of a transcript's, or reversed."""
    if observed.view.id == prompt:
        return True
    is_transcript = observed.record.entry.kind == TRANSCRIPT
    return any(
        other.view.id == prompt
        and (other.record.entry.kind == TRANSCRIPT) != is_transcript
        and other.view.text.digest == observed.view.text.digest
        and abs(other.view.at_ns - observed.view.at_ns) <= SAME_PROMPT_NS
        for other in prompts
    )


def _is_between(at_ns: int, first_ns: int, next_ns: int | None) -> bool:
    return at_ns >= first_ns and (next_ns is None or at_ns < next_ns)


def _make_ambiguous_work_error(name: str, found: Sequence[_WorkName]) -> InputError:
    ids = sorted({work.session for work in found})
    shown = [
        f"{work.kind} {work.full if work.kind != 'session' else shorten_session_id(work.session, ids)} of {work.agent}"
        f"{'' if work.kind == 'session' else f' in session {shorten_session_id(work.session, ids)}'}"
        for work in found[:NAMES_SHOWN_MAX]
    ]
    more = f" and {len(found) - NAMES_SHOWN_MAX:,} more" if len(found) > NAMES_SHOWN_MAX else ""
    has_one_id = len({work.full for work in found}) == 1
    hint = "pass --agent, or the session" if has_one_id else "pass more of the id"
    return InputError(f"'{name[:80]}' is ambiguous: {', '.join(shown)}{more}", hint=hint)
