"""Records of a Copilot session, whatever shape it was read from: one for each call, prompt or session start."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from custody.capture.agents.copilot.tool_calls import (
    list_changed_paths,
    normalize_tool_name,
    parse_call_input,
    parse_tool_output,
    read_shell_run,
)
from custody.capture.command_facts import find_printed_commits
from custody.capture.hook.call_name import parse_copilot_input
from custody.capture.line_reader import (
    is_path_in_trees,
    list_transcript_files,
    list_vscode_user_folders,
    locate_agent_folder,
    peek_transcript_lines,
    read_json_object,
    read_jsonl_lines,
    read_small_agent_file,
    resolve_work_trees,
)
from custody.capture.transcripts import ChangedFile, OpenedSessions, TranscriptLine, is_transcript_id, to_transcript_id
from custody.capture.typed_field import Fields, get_fields, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

# Where VS Code and Copilot CLI store their sessions, and the folder of each. Copilot CLI:
# ``session-state/<id>/events.jsonl`` in its folder (``<id>.jsonl`` at first), before November 2025
# ``history-session-state/*.json``. VS Code: in ``workspaceStorage/<hash>`` of its user folder, where ``workspace.json``
# names the open folder, chats in ``chatSessions`` and Copilot's own transcripts in ``GitHub.copilot-chat/transcripts``;
# chats of windows without a folder in ``globalStorage/emptyWindowChatSessions``.


SUFFIXES = (".json", ".jsonl")
OWN_FOLDER = ".copilot"
SESSIONS = ("session-state", "history-session-state")
CHATS, TRANSCRIPTS, EMPTY = "chatSessions", "GitHub.copilot-chat/transcripts", "globalStorage/emptyWindowChatSessions"
WORKSPACES, WORKSPACE = "workspaceStorage", "workspace.json"
SCHEMES = frozenset(("file", "vscode-remote"))
SEARCHED_BYTES_MAX = 64 << 20
"""Maximum bytes of a session without a folder that are searched for a work tree's path."""

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

Others are counted by name.
"""
_DRIVE = lazy_pattern(r"/?([A-Za-z]):[\\/]")
_DOCUMENT = (b'"responderUsername"', b'"chatMessages"')
"""Fields in the first lines of a VS Code chat, or of an old CLI session, that is formatted over several lines."""


def locate_copilot_home(environment: Mapping[str, str]) -> Path:
    """Return the user's folder of Copilot CLI."""
    return locate_agent_folder(environment, "COPILOT_HOME", OWN_FOLDER)


def find_project_sessions(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the sessions of the CLI and of VS Code in or below one of these work trees."""
    files = [file for name in SESSIONS for file in list_session_files(home / name)]
    for user in list_vscode_user_folders(home.parent if home.name == OWN_FOLDER else Path("~").expanduser()):
        files += list_session_files(user / EMPTY)
        for workspace in sorted((user / WORKSPACES).glob("*")) if (user / WORKSPACES).is_dir() else ():
            folder = read_vscode_storage_folder(workspace)
            if folder is None or is_path_in_trees(folder, resolve_work_trees(trees)):
                files += [file for name in (CHATS, TRANSCRIPTS) for file in list_session_files(workspace / name)]
    return [file for file in files if _is_session_in_trees(file, trees)]


def list_session_files(place: Path) -> list[Path]:
    """Return the sessions at or below ``place``, without other files of these programs."""
    files = list_transcript_files(place, SUFFIXES)
    return [
        file for file in files if file == place or any(map(is_copilot_session_opening, peek_transcript_lines(file)))
    ]


def is_copilot_session_opening(data: bytes) -> bool:
    """Return whether a line is among a session's first lines, in any of its shapes."""
    if any(mark in data for mark in _DOCUMENT):
        return True
    line = read_json_object(data)
    if isinstance(line.get("data"), dict) and "parentId" in line:
        return line.get("type") in EVENTS
    state = get_fields(line.get("v")) if line.get("kind") == 0 else line
    return isinstance(state.get("requests"), list) or isinstance(state.get("timeline"), list)


def find_vscode_folder(file: Path) -> str | None:
    """Return the folder that was open in VS Code when it wrote a chat or a transcript."""
    above = file.parents
    return next(
        (
            folder
            for folder in (read_vscode_storage_folder(place) for place in islice(above, 1, 3))
            if folder is not None
        ),
        None,
    )


def read_vscode_storage_folder(workspace: Path) -> str | None:
    """Return the folder of a workspace's storage; None without exactly one folder."""
    text = get_string(read_json_object(read_small_agent_file(workspace / WORKSPACE)).get("folder"))
    parts = urlsplit(text or "")
    folder = unquote(parts.path)
    return folder if parts.scheme in SCHEMES and folder.startswith("/") and "\0" not in folder else None


def normalize_agent_path(path: str) -> str:
    r"""Return a path in one spelling, whichever system wrote it.

    >>> normalize_agent_path(r"C:\shop\a.py"), normalize_agent_path("/c:/shop/a.py")
    ('c:/shop/a.py', 'c:/shop/a.py')
    >>> normalize_agent_path(r"\workspaces\shop\a.py"), normalize_agent_path(r"/shop/a\b.py")
    ('/workspaces/shop/a.py', '/shop/a\\b.py')
    """
    drive = _DRIVE.match(path)
    if drive is not None:
        return f"{drive[1].lower()}:/" + path[drive.end() :].replace("\\", "/")
    return path.replace("\\", "/") if path.startswith("\\") and "/" not in path else path


def _is_session_in_trees(file: Path, trees: Sequence[str]) -> bool:
    """Return whether a session names a folder in a work tree or, without any folder, a file in one."""
    folder = find_vscode_folder(file)
    if folder is None:
        folder = next((cwd for cwd in map(_read_session_cwd, peek_transcript_lines(file)) if cwd is not None), None)
    return (
        is_path_in_trees(folder, resolve_work_trees(trees)) if folder is not None else _has_work_tree_path(file, trees)
    )


def _read_session_cwd(data: bytes) -> str | None:
    if b'"cwd"' not in data:
        return None
    fields = get_fields(read_json_object(data).get("data"))
    return get_string(get_fields(fields.get("context")).get("cwd")) or get_string(fields.get("cwd"))


def _has_work_tree_path(file: Path, trees: Sequence[str]) -> bool:
    marks = [f"{tree.rstrip('/')}/".encode("utf-8", "surrogateescape") for tree in trees]
    searched_bytes = 0
    try:
        for line in read_jsonl_lines(file):
            searched_bytes += line.size
            if any(mark in line.data for mark in marks):
                return True
            if searched_bytes > SEARCHED_BYTES_MAX:
                return False
    except OSError:
        return True  # reported when it is read
    return False


CALL, PROMPT, SESSION = "call", "prompt", "session"
OK, FAILED, RUNNING, ABANDONED = "ok", "failed", "running", "abandoned"

_UUID = lazy_pattern(r"(?:request_)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class SessionHeader(Struct):
    """State of a session while it is read: id, time, folder, model and version."""

    session: str
    at: str
    cwd: str | None = None
    model: str | None = None
    version: str | None = None
    opened: OpenedSessions = field(default_factory=OpenedSessions)
    folders: tuple[str, ...] = ()
    """The open folders, for sessions without a folder of their own."""

    def folder_of(self, name: str) -> str | None:
        """Return the folder for a file's name: the session's, else the open folder that contains it."""
        return self.cwd or next(
            (
                folder
                for folder in self.folders
                if is_path_in_trees(normalize_agent_path(name), [normalize_agent_path(folder)])
            ),
            None,
        )


class CopilotCall(Struct, frozen=True, kw_only=True):
    """A call as a session reports it; ``groups`` are edits with new lines only, by path."""

    id: str
    tool: str
    arguments: Json
    state: str = OK
    text: str = ""
    started: str | None = None
    model: str | None = None
    subagent: str | None = None
    parent: str | None = None
    groups: tuple[tuple[str, str], ...] = ()


def make_call_record(header: SessionHeader, number: int, id_text: str, call: CopilotCall) -> TranscriptLine:
    """Return the record of one call."""
    tool, arguments = normalize_tool_name(call.tool), parse_call_input(call.arguments)
    answer = parse_tool_output(call.text, arguments, failed=call.state != OK)
    paths = [path for path, _ in call.groups] or (
        list_changed_paths(tool, arguments, answer) if call.state in (OK, FAILED) else []
    )
    fields: dict[str, Json] = {
        "type": CALL,
        "tool": tool,
        "given": parse_copilot_input(call.arguments),
        "state": call.state,
        "words": call.text,
        "started": call.started,
        "model": call.model,
        "groups": [[path, new] for path, new in call.groups],
    }
    return replace(
        _make_record(header, number, id_text, call.model if call.subagent is None else None),
        payload={name: value for name, value in fields.items() if value},
        calls=[{"id": call.id, "name": tool, **({} if header.cwd is None else {"cwd": header.cwd})}],
        edits=tuple(ChangedFile(name, header.folder_of(name)) for name in dict.fromkeys(paths)),
        commits=find_printed_commits(read_shell_run(tool, arguments, answer)),
        subagent=call.subagent,
        parent_call=call.parent,
        begun=1,
    )


def make_event_record(header: SessionHeader, number: int, name: str, payload: Fields) -> TranscriptLine:
    """Return the record of a session start or a prompt."""
    spoken: dict[str, Json] = {} if header.model is None else {"model": header.model}
    return replace(_make_record(header, number, name, header.model), payload={**spoken, **payload})


def _make_record(header: SessionHeader, number: int, name: str, model: str | None) -> TranscriptLine:
    return TranscriptLine(
        line=number,
        id=copilot_record_id(header.session, name),
        session=header.session,
        at=header.at,
        payload={},
        version=header.version,
        cwd=header.cwd,
        opens=header.opened.opens(header.session, model),
    )


def copilot_record_id(session: str, name: str) -> str:
    """Return the id of a record; an id that is not a UUID is qualified by its session."""
    return to_transcript_id(name if _UUID.match(name) else f"{session}:{name}")


def choose_session_id(text: str | None, other: str) -> str:
    """Return the session's id if it is valid, else the file's."""
    if text is not None and is_transcript_id(text):
        return text
    return other if is_transcript_id(other) else "unknown"
