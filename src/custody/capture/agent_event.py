"""Events in the form that every agent's reader starts from: hook events, transcript records, calls without results."""

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from custody.capture.tool_use import ToolUse
from custody.capture.typed_field import Fields, get_fields, get_string
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, Text, ToolCall, View
from custody.core.wire.event import CallReference, HookEvent, TranscriptEvent
from custody.core.wire.time import parse_timestamp

NS_PER_MS = 1_000_000
DURATION_MS_MAX = 30 * 24 * 3600 * 1000
"""A longer duration is invalid, so it gives no start time."""

S = TypeVar("S", bound="ObservedHookEvent")


class ObservedHookEvent:
    """A hook event with the fields that every reader needs; each agent's subclass adds its own."""

    def __init__(self, event: HookEvent, session: str, payload: Fields) -> None:
        self.event = event
        self.payload = payload
        self.agent = AgentName(event.agent)
        self.session = SessionId(session)
        self.at_ns = parse_timestamp(event.at)
        self.head = None if event.head is None else CommitSha(event.head)
        self.call = None if event.call is None else CallId(event.call)
        self.tool = get_string(payload.get("tool_name")) or ""
        self.model: str | None = None
        self.subagent: str | None = None
        self.prompt: PromptId | None = None

    @property
    def folder(self) -> str | None:
        """The folder in which the agent works."""
        return self.event.folder or get_string(self.payload.get("cwd"))

    def use(self, call: CallId, tool: str) -> ToolUse:
        """Return a call of ``tool`` that the event reports; its agent's reader adds the rest."""
        return ToolUse(
            agent=self.agent,
            session=self.session,
            call=call,
            at_ns=self.at_ns,
            tool=tool,
            revision=self.head,
            locate=self.path,
            cwd=self.folder,
            root=self.event.worktree,
        )

    def path(self, name: object) -> RepoPath | None:
        """Return a path of the repository; None for a path outside it, or for any other value."""
        return locate_repo_path(self.event, name)

    def to_session_start(self, model: str | None) -> Session:
        """Return the session as it starts or continues, with its current model."""
        return Session(
            agent=self.agent,
            id=self.session,
            started_ns=self.at_ns,
            revision=self.head,
            worktree=self.event.worktree,
            model=model,
        )

    def to_model_change(self, model: str | None) -> Session:
        """Return the session with ``model`` as its current model."""
        return Session(agent=self.agent, id=self.session, started_ns=self.at_ns, model=model)

    def to_prompt(self, prompt: Text, name: PromptId | None = None) -> Prompt:
        """Return a prompt under the agent's id for it, else under the event's id."""
        return Prompt(self.agent, self.session, name or PromptId(self.event.id), self.at_ns, prompt)

    def to_tool_call(
        self,
        call: CallId,
        status: CallStatus,
        *,
        tool: str | None = None,
        about: str | None = None,
        took_ns: int = 0,
        parent: str | None = None,
    ) -> ToolCall:
        """Return the call that the event reports, with this status."""
        running = status is CallStatus.RUNNING
        return ToolCall(
            agent=self.agent,
            session=self.session,
            id=call,
            name=self.tool if tool is None else tool,
            started_ns=self.at_ns if running else self.at_ns - took_ns,
            ended_ns=None if running else self.at_ns,
            status=status,
            parent=None if parent is None else CallId(parent),
            prompt=self.prompt,
            subagent=self.subagent,
            model=self.model,
            about=about,
        )

    def to_session_end(self) -> Session:
        """Return the session with its end."""
        return Session(agent=self.agent, id=self.session, started_ns=self.at_ns, ended_ns=self.at_ns)


def read_session_start(hook: ObservedHookEvent) -> Iterator[View]:
    """Yield the session that starts here; a subagent's model is not the session's."""
    yield hook.to_session_start(hook.model if hook.subagent is None else None)


def read_session_end(hook: ObservedHookEvent) -> Iterator[View]:
    """Yield the end of the session; nothing for a subagent's."""
    if hook.subagent is None:
        yield hook.to_session_end()


def dispatch_hook_event(
    event: HookEvent,
    readers: Mapping[str, Callable[[S], Iterator[View]]],
    make: Callable[[HookEvent, str, Fields], S],
    name: str | None = None,
) -> tuple[View, ...]:
    """Return the views of one hook event; none without a session or for an event without a reader.

    ``name`` is the event's name in the table of readers, for agents that spell it in several ways.
    """
    read = readers.get(event.event if name is None else name)
    if read is None or event.session is None or not isinstance(event.payload, dict):
        return ()
    return tuple(read(make(event, event.session, event.payload)))


def parse_call_duration_ns(value: object) -> int:
    """Return a call's duration, reported in milliseconds; 0 for an invalid one."""
    return int(value * NS_PER_MS) if isinstance(value, int | float) and 0 <= value <= DURATION_MS_MAX else 0


def prompt_id_from_text(prompt: str) -> PromptId:
    """Return the id of a prompt that its hook does not name: the same text in one session is the same prompt."""
    return PromptId("content-" + hashlib.sha256(prompt.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32])


def locate_repo_path(event: HookEvent, value: object) -> RepoPath | None:
    """Return the path of the repository for a path as the agent wrote it; None outside it, or for any other value."""
    name, root = get_string(value), event.worktree
    if name is None or root is None or name[1:2] == ":":
        return None
    whole = _resolve_agent_path(event, name)
    if not whole.startswith(root.rstrip("/") + "/"):
        return None
    try:
        return RepoPath.of(whole[len(root.rstrip("/")) + 1 :])
    except InputError:
        return None  # outside the repository


def _resolve_agent_path(event: HookEvent, name: str) -> str:
    """Return the real path: relative to the agent's folder, with links resolved as the hook reported them."""
    cwd, folder = get_string(get_fields(event.payload).get("cwd")), event.folder
    if folder is None:
        return posixpath.normpath(name)
    if cwd is not None and name.startswith(cwd.rstrip("/") + "/"):
        name = name[len(cwd.rstrip("/")) + 1 :]
    return posixpath.normpath(posixpath.join(folder, name))


# Records of transcripts: the session, calls and files that they name.


def session_from_transcript_event(
    event: TranscriptEvent, model: str | None, revision: CommitSha | None = None
) -> Session:
    """Return the session of a record; a subagent's model is not the session's."""
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=parse_timestamp(event.at),
        revision=revision,
        worktree=event.worktree,
        model=None if event.subagent is not None else model,
    )


def dispatch_transcript_event(
    event: TranscriptEvent,
    readers: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]],
    model: str | None,
    revision: CommitSha | None = None,
) -> tuple[View, ...]:
    """Return the views of one record, by its type; the session comes first if the record opens one."""
    fields = get_fields(event.payload)
    read = readers.get(get_string(fields.get("type")) or "")
    opening = (session_from_transcript_event(event, model, revision),) if event.opens else ()
    return (*opening, *(read(event, fields) if read else ()))


def prompt_view(event: TranscriptEvent, name: str, prompt: Text) -> Prompt:
    """Return a prompt under the agent's id for it."""
    return Prompt(AgentName(event.agent), SessionId(event.session), PromptId(name), parse_timestamp(event.at), prompt)


def call_view(
    event: TranscriptEvent,
    reference: CallReference,
    status: CallStatus,
    *,
    prompt: PromptId | None = None,
    model: str | None = None,
    about: str | None = None,
) -> ToolCall:
    """Return a call that the record reports, with this status; a call without a known name is called ``?``."""
    at_ns = parse_timestamp(event.at)
    return ToolCall(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=CallId(reference.id),
        name="" if reference.name == "?" else reference.name,
        started_ns=at_ns,
        ended_ns=None if status is CallStatus.RUNNING else at_ns,
        status=status,
        parent=None if event.parent_call is None else CallId(event.parent_call),
        prompt=prompt,
        subagent=event.subagent,
        model=model,
        about=about,
    )


def locate_transcript_path(event: TranscriptEvent, name: object) -> RepoPath | None:
    """Return the repository's file for a name in the record, as the import resolved it."""
    path = event.paths.get(name) if isinstance(name, str) else None
    return None if path is None else RepoPath.of(path)


def to_tool_use(event: TranscriptEvent, reference: CallReference) -> ToolUse:
    """Return a call that the record reports; its agent's reader adds the rest."""
    return ToolUse(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        call=CallId(reference.id),
        at_ns=parse_timestamp(event.at),
        tool=reference.name,
        locate=lambda name: locate_transcript_path(event, name),
        cwd=reference.cwd,
        root=event.worktree,
    )


def empty_tool_use(agent: AgentName, tool: str = "") -> ToolUse:
    """Return a call without a session, to read the names in it; it resolves no paths."""
    return ToolUse(agent=agent, session=SessionId(""), call=CallId(""), at_ns=0, tool=tool, locate=lambda _named: None)


# Calls of a transcript that wait for their results.


PENDING_MAX = 1000
PENDING_BYTES_MAX = 64 * 1024 * 1024
"""More calls than ever run at once; the oldest are dropped beyond these limits."""


class PendingCalls:
    """Calls that wait for their results, bounded in number and bytes."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[dict[str, Any], int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: str, entry: dict[str, Any], size: int) -> None:
        """Remember a call whose line has ``size`` bytes."""
        self.pop(call)
        self._calls[call] = (entry, size)
        self._bytes += size
        while len(self._calls) > PENDING_MAX or self._bytes > PENDING_BYTES_MAX:
            self.pop(next(iter(self._calls)))

    def get(self, call: str) -> dict[str, Any] | None:
        """Return the call and keep it."""
        return self._calls.get(call, (None, 0))[0]

    def pop(self, call: str) -> dict[str, Any] | None:
        """Return the call and drop it."""
        entry, size = self._calls.pop(call, (None, 0))
        self._bytes -= size
        return entry
