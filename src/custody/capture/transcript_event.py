"""A kept record of a transcript as readers begin with it: the session, calls and files that it names."""

from custody.capture.tool_use import ToolUse
from custody.core.ids import AgentName, CallId, CommitSha, SessionId
from custody.core.paths import RepoPath
from custody.core.views import Session
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
