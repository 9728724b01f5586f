"""Events as every agent's reader begins with them: hook events, transcript records, calls that wait for results."""

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from custody.capture.tool_use import ToolUse
from custody.capture.typed_field import Fields, fields, get_string
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, Text, ToolCall, View
from custody.core.wire.event import CallReference, HookEvent, TranscriptEvent
from custody.core.wire.time import ns_from

NS_PER_MS = 1_000_000
DURATION_MS_MAX = 30 * 24 * 3600 * 1000
"""A call that claims to have taken longer than a month says nothing about its start."""

S = TypeVar("S", bound="ObservedHookEvent")


class ObservedHookEvent:
    """A hook event with what every reader asks of it; each adds what its own agent's fields say."""

    def __init__(self, event: HookEvent, session: str, said: Fields) -> None:
        self.event = event
        self.said = said
        self.agent = AgentName(event.agent)
        self.session = SessionId(session)
        self.at_ns = ns_from(event.at)
        self.head = None if event.head is None else CommitSha(event.head)
        self.call = None if event.call is None else CallId(event.call)
        self.tool = get_string(said.get("tool_name")) or ""
        self.model: str | None = None
        self.subagent: str | None = None
        self.prompt: PromptId | None = None

    @property
    def folder(self) -> str | None:
        """The folder in which the agent works."""
        return self.event.folder or get_string(self.said.get("cwd"))

    def use(self, call: CallId, tool: str) -> ToolUse:
        """A call of ``tool`` that the event reports; its agent's reader adds the rest."""
        return ToolUse(
            agent=self.agent,
            session=self.session,
            call=call,
            at_ns=self.at_ns,
            tool=tool,
            revision=self.head,
            locate=self.path,
        )

    def path(self, named: object) -> RepoPath | None:
        """A path of the repository; None for a path outside it, or for anything else."""
        return locate_repo_path(self.event, named)

    def begun(self, model: str | None) -> Session:
        """The session, as it began or goes on, under the model that speaks in it now."""
        return Session(
            agent=self.agent,
            id=self.session,
            started_ns=self.at_ns,
            revision=self.head,
            worktree=self.event.worktree,
            model=model,
        )

    def speaks(self, model: str | None) -> Session:
        """The session, in which ``model`` speaks from now on."""
        return Session(agent=self.agent, id=self.session, started_ns=self.at_ns, model=model)

    def typed(self, asked: Text, named: PromptId | None = None) -> Prompt:
        """What a person typed, under the name that the agent gives it."""
        return Prompt(self.agent, self.session, named or PromptId(self.event.id), self.at_ns, asked)

    def called(
        self,
        call: CallId,
        status: CallStatus,
        *,
        tool: str | None = None,
        about: str | None = None,
        took_ns: int = 0,
        parent: str | None = None,
    ) -> ToolCall:
        """The call that the event reports, as it began or ended."""
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

    def ended(self) -> Session:
        """The session, which ends here."""
        return Session(agent=self.agent, id=self.session, started_ns=self.at_ns, ended_ns=self.at_ns)


def session_end(seen: ObservedHookEvent) -> Iterator[View]:
    """The end of the session; that of a subagent is not one."""
    if seen.subagent is None:
        yield seen.ended()


def views_by(
    event: HookEvent,
    readers: Mapping[str, Callable[[S], Iterator[View]]],
    make: Callable[[HookEvent, str, Fields], S],
    name: str | None = None,
) -> tuple[View, ...]:
    """The views that one hook event gives; none without a session or for an event that says nothing of its own.

    ``name`` is the event's name in the table of readers, where the agent spells it in several ways.
    """
    read = readers.get(event.event if name is None else name)
    if read is None or event.session is None or not isinstance(event.payload, dict):
        return ()
    return tuple(read(make(event, event.session, event.payload)))


def duration_ns(said: object) -> int:
    """How long a call took that reports milliseconds; 0 where that says nothing about its start."""
    return int(said * NS_PER_MS) if isinstance(said, int | float) and 0 <= said <= DURATION_MS_MAX else 0


def prompt_id(asked: str) -> PromptId:
    """The name of a prompt that its hook does not give: the same words in one session are the same prompt."""
    return PromptId("content-" + hashlib.sha256(asked.strip().encode("utf-8", "surrogatepass")).hexdigest()[:32])


def locate_repo_path(event: HookEvent, named: object) -> RepoPath | None:
    """A path of the repository for a path as the agent wrote it; None for one outside it, or that is no path."""
    name, root = get_string(named), event.worktree
    if name is None or root is None or name[1:2] == ":":
        return None
    whole = _real(event, name)
    if not whole.startswith(root.rstrip("/") + "/"):
        return None
    try:
        return RepoPath.of(whole[len(root.rstrip("/")) + 1 :])
    except InputError:
        return None  # it leaves the repository: nothing of ours


def _real(event: HookEvent, name: str) -> str:
    """The path where it really is, as far as the hook saw: below the agent's folder, links on the way resolved."""
    given, folder = get_string(fields(event.payload).get("cwd")), event.folder
    if folder is None:
        return posixpath.normpath(name)
    if given is not None and name.startswith(given.rstrip("/") + "/"):
        name = name[len(given.rstrip("/")) + 1 :]
    return posixpath.normpath(posixpath.join(folder, name))


# A kept record of a transcript as readers begin with it: the session, calls and files that it names.


def session_of(event: TranscriptEvent, model: str | None, revision: CommitSha | None = None) -> Session:
    """The session of a record; a subagent's model is not the session's."""
    return Session(
        agent=AgentName(event.agent),
        id=SessionId(event.session),
        started_ns=ns_from(event.at),
        revision=revision,
        worktree=event.worktree,
        model=None if event.subagent is not None else model,
    )


def record_views(
    event: TranscriptEvent,
    readers: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]],
    model: str | None,
    revision: CommitSha | None = None,
) -> tuple[View, ...]:
    """The views that one record gives, by the type that it names; first its session, where it opens one."""
    said = fields(event.payload)
    read = readers.get(get_string(said.get("type")) or "")
    opening = (session_of(event, model, revision),) if event.opens else ()
    return (*opening, *(read(event, said) if read else ()))


def prompt_view(event: TranscriptEvent, named: str, asked: Text) -> Prompt:
    """What a person typed, under the agent's name for it."""
    return Prompt(AgentName(event.agent), SessionId(event.session), PromptId(named), ns_from(event.at), asked)


def call_view(
    event: TranscriptEvent,
    made: CallReference,
    status: CallStatus,
    *,
    prompt: PromptId | None = None,
    model: str | None = None,
    about: str | None = None,
) -> ToolCall:
    """A call that the record reports, as it began or ended; a call that no line named is called ``?``."""
    at_ns = ns_from(event.at)
    return ToolCall(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        id=CallId(made.id),
        name="" if made.name == "?" else made.name,
        started_ns=at_ns,
        ended_ns=None if status is CallStatus.RUNNING else at_ns,
        status=status,
        parent=None if event.parent_call is None else CallId(event.parent_call),
        prompt=prompt,
        subagent=event.subagent,
        model=model,
        about=about,
    )


def path_in(event: TranscriptEvent, named: object) -> RepoPath | None:
    """The file of the repository that a name in the record stands for, as it was found when the record was imported."""
    path = event.paths.get(named) if isinstance(named, str) else None
    return None if path is None else RepoPath.of(path)


def use_of(event: TranscriptEvent, made: CallReference) -> ToolUse:
    """A call that the record reports; its agent's reader adds the rest."""
    return ToolUse(
        agent=AgentName(event.agent),
        session=SessionId(event.session),
        call=CallId(made.id),
        at_ns=ns_from(event.at),
        tool=made.name,
        locate=lambda named: path_in(event, named),
    )


def bare_use(agent: AgentName, tool: str = "") -> ToolUse:
    """A call that is read only for the names in it: it is of no session, and finds no files."""
    return ToolUse(agent=agent, session=SessionId(""), call=CallId(""), at_ns=0, tool=tool, locate=lambda _named: None)


# The calls of a transcript that wait for their results.


PENDING_MAX = 1000
PENDING_BYTES_MAX = 64 * 1024 * 1024
"""Calls that wait for their results: more than ever run at once; older ones are forgotten."""


class PendingCalls:
    """Calls that wait for their results, as many as memory allows."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[dict[str, Any], int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._calls)

    def put(self, call: str, made: dict[str, Any], size: int) -> None:
        """Remember a call whose line has ``size`` bytes."""
        self.pop(call)
        self._calls[call] = (made, size)
        self._bytes += size
        while len(self._calls) > PENDING_MAX or self._bytes > PENDING_BYTES_MAX:
            self.pop(next(iter(self._calls)))

    def get(self, call: str) -> dict[str, Any] | None:
        """The call, which goes on waiting."""
        return self._calls.get(call, (None, 0))[0]

    def pop(self, call: str) -> dict[str, Any] | None:
        """The call, which waits no longer."""
        made, size = self._calls.pop(call, (None, 0))
        self._bytes -= size
        return made
