"""From an agent's input to one durable event: read, scan for secrets, wrap, spool, and perhaps take a snapshot.

The event is stored as the agent sent it, inside an envelope with agent, time and place. It is parsed and redacted only
if the scan finds a possible secret.
"""

from __future__ import annotations

import os
import sys

from .event_home import list_hooked_agents, spool_hook_event
from .fast_primitives import (
    SILENCE_SECONDS_MAX,
    encode_hook_json,
    format_hook_time,
    parse_hook_json,
    quoted,
    read_hook_stdin,
    sha256,
)
from .place import (
    PATH_MAX,
    find_common_git_dir,
    find_hook_work_tree,
    find_owned_work_tree,
    is_text_in_file,
    read_head_without_git,
)
from .secret_removal import drop_event, redact_event, report_capture_gap
from .secret_scan import has_possible_secret

TYPE_CHECKING = False  # importing typing takes longer than these modules
if TYPE_CHECKING:
    from typing import Any

EVENT_BYTES_MAX = 16 * 1024 * 1024
PAYLOAD_BYTES_MAX = EVENT_BYTES_MAX - 1024 * 1024
"""Leaves room for the envelope and for redaction marks."""
NAME_MAX = 490
"""Two names and a word have to fit into an event's name."""

SESSION = ("session_id", "conversation_id", "sessionId", "sessionID", "session")
EVENT = ("hook_event_name", "hookEventName")
CALL = ("tool_use_id", "toolUseId", "call_id", "callID")
PROMPT = ("prompt_id", "turn_id", "generation_id")
SUBAGENT = ("agent_id", "subagent_id")
TOOL = ("tool_name", "toolName", "tool")

REPEATED = frozenset(
    (
        "Stop",
        "PostModelSwitch",
        "stop",
        "beforeShellExecution",
        "afterShellExecution",
        "beforeReadFile",
        "afterFileEdit",
        "afterTabFileEdit",
    )
)
"""Events that may occur several times in one prompt, so the prompt does not name them."""

GENERIC_NAMES = ("kind", "agent", "session", "id", "at")
"""Names in a generic event: its kind, and what replaces the fields of the envelope."""

CLAUDE_CODE = "claude-code"
GEMINI = "gemini"
CURSOR = "cursor"
COPILOT = "copilot"
CURSOR_FIELDS = ("cursor_version", "conversation_id")
"""Fields that Cursor sends and Claude Code does not."""
GATES = frozenset(
    "pretooluse beforeshellexecution beforemcpexecution beforereadfile beforetabfileread subagentstart unknown".split()
)
"""Cursor's events, in small letters, that a hook may refuse."""
ALLOW = '{"permission":"allow"}\n'


if TYPE_CHECKING:
    from .snapshot import ChangedFiles

    HookFields = dict[str, Any]


class HookArguments:
    """The command line: agent, event, whether to print a receipt, and which repositories to record.

    ``user``: any repository around the agent's folder; ``where_set_up``: only where ``custody init`` set up this agent;
    ``unless``: not where this settings file of the project runs the repository's own hook. ``call`` is the name that
    was found or made for an unnamed call.
    """

    def __init__(self, arguments: list[str]) -> None:
        agent = _read_hook_option(arguments, "--agent") or ""
        self.agent = agent if agent.isprintable() and agent else "unknown"
        self.event = _read_hook_option(arguments, "--event")
        self.receipt = "--receipt" in arguments
        self.user = "--user" in arguments
        self.where_set_up = "--where-set-up" in arguments
        self.unless = _read_hook_option(arguments, "--unless")
        self.call: str | None = None


class HookInput:
    """The input: all of it, or its digest and size if it exceeds an event's limit.

    ``unended``: the input was never closed, so it may be incomplete.
    """

    def __init__(self, source: int, seconds: float = SILENCE_SECONDS_MAX) -> None:
        pieces: list[bytes] = []
        digest = None
        self.size = 0
        self.unended = False
        self.dropped: HookFields | None = None
        try:
            for piece in read_hook_stdin(source, seconds):
                self.size += len(piece)
                if digest is not None:
                    digest.update(piece)
                    continue
                pieces.append(piece)
                if self.size > PAYLOAD_BYTES_MAX:
                    digest = sha256(b"".join(pieces))
                    pieces.clear()
        except TimeoutError:
            self.unended = True
        self.data = b"".join(pieces)
        if digest is not None:
            self.dropped = {"digest": "sha256:" + digest.hexdigest(), "bytes": self.size, "why": "over the size limit"}

    def fields(self) -> HookFields | None:
        """Return the JSON object of the input; None for anything else."""
        try:
            value = parse_hook_json(self.data.decode("utf-8"))
        except (ValueError, RecursionError):
            return None  # stored as text instead
        return value if isinstance(value, dict) else None


def main(arguments: list[str], here: str) -> None:
    """Record the event on stdin; ``here`` is the launcher's folder, in the store's home."""
    options = HookArguments(arguments)
    hook_input = HookInput(sys.stdin.fileno())
    fields = hook_input.fields()
    _allow_cursor_action(options, fields)
    home = find_hook_home(options, fields, os.path.dirname(here))
    if home is None:
        return  # not to be recorded, or another hook records it
    name = record_hook_event(options, hook_input, fields, home)
    if name is None:
        return
    if options.receipt:
        sys.stdout.write(name + "\n")
        sys.stdout.flush()
    snapshot_around_call(options, fields, home)


def _allow_cursor_action(options: HookArguments, fields: HookFields | None) -> None:
    """Answer Cursor that it may continue, because it treats silence as a refusal; answer no other agent.

    The settings that run the hook name the agent. Cursor also runs Claude Code's hooks; its events have its version.
    """
    by_claude_codes = options.agent == CLAUDE_CODE and "cursor_version" in (fields or {})
    if options.receipt or not (options.agent == CURSOR or by_claude_codes):
        return
    event = find_hook_event_name(options, fields or {}).lower()
    sys.stdout.write('{"continue":true}\n' if event == "beforesubmitprompt" else ALLOW if event in GATES else "{}\n")
    sys.stdout.flush()


def find_hook_home(options: HookArguments, fields: HookFields | None, own: str) -> str | None:
    """Return the store for the event; None if another hook records it, or none should."""
    if options.agent == CLAUDE_CODE and fields is not None and _is_copilot_event(fields):
        return None  # Cursor and Copilot read Claude Code's settings too; their own hooks record these events
    if not options.user:
        return own
    place = find_owned_work_tree(find_agent_folder(fields))
    if place is None:
        return None
    home = os.path.join(find_common_git_dir(place[1]), "custody")
    if options.where_set_up and options.agent not in list_hooked_agents(home):
        return None
    return None if options.unless is not None and _has_project_hook(place[0], options.unless, home) else home


def _is_copilot_event(fields: HookFields) -> bool:
    """Return whether an event is not Claude Code's: only Copilot sends a timestamp, and has other transcripts."""
    if any(name in fields for name in CURSOR_FIELDS):
        return True
    transcript = fields.get("transcript_path")
    return "timestamp" in fields and (not isinstance(transcript, str) or COPILOT in transcript.lower())


def _has_project_hook(work_tree: str, settings: str, home: str) -> bool:
    """Return whether the project's settings run the repository's own hook: both would record the same event."""
    # Agents name the folder of their settings; Cursor and Gemini use this variable too.
    project = os.environ.get("CLAUDE_PROJECT_DIR") or work_tree
    # As in the file: quoted for the shell, then for JSON.
    hook = quoted(os.path.join(home, "hook", "record.py").replace("'", "'\"'\"'"))[1:-1]
    return is_text_in_file(os.path.join(project, settings), hook.encode("utf-8", "surrogateescape"))


def record_hook_event(
    options: HookArguments, hook_input: HookInput, fields: HookFields | None, home: str
) -> str | None:
    """Record one event; return its name once it is durable, or None after counting a gap."""
    if fields is not None and is_generic_event(fields) and (problem := find_generic_event_problem(fields)):
        report_capture_gap(home, f"{options.agent}: not recorded: {problem}")
        return None
    if hook_input.unended and fields is None:
        report_capture_gap(
            home, f"{options.agent}: the input was never closed, and {hook_input.size} bytes are not a complete event"
        )
        if not hook_input.size:
            return None
    try:
        name = spool_hook_event(home, encode_hook_event(options, hook_input, fields, home), dict(os.environ))
    except OSError as error:
        report_capture_gap(home, f"{options.agent}: cannot write: {error.strerror}")
        return None
    if hook_input.dropped is not None:
        report_capture_gap(home, f"{options.agent}: {hook_input.size} bytes were reduced to digest and size")
    return name


def encode_hook_event(options: HookArguments, hook_input: HookInput, fields: HookFields | None, home: str) -> bytes:
    """Return the event's bytes, redacted."""
    folder = find_agent_folder(fields)
    if fields is not None and is_generic_event(fields):
        return _redact_within_limit(
            {**_make_event_envelope(options, fields, folder, home), **_drop_null_fields(fields)}, home
        )
    around = {
        "kind": "hook",
        **_make_event_envelope(options, fields or {}, folder, home),
        "event": find_hook_event_name(options, fields or {}),
    }
    real = _printable_hook_path(os.path.realpath(folder))
    if real is not None:
        around["folder"] = real
    if hook_input.dropped is not None:
        return encode_hook_json({**around, "dropped": hook_input.dropped})
    if fields is None:
        return _redact_within_limit({**around, "unparsed": hook_input.data.decode("utf-8", "surrogateescape")}, home)
    if has_possible_secret(hook_input.data):
        return _redact_within_limit({**around, "payload": fields}, home)
    # No secret found: store the agent's own bytes unchanged.
    return b'%s,"payload":%s}' % (encode_hook_json(around)[:-1], hook_input.data.strip())


def is_generic_event(fields: HookFields) -> bool:
    """Return whether a recorder sent custody's own format, and not an agent its hook's."""
    return "custody" in fields and "kind" in fields


def find_generic_event_problem(fields: HookFields) -> str | None:
    """Return why no version could ingest a generic event; None if one may. The store checks the rest."""
    if type(fields["custody"]) is not int and fields["custody"] is not None:
        return "'custody' is not a version"
    if fields["kind"] is None:
        return "'kind' is missing"
    for name in GENERIC_NAMES:
        value = fields.get(name)
        if value is not None and not (isinstance(value, str) and value and value.isprintable()):
            return f"'{name}' is not a text"
    return None


def _drop_null_fields(fields: HookFields) -> HookFields:
    """Return the fields of a generic event without nulls."""
    return {name: value for name, value in fields.items() if value is not None}


def _redact_within_limit(event: HookFields, home: str) -> bytes:
    """Return the event redacted; reduced to digest and size if it exceeds a spool file's limit."""
    data = redact_event(event, home)
    return data if len(data) <= EVENT_BYTES_MAX else drop_event(event, data, home, "over the size limit")


def find_hook_event_name(options: HookArguments, fields: HookFields) -> str:
    """Return the name of the agent's event."""
    return options.event or find_name_field(fields, EVENT) or "unknown"


def find_agent_folder(fields: HookFields | None) -> str:
    """Return the folder in which the agent works."""
    value = (fields or {}).get("cwd")
    roots = (fields or {}).get("workspace_roots")
    if not isinstance(value, str) and isinstance(roots, list) and roots:
        value = roots[0]
    for folder in (value, os.environ.get("CLAUDE_PROJECT_DIR")):
        if isinstance(folder, str) and os.path.isabs(folder) and folder.isprintable() and len(folder) < PATH_MAX:
            return folder
    try:
        return os.getcwd()
    except OSError:
        return os.path.sep  # the folder was deleted under the agent


def find_name_field(fields: HookFields, names: tuple[str, ...]) -> str | None:
    """Return the first of these fields with a valid name."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and 0 < len(value) <= NAME_MAX and value.isprintable():
            return value
    return None


def _make_event_envelope(options: HookArguments, fields: HookFields, folder: str, home: str) -> HookFields:
    """Return the envelope: agent, ids, time and place."""
    session = _find_session_id(options, fields, home)
    call_name = _read_named_call(options, fields)
    call = call_name or _call_id_from_content(options, fields) or _call_id_from_pairing(options, fields, session, home)
    around: HookFields = {
        "custody": 1,
        "agent": options.agent[:NAME_MAX],
        "id": call_name or _event_id_from_prompt(find_hook_event_name(options, fields), fields) or os.urandom(16).hex(),
        "at": format_hook_time(),
    }
    if session is not None:
        around["session"] = session
    if "custody" not in fields and call is not None:
        around["call"] = call
    place = locate_work_tree(folder, home)
    if place is not None:
        around["head"] = read_head_without_git(place[1])
        around["worktree"] = _printable_hook_path(place[0])
    return {name: value for name, value in around.items() if value is not None}


def _read_named_call(options: HookArguments, fields: HookFields) -> str | None:
    call_name = find_name_field(fields, CALL)
    if call_name is None and options.agent == CURSOR:
        from .call_match import normalize_call_id  # only needed for Cursor

        name_text = next((fields[name] for name in CALL if isinstance(fields.get(name), str) and fields[name]), None)
        return None if name_text is None else normalize_call_id(name_text)
    if call_name is None or options.agent != COPILOT:
        return call_name
    from .call_name import strip_tool_call_number  # only needed for Copilot

    return strip_tool_call_number(call_name)


def _call_id_from_content(options: HookArguments, fields: HookFields) -> str | None:
    """Return the name of an unnamed call by its content; None for other agents, or before the call has ended."""
    if options.agent == COPILOT:
        from .call_name import find_copilot_call_id

        return find_copilot_call_id(find_hook_event_name(options, fields), fields)
    if options.agent != GEMINI or find_hook_event_name(options, fields) != "AfterTool":
        return None
    from .call_name import make_gemini_call_id  # only needed for Gemini

    answer = fields.get("tool_response")
    shown = answer.get("llmContent") if isinstance(answer, dict) else None
    return make_gemini_call_id(str(fields.get("tool_name")), fields.get("tool_input"), shown)


def _find_session_id(options: HookArguments, fields: HookFields, home: str) -> str | None:
    """Return the session; for a subagent of Cursor or Copilot CLI, that of the agent that started it."""
    session = find_name_field(fields, SESSION)
    if "custody" in fields or options.agent not in (CURSOR, COPILOT):
        return session
    from .call_match import resolve_copilot_session, resolve_cursor_session  # only needed for these agents

    find = resolve_cursor_session if options.agent == CURSOR else resolve_copilot_session
    return find(find_hook_event_name(options, fields), fields, session, home)


def _call_id_from_pairing(options: HookArguments, fields: HookFields, session: str | None, home: str) -> str | None:
    """Return the call of a Cursor event that does not name it; repeated calls return the same."""
    if options.agent != CURSOR or "custody" in fields:
        return None
    from .call_match import match_open_call

    options.call = options.call or match_open_call(find_hook_event_name(options, fields), fields, session, home)
    return options.call


def _event_id_from_prompt(event: str, fields: HookFields) -> str | None:
    """Return an event's name by its prompt, and by its subagent, because a prompt may have several."""
    prompt, subagent = find_name_field(fields, PROMPT), find_name_field(fields, SUBAGENT)
    if prompt is None or event in REPEATED:
        return None
    return prompt if subagent is None else f"{prompt}:{subagent}"


def locate_work_tree(folder: str, home: str) -> tuple[str, str] | None:
    """Return the work tree of this store's repository that the agent works in, and its git folder."""
    return find_hook_work_tree(os.path.dirname(home), [folder, os.environ.get("CLAUDE_PROJECT_DIR") or folder])


def _printable_hook_path(path: str) -> str | None:
    return path if path.isprintable() and len(path) < PATH_MAX else None


def snapshot_around_call(options: HookArguments, fields: HookFields | None, home: str) -> None:
    """Take a snapshot if only the disk shows what the agent did."""
    from .snapshot import choose_snapshot_phase  # only shell calls and edits without previous text need one

    if fields is None:
        return
    folder = find_agent_folder(fields)
    phase = choose_snapshot_phase(find_hook_event_name(options, fields), find_name_field(fields, TOOL), options.agent)
    coming = _list_pending_edits(options, fields)
    changed = (coming, None) if coming else _read_reported_changes(options, fields, home)
    if phase is not None:
        from .snapshot import take_snapshot

        place = locate_work_tree(folder, home)
        if place is not None:
            before = coming if phase == "before" else None
            take_snapshot(_make_event_envelope(options, fields, folder, home), phase, place[0], home, changed, before)


def _read_reported_changes(options: HookArguments, fields: HookFields, home: str) -> ChangedFiles | None:
    """Return the changes that a Cursor event reports; None if only the disk shows them."""
    if options.agent != CURSOR:
        return None
    from .call_match import OWN, list_edited_files, rebuild_text_before_edits, record_call_start

    event = find_hook_event_name(options, fields)
    record_call_start(event, fields, _find_session_id(options, fields, home), _read_named_call(options, fields), home)
    files = list_edited_files(event, fields)
    alone = (options.call or "").startswith(OWN)
    return None if files is None else (files, (lambda text: rebuild_text_before_edits(fields, text)) if alone else None)


def _list_pending_edits(options: HookArguments, fields: HookFields) -> list[str]:
    """Return the files that a Copilot call edits: their text is not reported, and they are written late."""
    if options.agent != COPILOT:
        return []
    from .call_name import list_copilot_edited_files

    return [os.path.join(find_agent_folder(fields), name) for name in list_copilot_edited_files(fields)]


def _read_hook_option(arguments: list[str], option: str) -> str | None:
    place = arguments.index(option) + 1 if option in arguments else len(arguments)
    return arguments[place] if place < len(arguments) else None
