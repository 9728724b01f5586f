"""What is kept of a session of Copilot, whichever shape it was read from: one record for each thing that it tells."""

import re
from dataclasses import dataclass, field

from custody.capture.agents.copilot.locations import normalize_slashes
from custody.capture.agents.copilot.tool_calls import answer_of, commits_by, names_of, parse_call_input, plain
from custody.capture.file_probe import is_below
from custody.capture.hook.call_name import copilot_given
from custody.capture.transcripts import ChangedFile, OpenedSessions, TranscriptLine, is_id, valid_id
from custody.capture.typed_field import Fields
from custody.core.wire.canonical import Json

CALL, PROMPT, SESSION = "call", "prompt", "session"
OK, FAILED, RUNNING, ABANDONED = "ok", "failed", "running", "abandoned"

_UUID = re.compile(r"(?:request_)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class SessionHeader:
    """What is known of a session while it is read: its name, time, folder, model and version."""

    session: str
    at: str
    cwd: str | None = None
    model: str | None = None
    version: str | None = None
    opened: OpenedSessions = field(default_factory=OpenedSessions)
    folders: tuple[str, ...] = ()
    """The folders that were open, where nothing else tells where the agent worked."""

    def folder_of(self, name: str) -> str | None:
        """The folder in which a file was named: where the agent worked, else the one of those open that it lies in."""
        return self.cwd or next(
            (folder for folder in self.folders if is_below(normalize_slashes(name), [normalize_slashes(folder)])), None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotCall:
    """A call as a session tells it; ``groups`` are edits of which only new lines are told, by path."""

    id: str
    tool: str
    given: Json
    state: str = OK
    words: str = ""
    started: str | None = None
    model: str | None = None
    subagent: str | None = None
    parent: str | None = None
    groups: tuple[tuple[str, str], ...] = ()


def make_call_record(around: SessionHeader, number: int, named: str, call: CopilotCall) -> TranscriptLine:
    """The record of one call."""
    tool, given = plain(call.tool), parse_call_input(call.given)
    answer = answer_of(call.words, given, failed=call.state != OK)
    told = [path for path, _ in call.groups] or (names_of(tool, given, answer) if call.state in (OK, FAILED) else [])
    said: dict[str, Json] = {
        "type": CALL,
        "tool": tool,
        "given": copilot_given(call.given),
        "state": call.state,
        "words": call.words,
        "started": call.started,
        "model": call.model,
        "groups": [[path, new] for path, new in call.groups],
    }
    return TranscriptLine(
        line=number,
        id=record_id(around.session, named),
        session=around.session,
        at=around.at,
        version=around.version,
        cwd=around.cwd,
        payload={name: value for name, value in said.items() if value},
        calls=[{"id": call.id, "name": tool, **({} if around.cwd is None else {"cwd": around.cwd})}],
        edits=tuple(ChangedFile(name, around.folder_of(name)) for name in dict.fromkeys(told)),
        commits=tuple(commits_by(tool, given, answer)),
        subagent=call.subagent,
        parent_call=call.parent,
        opens=around.opened.opens(around.session, call.model if call.subagent is None else None),
        begun=1,
    )


def make_event_record(around: SessionHeader, number: int, named: str, payload: Fields) -> TranscriptLine:
    """The record of something else: that a session began, or what was typed."""
    spoken: dict[str, Json] = {} if around.model is None else {"model": around.model}
    return TranscriptLine(
        line=number,
        id=record_id(around.session, named),
        session=around.session,
        at=around.at,
        version=around.version,
        cwd=around.cwd,
        payload={**spoken, **payload},
        opens=around.opened.opens(around.session, around.model),
    )


def record_id(session: str, named: str) -> str:
    """The name of a record; one that is no UUID may be that of another session too."""
    return valid_id(named if _UUID.match(named) else f"{session}:{named}")


def session_id(said: str | None, other: str) -> str:
    """A session's name, where it is one that can be kept; else the file's."""
    if said is not None and is_id(said):
        return said
    return other if is_id(other) else "unknown"
