"""Settings as values, from JSON or TOML, and which of their entries are ours. Pure."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent, AgentEvent, ProgramVersion
from custody.intake.settings.jsonc import JsoncError, JsoncValue, parse_jsonc_settings

HOOKS = "hooks"
"""The key of the events in the settings of all agents."""


class HookRequest(Struct, frozen=True):
    """The entries for a settings file: these events of this agent run this command."""

    agent: Agent
    command: str
    events: tuple[AgentEvent, ...]

    @classmethod
    def of(cls, agent: Agent, command: str, version: ProgramVersion | None = None) -> "HookRequest":
        """Return the request for the events of that version of the agent."""
        return cls(agent, command, agent.events_for(version))

    @property
    def entries(self) -> list[tuple[str, dict[str, JsoncValue]]]:
        """Return an entry for each event."""
        return [(event.name, self.agent.entry(event, self.command)) for event in self.events]

    @property
    def whole(self) -> dict[str, JsoncValue]:
        """Return the content of a file with only these entries."""
        events: dict[str, JsoncValue] = {event: [entry] for event, entry in self.entries}
        return {**self.agent.fixed, HOOKS: events}


def parse_agent_settings(data: bytes | None, *, toml: bool) -> dict[str, Any]:
    """Return the settings of a file; an empty file is an empty object."""
    if data is None:
        return {}
    if toml:
        return toml_text.parse_toml_settings(data)
    node = parse_jsonc_settings(data)
    return {} if node is None else require_settings_object(node.value)


def require_settings_object(value: JsoncValue) -> dict[str, JsoncValue]:
    """Return ``value``, or raise an error if it is not an object."""
    if not isinstance(value, dict):
        raise JsoncError("an object is expected", 1, 1)
    return value


def iterate_hook_entries(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every entry with the name of its event, ours and others."""
    hooks = value.get(HOOKS)
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        yield from ((event, entry) for entry in (entries if isinstance(entries, list) else ()))


def find_own_hook_entries(value: Mapping[str, Any], agent: Agent) -> list[tuple[str, Any]]:
    """Return the entries that run our hook, in any folder, with the names of their events."""
    return [(event, entry) for event, entry in iterate_hook_entries(value) if has_own_hook_handler(agent, entry)]


def has_requested_hooks(value: Mapping[str, Any], request: HookRequest) -> bool:
    """Return whether each of our entries exists once, and as it would be written now."""
    return _sort_hook_entries(find_own_hook_entries(value, request.agent)) == _sort_hook_entries(request.entries)


def has_own_hook_handler(agent: Agent, entry: JsoncValue) -> bool:
    """Return whether an entry, or a handler in its group, runs our hook."""
    return any(is_own_hook_handler(handler) for handler in _list_hook_handlers(agent, entry))


def is_own_hook_entry(agent: Agent, entry: JsoncValue) -> bool:
    """Return whether an entry runs only our hook."""
    handlers = _list_hook_handlers(agent, entry)
    return bool(handlers) and all(map(is_own_hook_handler, handlers))


def is_own_hook_handler(handler: JsoncValue) -> bool:
    """Return whether a handler runs our hook."""
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and MARK in command


def list_own_hook_commands(value: Mapping[str, Any], agent: Agent) -> list[str]:
    """Return the commands of our entries, each once."""
    handlers = [
        handler for _, entry in find_own_hook_entries(value, agent) for handler in _list_hook_handlers(agent, entry)
    ]
    commands = [str(each["command"]) for each in handlers if isinstance(each, dict) and is_own_hook_handler(each)]
    return list(dict.fromkeys(commands))


def hook_path_from_command(command: str) -> Path | None:
    """Return the copy of the hook that our command runs; None if it cannot be parsed."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None  # edited into something that a shell cannot parse
    return next((Path(word) for word in words if word.endswith(MARK)), None)


def interpreter_from_hook_command(command: str) -> Path | None:
    """Return the interpreter that our command prefers; None if it cannot be parsed."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((Path(path) for test, path in pairwise(words) if test == "-x" and path.startswith("/")), None)


def read_dotted_setting(value: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key with dots between levels; None if it is missing."""
    setting: Any = value
    for part in key.split("."):
        setting = setting.get(part) if isinstance(setting, dict) else None
    return setting


def remove_own_hook_entries(agent: Agent, entries: list[Any]) -> list[Any]:
    """Return the entries without ours; in a mixed group the others stay."""
    return [_remove_own_hook_handlers(agent, entry) for entry in entries if not is_own_hook_entry(agent, entry)]


def _remove_own_hook_handlers(agent: Agent, entry: Any) -> Any:
    if not agent.grouped or not has_own_hook_handler(agent, entry):
        return entry
    return entry | {HOOKS: [handler for handler in entry[HOOKS] if not is_own_hook_handler(handler)]}


def _list_hook_handlers(agent: Agent, entry: JsoncValue) -> list[JsoncValue]:
    if not agent.grouped:
        return [entry]
    handlers = entry.get(HOOKS) if isinstance(entry, dict) else None
    return handlers if isinstance(handlers, list) else []


def _sort_hook_entries(entries: Sequence[tuple[str, Any]]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True, default=str) for each in entries)
