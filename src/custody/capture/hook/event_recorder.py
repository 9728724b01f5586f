"""From what an agent says on stdin to one durable event: read, look for secrets, wrap, spool, perhaps a snapshot.

The event is kept as the agent gave it, inside an envelope that says who, when and where. Only when the tripwire sees
what may be a secret is it taken apart and redacted.
"""

from __future__ import annotations

import os
import sys

from .event_home import agents_of, write_event_file
from .fast_primitives import SILENCE_SECONDS_MAX, encode_json, format_now, parse, quoted, read_stdin, sha256
from .place import PATH_MAX, common_dir_of, head_of, holds, place_in, work_tree_of
from .secret_removal import complain, drop_event, redact_event
from .secret_scan import trips

TYPE_CHECKING = False  # the module for it takes longer to import than all of these
if TYPE_CHECKING:
    from typing import Any

EVENT_BYTES_MAX = 16 * 1024 * 1024
PAYLOAD_BYTES_MAX = EVENT_BYTES_MAX - 1024 * 1024
"""Room for the envelope and for the marks of redaction."""
NAME_MAX = 490
"""Two of them and a word make one name of an event."""

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
"""Events of which one prompt may have several, so that the prompt does not name them."""

CLAUDE_CODE = "claude-code"
GEMINI = "gemini"
CURSOR = "cursor"
COPILOT = "copilot"
CURSORS_OWN = ("cursor_version", "conversation_id")
"""Fields that Cursor sends and Claude Code does not."""
GATES = frozenset(
    "pretooluse beforeshellexecution beforemcpexecution beforereadfile beforetabfileread subagentstart unknown".split()
)
"""Cursor's events, in small letters, at which a hook may refuse."""
GO_ON = '{"permission":"allow"}\n'


if TYPE_CHECKING:
    from .snapshot import ChangedFiles

    HookFields = dict[str, Any]


class HookArguments:
    """What the command line says: whose event, which one, whether a receipt is wanted, and for which repositories.

    ``user``: whichever is around the agent's folder, ``where_set_up``: of these only where ``custody init`` set up this
    agent, ``unless``: not where this settings file of the project has the repository's own hook run. ``call`` is the
    name that was found or made for a call which the agent does not name.
    """

    def __init__(self, arguments: list[str]) -> None:
        self.agent = _after(arguments, "--agent") or "unknown"
        self.event = _after(arguments, "--event")
        self.receipt = "--receipt" in arguments
        self.user = "--user" in arguments
        self.where_set_up = "--where-set-up" in arguments
        self.unless = _after(arguments, "--unless")
        self.call: str | None = None


class HookInput:
    """What came on stdin: all of it, or its digest and size when it is more than an event may hold.

    ``unended`` when it was never closed: what came until then may be all that there is.
    """

    def __init__(self, source: int, seconds: float = SILENCE_SECONDS_MAX) -> None:
        pieces: list[bytes] = []
        digest = None
        self.size = 0
        self.unended = False
        self.dropped: HookFields | None = None
        try:
            for piece in read_stdin(source, seconds):
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
        """The JSON object that it is; None when it is something else."""
        try:
            value = parse(self.data.decode("utf-8"))
        except (ValueError, RecursionError):
            return None  # kept as text instead
        return value if isinstance(value, dict) else None


def main(arguments: list[str], here: str) -> None:
    """Record what stdin says; ``here`` is the launcher's folder, whose parent is the store's home."""
    words = HookArguments(arguments)
    given = HookInput(sys.stdin.fileno())
    fields = given.fields()
    _let_go_on(words, fields)
    home = home_for(words, fields, os.path.dirname(here))
    if home is None:
        return  # there is nothing to keep, or another hook keeps it
    name = keep(words, given, fields, home)
    if name is None:
        return
    if words.receipt:
        sys.stdout.write(name + "\n")
        sys.stdout.flush()
    look_around(words, fields, home)


def _let_go_on(words: HookArguments, fields: HookFields | None) -> None:
    """Tell Cursor that it may go on: at its gates it takes silence for a refusal. No other agent is told anything.

    Who it is, the settings say that run the hook. Cursor may run Claude Code's too, and its events tell its version.
    """
    by_claude_codes = words.agent == CLAUDE_CODE and "cursor_version" in (fields or {})
    if words.receipt or not (words.agent == CURSOR or by_claude_codes):
        return
    event = event_of(words, fields or {}).lower()
    sys.stdout.write('{"continue":true}\n' if event == "beforesubmitprompt" else GO_ON if event in GATES else "{}\n")
    sys.stdout.flush()


def home_for(words: HookArguments, fields: HookFields | None, own: str) -> str | None:
    """The store in which this hook keeps the event; None when that is another hook's task, or nobody's."""
    if words.agent == CLAUDE_CODE and fields is not None and _is_anothers(fields):
        return None  # Cursor and Copilot read Claude Code's settings too; their events are for the hook in their own
    if not words.user:
        return own
    found = work_tree_of(folder_of(fields))
    if found is None:
        return None
    home = os.path.join(common_dir_of(found[1]), "custody")
    if words.where_set_up and words.agent not in agents_of(home):
        return None
    return None if words.unless is not None and _has_own_hook(found[0], words.unless, home) else home


def _is_anothers(fields: HookFields) -> bool:
    """Whether an event is none of Claude Code's: only Copilot tells the time, and keeps its transcripts elsewhere."""
    if any(name in fields for name in CURSORS_OWN):
        return True
    kept = fields.get("transcript_path")
    return "timestamp" in fields and (not isinstance(kept, str) or COPILOT in kept.lower())


def _has_own_hook(work_tree: str, settings: str, home: str) -> bool:
    """Whether the project's settings have the repository's own hook run: then both would record the same event."""
    # Agents name the folder whose settings they read, Cursor and Gemini by this name too.
    project = os.environ.get("CLAUDE_PROJECT_DIR") or work_tree
    # As it stands there: quoted for the shell, then for JSON.
    hook = quoted(os.path.join(home, "hook", "record.py").replace("'", "'\"'\"'"))[1:-1]
    return holds(os.path.join(project, settings), hook.encode("utf-8", "surrogateescape"))


def keep(words: HookArguments, given: HookInput, fields: HookFields | None, home: str) -> str | None:
    """Keep one event; give its name once it is durable, or None after counting the gap."""
    if given.unended and fields is None:
        complain(home, f"{words.agent}: the input was never closed, and {given.size} bytes are no whole event")
        if not given.size:
            return None
    try:
        name = write_event_file(home, event_bytes(words, given, fields, home), dict(os.environ))
    except OSError as error:
        complain(home, f"{words.agent}: cannot write: {error.strerror}")
        return None
    if given.dropped is not None:
        complain(home, f"{words.agent}: {given.size} bytes were kept as digest and size only")
    return name


def event_bytes(words: HookArguments, given: HookInput, fields: HookFields | None, home: str) -> bytes:
    """The event's bytes, with nothing in them that looks like a secret."""
    folder = folder_of(fields)
    if fields is not None and "custody" in fields and "kind" in fields:
        return _fitting({**_around(words, fields, folder, home), **_drop_nulls(fields)}, home)
    around = {"kind": "hook", **_around(words, fields or {}, folder, home), "event": event_of(words, fields or {})}
    real = _shown(os.path.realpath(folder))
    if real is not None:
        around["folder"] = real
    if given.dropped is not None:
        return encode_json({**around, "dropped": given.dropped})
    if fields is None:
        return _fitting({**around, "unparsed": given.data.decode("utf-8", "surrogateescape")}, home)
    if trips(given.data):
        return _fitting({**around, "payload": fields}, home)
    # Nothing to hide: the agent's own bytes go in as they are.
    return b'%s,"payload":%s}' % (encode_json(around)[:-1], given.data.strip())


def _drop_nulls(fields: HookFields) -> HookFields:
    """What a generic event says; null says nothing."""
    return {name: value for name, value in fields.items() if value is not None}


def _fitting(event: HookFields, home: str) -> bytes:
    """The event redacted; dropped to its digest and size when it is more than a spool file may hold."""
    data = redact_event(event, home)
    return data if len(data) <= EVENT_BYTES_MAX else drop_event(event, data, home, "over the size limit")


def event_of(words: HookArguments, fields: HookFields) -> str:
    """Which of the agent's events this is."""
    return words.event or name_in(fields, EVENT) or "unknown"


def folder_of(fields: HookFields | None) -> str:
    """The folder in which the agent works."""
    said = (fields or {}).get("cwd")
    roots = (fields or {}).get("workspace_roots")
    if not isinstance(said, str) and isinstance(roots, list) and roots:
        said = roots[0]
    for folder in (said, os.environ.get("CLAUDE_PROJECT_DIR")):
        if isinstance(folder, str) and os.path.isabs(folder) and folder.isprintable() and len(folder) < PATH_MAX:
            return folder
    try:
        return os.getcwd()
    except OSError:
        return os.path.sep  # the folder was deleted under the agent: then its place cannot be told


def name_in(fields: HookFields, names: tuple[str, ...]) -> str | None:
    """The first of these fields that holds a usable name."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and 0 < len(value) <= NAME_MAX and value.isprintable():
            return value
    return None


def _around(words: HookArguments, fields: HookFields, folder: str, home: str) -> HookFields:
    """Who, which, when and where."""
    session = _session_of(words, fields, home)
    named = _named_call(words, fields)
    call = named or _by_content(words, fields) or _by_pairing(words, fields, session, home)
    around: HookFields = {
        "custody": 1,
        "agent": words.agent[:NAME_MAX],
        "id": named or _prompted(event_of(words, fields), fields) or os.urandom(16).hex(),
        "at": format_now(),
    }
    if session is not None:
        around["session"] = session
    if "custody" not in fields and call is not None:
        around["call"] = call
    found = locate_work_tree(folder, home)
    if found is not None:
        around["head"] = head_of(found[1])
        around["worktree"] = _shown(found[0])
    return {name: value for name, value in around.items() if value is not None}


def _named_call(words: HookArguments, fields: HookFields) -> str | None:
    named = name_in(fields, CALL)
    if named is None and words.agent == CURSOR:
        from .call_match import call_name  # no other agent needs it

        said = next((fields[name] for name in CALL if isinstance(fields.get(name), str) and fields[name]), None)
        return None if said is None else call_name(said)
    if named is None or words.agent != COPILOT:
        return named
    from .call_name import strip_call_number  # nor this one

    return strip_call_number(named)


def _by_content(words: HookArguments, fields: HookFields) -> str | None:
    """What names a call of an agent that does not; None for other agents, and while that is too early to tell."""
    if words.agent == COPILOT:
        from .call_name import copilot_call_in

        return copilot_call_in(event_of(words, fields), fields)
    if words.agent != GEMINI or event_of(words, fields) != "AfterTool":
        return None
    from .call_name import call_of  # no other agent needs it

    answer = fields.get("tool_response")
    shown = answer.get("llmContent") if isinstance(answer, dict) else None
    return call_of(str(fields.get("tool_name")), fields.get("tool_input"), shown)


def _session_of(words: HookArguments, fields: HookFields, home: str) -> str | None:
    """The session; where a subagent of Cursor or of Copilot CLI speaks, that of the agent which started it."""
    said = name_in(fields, SESSION)
    if "custody" in fields or words.agent not in (CURSOR, COPILOT):
        return said
    from .call_match import copilot_session_of, session_of  # no other agent needs it

    find = session_of if words.agent == CURSOR else copilot_session_of
    return find(event_of(words, fields), fields, said, home)


def _by_pairing(words: HookArguments, fields: HookFields, session: str | None, home: str) -> str | None:
    """The call of an event of Cursor that does not name it; the same however often it is asked."""
    if words.agent != CURSOR or "custody" in fields:
        return None
    from .call_match import call_of

    words.call = words.call or call_of(event_of(words, fields), fields, session, home)
    return words.call


def _prompted(event: str, fields: HookFields) -> str | None:
    """What names an event by its prompt, and by its subagent, of which a prompt may have several."""
    prompt, subagent = name_in(fields, PROMPT), name_in(fields, SUBAGENT)
    if prompt is None or event in REPEATED:
        return None
    return prompt if subagent is None else f"{prompt}:{subagent}"


def locate_work_tree(folder: str, home: str) -> tuple[str, str] | None:
    """The work tree of this store's repository in which the agent works, and its git folder."""
    return place_in(os.path.dirname(home), [folder, os.environ.get("CLAUDE_PROJECT_DIR") or folder])


def _shown(path: str) -> str | None:
    return path if path.isprintable() and len(path) < PATH_MAX else None


def look_around(words: HookArguments, fields: HookFields | None, home: str) -> None:
    """Take a snapshot where only the disk shows what the agent did."""
    from .snapshot import phase_of  # only shell calls and bare edits go further

    if fields is None:
        return
    folder = folder_of(fields)
    phase = phase_of(event_of(words, fields), name_in(fields, TOOL), words.agent)
    coming = _coming(words, fields)
    changed = (coming, None) if coming else _changed(words, fields, home)
    if phase is not None:
        from .snapshot import take

        found = locate_work_tree(folder, home)
        if found is not None:
            before = coming if phase == "before" else None
            take(_around(words, fields, folder, home), phase, found[0], home, changed, before)


def _changed(words: HookArguments, fields: HookFields, home: str) -> ChangedFiles | None:
    """What an event of Cursor says was changed; None where the disk alone shows it."""
    if words.agent != CURSOR:
        return None
    from .call_match import OWN, before_of, files_of, record_call_start

    event = event_of(words, fields)
    record_call_start(event, fields, _session_of(words, fields, home), _named_call(words, fields), home)
    files = files_of(event, fields)
    alone = (words.call or "").startswith(OWN)
    return None if files is None else (files, (lambda text: before_of(fields, text)) if alone else None)


def _coming(words: HookArguments, fields: HookFields) -> list[str]:
    """The files that a call of Copilot edits: what is in them is told nowhere else, and they are written late."""
    if words.agent != COPILOT:
        return []
    from .call_name import copilot_files

    return [os.path.join(folder_of(fields), name) for name in copilot_files(fields)]


def _after(arguments: list[str], option: str) -> str | None:
    place = arguments.index(option) + 1 if option in arguments else len(arguments)
    return arguments[place] if place < len(arguments) else None
