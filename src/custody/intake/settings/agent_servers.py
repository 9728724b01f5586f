"""The entries of ``custody mcp`` in agents' settings: added, brought up to date and removed; all other bytes stay.

Sources, to be checked again when an agent changes (autumn 2026): Claude Code reads ``.mcp.json`` and asks before it
uses a server of it; Cursor ``.cursor/mcp.json``; Codex ``.codex/config.toml`` in trusted projects; Gemini CLI
``.gemini/settings.json``; opencode ``opencode.json``; VS Code ``.vscode/mcp.json``.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from custody.core.errors import InputError
from custody.intake.settings.edit import Edit, make_settings_file_edit
from custody.intake.settings.entries import parse_agent_settings
from custody.intake.settings.files import check_settings_replaceable, list_missing_settings_folders, read_settings_file
from custody.intake.settings.jsonc import (
    JsoncError,
    JsoncValue,
    detect_jsonc_style,
    insert_jsonc_members,
    parse_jsonc_settings,
    remove_jsonc_members,
    render_jsonc_value,
)
from custody.intake.settings.manifest import apply_byte_swaps

NAME = "custody"
VERB = "mcp"
_TABLE = re.compile(rb"\n?^\[mcp_servers\.custody\][ \t]*\n(?:(?!\[).*(?:\n|\Z))*?(?=^\[|\Z|^\s*\n)", re.MULTILINE)


class AgentServer(Struct, frozen=True):
    """Where an agent lists servers: the file in the work tree and the key; ``typed`` entries name their transport."""

    project: str
    key: str
    typed: bool = False
    joined: bool = False
    """Whether the command and its arguments are one list."""

    def make_entry(self, command: Sequence[str]) -> dict[str, JsoncValue]:
        """Return the entry that starts ``command``."""
        if self.joined:
            return {"type": "local", "command": [*command], "enabled": True}
        entry: dict[str, JsoncValue] = {"type": "stdio"} if self.typed else {}
        return entry | {"command": command[0], "args": [*command[1:]]}


SERVERS: Mapping[str, AgentServer] = MappingProxyType(
    {
        "claude-code": AgentServer(".mcp.json", "mcpServers", typed=True),
        "codex": AgentServer(".codex/config.toml", "mcp_servers"),
        "copilot": AgentServer(".vscode/mcp.json", "servers", typed=True),
        "cursor": AgentServer(".cursor/mcp.json", "mcpServers"),
        "gemini": AgentServer(".gemini/settings.json", "mcpServers"),
        "opencode": AgentServer("opencode.json", "mcp", joined=True),
    }
)
"""The agents that can start a server, by name."""


def make_server_edit(path: Path, agent: str, command: Sequence[str]) -> Edit:
    """Return the edit that adds our entry for ``agent``; an ``InputError`` if another one has our name."""
    server = SERVERS[agent]
    entry = server.make_entry(command)
    try:
        value, base = _read_without_ours(path, server)
        if NAME in _read_servers(value, server):
            raise InputError(f"'{path}' lists another server '{NAME}'", hint="rename or remove it; nothing was changed")
        after = _add_toml(base, entry) if path.suffix == ".toml" else _add_json(base, server, entry)
        expected = {**value, server.key: {**_read_servers(value, server), NAME: entry}}
        if _parse(after, path) != expected:
            raise JsoncError("cannot add our entry here", 1, 1)
    except (JsoncError, tomllib.TOMLDecodeError) as error:
        manual = json.dumps({server.key: {NAME: entry}}, ensure_ascii=False)
        raise InputError(
            f"cannot add to '{path}': {error}", hint=f"nothing was changed; add by hand: {manual}"
        ) from error
    file = read_settings_file(path)
    if file.data == after:
        return make_settings_file_edit(file, agent, after, "server, unchanged")
    check_settings_replaceable(file)
    folders = tuple(list_missing_settings_folders(file.target))
    return make_settings_file_edit(file, agent, after, "server", None, folders)


def make_server_removal_edit(path: Path, agent: str) -> Edit | None:
    """Return the edit that removes our entry; a file with nothing else is deleted. None without an entry of ours."""
    file = read_settings_file(path)
    server = SERVERS[agent]
    try:
        if not has_own_server(_parse(file.data or b"", path), server):
            return None
        _, after = _read_without_ours(path, server)
    except (JsoncError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read '{path}': {error}", hint=f"remove the server '{NAME}' by hand") from error
    check_settings_replaceable(file)
    left = None if after.strip() in (b"", b"{}") else after
    return make_settings_file_edit(file, agent, left, "our server removed")


def has_own_server(value: Mapping[str, Any], server: AgentServer) -> bool:
    """Return whether the settings have a server of our name that starts custody."""
    entry = _read_servers(value, server).get(NAME)
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    words = command if isinstance(command, list) else [command, *_list_arguments(entry)]
    texts = [str(word) for word in words]
    return texts[-1:] == [VERB] and any(NAME in Path(text).name for text in texts[:-1])


def _list_arguments(entry: Mapping[str, Any]) -> list[Any]:
    arguments = entry.get("args")
    return arguments if isinstance(arguments, list) else []


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    return parse_agent_settings(data, toml=path.suffix == ".toml") if data.strip() else {}


def _read_servers(value: Mapping[str, Any], server: AgentServer) -> dict[str, Any]:
    servers = value.get(server.key, {})
    if not isinstance(servers, dict):
        raise JsoncError(f'invalid "{server.key}": an object is expected', 1, 1)
    return servers


def _read_without_ours(path: Path, server: AgentServer) -> tuple[dict[str, Any], bytes]:
    """Return the settings without our entry, as a value and as bytes."""
    data = read_settings_file(path).data or b""
    value = _parse(data, path)
    if not has_own_server(value, server):
        return value, data
    others = {name: entry for name, entry in _read_servers(value, server).items() if name != NAME}
    rest = {key: each for key, each in value.items() if key != server.key} | ({server.key: others} if others else {})
    after = _TABLE.sub(b"", data) if path.suffix == ".toml" else _remove_json(data, server, is_last=not others)
    if _parse(after, path) != rest:
        raise JsoncError("cannot remove our entry from here", 1, 1)
    return rest, after


def _remove_json(data: bytes, server: AgentServer, *, is_last: bool) -> bytes:
    root = parse_jsonc_settings(data)
    assert root is not None, "our entry is in it"
    servers = root.member(server.key)
    assert servers is not None, "our entry is in it"
    container, key = (root, server.key) if is_last else (servers.node, NAME)
    gone = {number for number, member in enumerate(container.members) if member.key == key}
    return apply_byte_swaps(data, remove_jsonc_members(data, container, gone))


def _add_json(data: bytes, server: AgentServer, entry: dict[str, JsoncValue]) -> bytes:
    root = parse_jsonc_settings(data)
    style = detect_jsonc_style(data, root)
    if root is None:
        return data + render_jsonc_value({server.key: {NAME: entry}}, style) + style.newline
    if not isinstance(root.value, dict):
        raise JsoncError("an object is expected", 1, 1)
    servers = root.member(server.key)
    if servers is None:
        return apply_byte_swaps(data, [insert_jsonc_members(data, root, [(server.key, {NAME: entry})], style)])
    return apply_byte_swaps(data, [insert_jsonc_members(data, servers.node, [(NAME, entry)], style)])


def _add_toml(data: bytes, entry: Mapping[str, JsoncValue]) -> bytes:
    lead = b"" if not data else b"\n" if data.endswith(b"\n") else b"\n\n"
    rows = [f"[mcp_servers.{NAME}]", *(f"{key} = {json.dumps(each)}" for key, each in entry.items())]
    return data + lead + "\n".join(rows).encode() + b"\n"
