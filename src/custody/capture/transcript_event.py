"""A kept record of a transcript as readers begin with it: the session, calls and files that it names."""

from collections.abc import Callable, Iterator, Mapping

from custody.capture.tool_use import ToolUse
from custody.capture.typed_field import Fields, fields, get_string
from custody.core.ids import AgentName, CallId, CommitSha, PromptId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CallStatus, Prompt, Session, Text, ToolCall, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.time import ns_from


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
