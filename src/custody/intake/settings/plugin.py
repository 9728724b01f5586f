"""Plugins for agents without settings for hooks: one file, which is ours as a whole or not at all.

The third line of the file has the digest of the lines below it, so our file is recognized after a move, in every
version and without notes. An edited file is neither replaced nor deleted.
"""

import json
import re
from hashlib import sha256
from pathlib import Path

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.intake.settings.agent_table import MARK, Agent
from custody.intake.settings.edit import Edit, make_settings_file_edit
from custody.intake.settings.entries import HookRequest
from custody.intake.settings.files import check_settings_replaceable, list_missing_settings_folders, read_settings_file
from custody.intake.settings.manifest import ManifestEntry, digest_settings_bytes

HEAD = (
    "// custody's plugin for {title}: has the recorder keep what this agent does, so that lines can be attributed.\n"
    "// Made by 'custody init', removed by 'custody uninstall'; if it was edited, both leave it as it is.\n"
    "// sha256: {digest}\n"
)
PLACE = '"@RECORD@"'

_OURS = lazy_pattern(rb"// custody's plugin for [^\n]*\n// [^\n]*\n// sha256: ([0-9a-f]{64})\n")
_COMMAND = lazy_pattern(rb'^const RECORD = ("(?:[^"\\\n]|\\.)*")$', re.MULTILINE)


def render_agent_plugin(request: HookRequest) -> bytes:
    """Return the plugin that makes the agent run the command."""
    assert request.agent.plugin is not None, "only agents with plugins have one"
    program = Path(__file__).with_name(request.agent.plugin).read_text(encoding="utf-8")
    body = program.replace(PLACE, json.dumps(request.command, ensure_ascii=False))
    head = HEAD.format(title=request.agent.title, digest=sha256(body.encode()).hexdigest())
    return (head + body).encode()


def make_agent_plugin_edit(path: Path, request: HookRequest, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that writes our plugin to ``path``; a file that is not ours raises an error."""
    file, plugin = read_settings_file(path), render_agent_plugin(request)
    if file.data is not None and not is_own_agent_plugin(file.data):
        raise InputError(
            f"'{path}' was not written by custody, or was edited since",
            hint="nothing was changed; move it away, or choose other agents with --agent",
        )
    if file.data != plugin:
        check_settings_replaceable(file)
    made = ManifestEntry(
        path=str(path),
        whose=request.agent.name,
        created=True,
        after=digest_settings_bytes(plugin),
        folders=(() if note is None else note.folders) or tuple(map(str, list_missing_settings_folders(file.target))),
        users=() if note is None else note.users,
    )
    what = "a plugin that runs the recorder"
    what += "" if file.data != plugin else ", unchanged"
    return make_settings_file_edit(
        file, request.agent.name, plugin, what, made, list_missing_settings_folders(file.target)
    )


def make_plugin_removal_edit(path: Path, agent: Agent, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that deletes the plugin at ``path`` if it is ours, and changes nothing otherwise."""
    file = read_settings_file(path)
    if file.data is None or not _OURS.match(file.data):
        return make_settings_file_edit(
            file, agent.name, file.data, "nothing to remove", None, list_missing_settings_folders(file.target)
        )
    if not is_own_agent_plugin(file.data):
        raise InputError(
            f"'{path}' was edited since custody wrote it",
            hint=f"remove it, or the command that runs '…{MARK}', by hand",
        )
    check_settings_replaceable(file)
    folders = () if note is None else tuple(map(Path, note.folders))
    return make_settings_file_edit(file, agent.name, None, "our plugin removed", None, folders)


def is_own_agent_plugin(data: bytes) -> bool:
    """Return whether the bytes are exactly what some version of custody wrote."""
    head = _OURS.match(data)
    return head is not None and sha256(data[head.end() :]).hexdigest().encode() == head[1]


def list_plugin_hook_commands(data: bytes | None) -> list[str]:
    """Return the command that our plugin runs, edited or not; none for any other file."""
    found = _COMMAND.search(data) if data is not None and _OURS.match(data) else None
    if found is None:
        return []
    try:
        command = json.loads(found[1])
    except ValueError:
        return []  # edited
    return [command] if MARK in command else []
