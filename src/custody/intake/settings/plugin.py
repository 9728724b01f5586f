"""An agent that has no settings for hooks but loads a program of ours: one file, all of it ours or none of it.

The file says in its third line what is below that line, so that it can be known for ours after a move, in every
version and without notes. One that somebody has edited is nobody's to replace or to delete but theirs.
"""

import json
import re
from hashlib import sha256
from pathlib import Path

from custody.core.errors import InputError
from custody.intake.settings.agent_table import MARK, Agent
from custody.intake.settings.edit import Edit, edit_of
from custody.intake.settings.entries import HookRequest
from custody.intake.settings.files import check_may_replace, list_missing_folders, look
from custody.intake.settings.manifest import ManifestEntry, digest

HEAD = (
    "// custody's plugin for {title}: has the recorder keep what this agent does, so that lines can be attributed.\n"
    "// Made by 'custody init', removed by 'custody uninstall'; if it was edited, both leave it as it is.\n"
    "// sha256: {digest}\n"
)
PLACE = '"@RECORD@"'

_OURS = re.compile(rb"// custody's plugin for [^\n]*\n// [^\n]*\n// sha256: ([0-9a-f]{64})\n")
_COMMAND = re.compile(rb'^const RECORD = ("(?:[^"\\\n]|\\.)*")$', re.MULTILINE)


def plugin_text(ask: HookRequest) -> bytes:
    """The whole file that has the agent run the command."""
    assert ask.agent.plugin is not None, "only agents with plugins have one"
    program = Path(__file__).with_name(ask.agent.plugin).read_text(encoding="utf-8")
    body = program.replace(PLACE, json.dumps(ask.command, ensure_ascii=False))
    head = HEAD.format(title=ask.agent.title, digest=sha256(body.encode()).hexdigest())
    return (head + body).encode()


def plugin_edit(path: Path, ask: HookRequest, note: ManifestEntry | None = None) -> Edit:
    """The file at ``path`` as it should be; one that is not ours is refused."""
    seen, wanted = look(path), plugin_text(ask)
    if seen.data is not None and not is_ours(seen.data):
        raise InputError(
            f"'{path}' is not a plugin that custody wrote, or was edited since",
            hint="nothing was changed; move it away, or choose other agents with --agent",
        )
    if seen.data != wanted:
        check_may_replace(seen)
    made = ManifestEntry(
        path=str(path),
        whose=ask.agent.name,
        created=True,
        after=digest(wanted),
        folders=(() if note is None else note.folders) or tuple(map(str, list_missing_folders(seen.target))),
        users=() if note is None else note.users,
    )
    what = "a plugin that runs the recorder"
    said = what if seen.data != wanted else f"{what}, as before"
    return edit_of(seen, ask.agent.name, wanted, said, made, list_missing_folders(seen.target))


def unplugin_edit(path: Path, agent: Agent, note: ManifestEntry | None = None) -> Edit:
    """The file at ``path`` gone if it is ours; else as it is."""
    seen = look(path)
    if seen.data is None or not _OURS.match(seen.data):
        return edit_of(seen, agent.name, seen.data, "nothing of ours is there", None, list_missing_folders(seen.target))
    if not is_ours(seen.data):
        raise InputError(
            f"'{path}' was edited since custody wrote it", hint=f"remove it, or what runs '…{MARK}', by hand"
        )
    check_may_replace(seen)
    folders = () if note is None else tuple(map(Path, note.folders))
    return edit_of(seen, agent.name, None, "our plugin removed", None, folders)


def is_ours(data: bytes) -> bool:
    """Whether the bytes are exactly what some version of custody wrote."""
    head = _OURS.match(data)
    return head is not None and sha256(data[head.end() :]).hexdigest().encode() == head[1]


def plugin_runs(data: bytes | None) -> list[str]:
    """The command that a plugin of ours runs, edited or not; none for anything else."""
    found = _COMMAND.search(data) if data is not None and _OURS.match(data) else None
    if found is None:
        return []
    try:
        command = json.loads(found[1])
    except ValueError:
        return []  # somebody edited it into something else
    return [command] if MARK in command else []
