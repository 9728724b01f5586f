"""What is kept of a session of Copilot, whichever shape it was read from: one record for each thing that it tells."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from custody.capture.agents.copilot.tool_calls import answer_of, commits_by, names_of, parse_call_input, plain
from custody.capture.hook.call_name import copilot_given
from custody.capture.line_reader import (
    files_below,
    first_lines,
    is_below,
    lines_of,
    read_json_object,
    resolve_trees,
    small_file,
    user_folder,
)
from custody.capture.transcripts import ChangedFile, OpenedSessions, TranscriptLine, is_id, valid_id
from custody.capture.typed_field import Fields, fields, get_string
from custody.core.wire.canonical import Json

# Where VS Code and Copilot CLI keep their sessions, which files those are, and of which folder each is.
# Copilot CLI: ``session-state/<id>/events.jsonl`` in its folder (``<id>.jsonl`` at first), before November 2025
# ``history-session-state/*.json``. VS Code: in ``workspaceStorage/<hash>`` of its user folder, where
# ``workspace.json`` names the folder that was open, chats in ``chatSessions`` and Copilot's own transcripts in
# ``GitHub.copilot-chat/transcripts``; chats of windows without a folder in ``globalStorage/emptyWindowChatSessions``.


SUFFIXES = (".json", ".jsonl")
OWN_FOLDER = ".copilot"
SESSIONS = ("session-state", "history-session-state")
CHATS, TRANSCRIPTS, EMPTY = "chatSessions", "GitHub.copilot-chat/transcripts", "globalStorage/emptyWindowChatSessions"
WORKSPACES, WORKSPACE = "workspaceStorage", "workspace.json"
PROGRAMS = ("Code", "Code - Insiders", "Code - Exploration", "VSCodium")
SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscode-remote")
SCHEMES = frozenset(("file", "vscode-remote"))
LOOKED_AT_MAX = 64 << 20
"""So much of a session that does not say its folder is searched for a work tree's path."""

EVENTS = frozenset(
    "abort assistant.fusion_phase_activity assistant.fusion_phase_completed assistant.fusion_phase_failed"
    " assistant.fusion_phase_started assistant.idle assistant.intent assistant.message assistant.message_delta"
    " assistant.message_start assistant.reasoning assistant.reasoning_delta assistant.server_tool_progress"
    " assistant.streaming_delta assistant.tool_call_delta assistant.turn_end assistant.turn_start assistant.usage"
    " auto_mode_switch.completed auto_mode_switch.requested capabilities.changed command.completed command.execute"
    " command.queued commands.changed elicitation.completed elicitation.requested exit_plan_mode.completed"
    " exit_plan_mode.requested external_tool.completed external_tool.requested factory.run_settled factory.run_started"
    " factory.run_updated hook.end hook.progress hook.start mcp.headers_refresh_completed mcp.headers_refresh_required"
    " mcp.oauth_completed mcp.oauth_required mcp.prompts.list_changed mcp.resources.list_changed"
    " mcp.tools.list_changed mcp_app.tool_call_complete model.call_failure model.call_finished"
    " pending_messages.modified permission.completed permission.requested sampling.completed sampling.requested"
    " session.auto_mode_resolved session.auto_tier_recommendation session.auto_tier_switch_failed"
    " session.autopilot_objective_changed session.background_tasks_changed session.binary_asset session.canvas.closed"
    " session.canvas.opened session.canvas.recorded session.canvas.registry_changed session.canvas.removed"
    " session.canvas.unavailable session.compaction_complete session.compaction_start session.completion_receipt"
    " session.context_changed session.context_cleared session.custom_agents_updated session.custom_notification"
    " session.error session.extensions.attachments_pushed session.extensions_loaded session.fusion_completed"
    " session.fusion_resolved session.fusion_route_failed session.fusion_route_started session.handoff session.idle"
    " session.info session.managed_settings_enforced session.managed_settings_resolved"
    " session.mcp_server_needs_reconnect session.mcp_server_removed session.mcp_server_status_changed"
    " session.mcp_servers_loaded session.mode_changed session.mode_notice_delivered session.model_change"
    " session.permissions_changed session.plan_changed session.remote_steerable_changed session.resume"
    " session.schedule_cancelled session.schedule_created session.schedule_rearmed session.session_limits_changed"
    " session.shutdown session.skills_loaded session.snapshot_rewind session.start session.task_complete"
    " session.title_changed session.todos_changed session.tools_updated session.truncation session.usage_checkpoint"
    " session.usage_info session.usage_record session.warning session.workspace_file_changed"
    " session_limits_exhausted.completed session_limits_exhausted.requested skill.invoked subagent.completed"
    " subagent.configured subagent.deselected subagent.failed subagent.selected subagent.started system.message"
    " system.notification tool.execution_complete tool.execution_partial_result tool.execution_progress"
    " tool.execution_start tool.user_requested tool_search.activated ui.ephemeral_query user.message"
    " user_input.completed user_input.requested".split()
)
"""The events of @github/copilot-sdk 1.0.14 (``generated/session-events.d.ts``), and one more of the CLI 1.0.102.

Another is counted by its name.
"""
_DRIVE = re.compile(r"/?([A-Za-z]):[\\/]")
_DOCUMENT = (b'"responderUsername"', b'"chatMessages"')
"""What stands among the first lines of a chat of VS Code, and of an old session of the CLI, over several lines."""


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's folder of Copilot CLI."""
    return user_folder(environment, "COPILOT_HOME", OWN_FOLDER)


def sessions_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The sessions of the CLI and of VS Code that were in one of these work trees or below it."""
    files = [file for name in SESSIONS for file in sessions_below(home / name)]
    for user in _user_folders(home):
        files += sessions_below(user / EMPTY)
        for workspace in sorted((user / WORKSPACES).glob("*")) if (user / WORKSPACES).is_dir() else ():
            folder = folder_of(workspace)
            if folder is None or is_below(folder, resolve_trees(trees)):
                files += [file for name in (CHATS, TRANSCRIPTS) for file in sessions_below(workspace / name)]
    return [file for file in files if _is_ours(file, trees)]


def sessions_below(place: Path) -> list[Path]:
    """The sessions at or below ``place``; other files of these programs are left out."""
    found = files_below(place, SUFFIXES)
    return [file for file in found if file == place or any(map(is_opening, first_lines(file)))]


def is_opening(data: bytes) -> bool:
    """Whether a line is one of a session's first, in any of its shapes."""
    if any(mark in data for mark in _DOCUMENT):
        return True
    line = read_json_object(data)
    if isinstance(line.get("data"), dict) and "parentId" in line:
        return line.get("type") in EVENTS
    state = fields(line.get("v")) if line.get("kind") == 0 else line
    return isinstance(state.get("requests"), list) or isinstance(state.get("timeline"), list)


def workspace_of(file: Path) -> str | None:
    """The folder that was open in VS Code when a chat or a transcript in its storage was written."""
    above = file.parents
    return next((folder for folder in (folder_of(place) for place in islice(above, 1, 3)) if folder is not None), None)


def folder_of(workspace: Path) -> str | None:
    """The folder that a workspace's storage is tied to; None for several folders, or for none."""
    said = get_string(read_json_object(small_file(workspace / WORKSPACE)).get("folder"))
    parts = urlsplit(said or "")
    folder = unquote(parts.path)
    return folder if parts.scheme in SCHEMES and folder.startswith("/") and "\0" not in folder else None


def normalize_slashes(path: str) -> str:
    r"""A path in one spelling, whichever system wrote it.

    >>> normalize_slashes(r"C:\shop\a.py"), normalize_slashes("/c:/shop/a.py")
    ('c:/shop/a.py', 'c:/shop/a.py')
    >>> normalize_slashes(r"\workspaces\shop\a.py"), normalize_slashes(r"/shop/a\b.py")
    ('/workspaces/shop/a.py', '/shop/a\\b.py')
    """
    drive = _DRIVE.match(path)
    if drive is not None:
        return f"{drive[1].lower()}:/" + path[drive.end() :].replace("\\", "/")
    return path.replace("\\", "/") if path.startswith("\\") and "/" not in path else path


def _is_ours(file: Path, trees: Sequence[str]) -> bool:
    """By the folder that the session says; where it says none, by whether it speaks of a file in a work tree."""
    told = workspace_of(file)
    if told is None:
        told = next((cwd for cwd in map(_cwd_in, first_lines(file)) if cwd is not None), None)
    return is_below(told, resolve_trees(trees)) if told is not None else _speaks_of(file, trees)


def _cwd_in(data: bytes) -> str | None:
    if b'"cwd"' not in data:
        return None
    said = fields(read_json_object(data).get("data"))
    return get_string(fields(said.get("context")).get("cwd")) or get_string(said.get("cwd"))


def _speaks_of(file: Path, trees: Sequence[str]) -> bool:
    marks = [f"{tree.rstrip('/')}/".encode("utf-8", "surrogateescape") for tree in trees]
    looked_at = 0
    try:
        for line in lines_of(file):
            looked_at += line.size
            if any(mark in line.data for mark in marks):
                return True
            if looked_at > LOOKED_AT_MAX:
                return False
    except OSError:
        return True  # named when it is read
    return False


def _user_folders(home: Path) -> Iterator[Path]:
    """The folders in which VS Code keeps a user's things, on this machine or for one who connects to it."""
    own = home.parent if home.name == OWN_FOLDER else Path("~").expanduser()
    for program in PROGRAMS:
        yield own / ".config" / program / "User"
        yield own / "Library" / "Application Support" / program / "User"
    for server in SERVERS:
        yield own / server / "data" / "User"


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
