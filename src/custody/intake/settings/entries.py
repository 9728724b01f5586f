"""What settings say, whatever their language, and which entries in them are ours. Pure."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent, AgentEvent, ProgramVersion
from custody.intake.settings.jsonc import JsoncError, JsoncValue, parse

HOOKS = "hooks"
"""The key below which all agents that we know have their events."""


@dataclass(frozen=True, slots=True)
class HookRequest:
    """What is wanted in a settings file: these events of this agent run this command."""

    agent: Agent
    command: str
    events: tuple[AgentEvent, ...]

    @classmethod
    def of(cls, agent: Agent, command: str, version: ProgramVersion | None = None) -> "HookRequest":
        """What that version of the agent can be asked."""
        return cls(agent, command, agent.events_for(version))

    @property
    def entries(self) -> list[tuple[str, dict[str, JsoncValue]]]:
        """An entry for each event."""
        return [(event.name, self.agent.entry(event, self.command)) for event in self.events]

    @property
    def whole(self) -> dict[str, JsoncValue]:
        """All that a file has to say that has nothing else to say."""
        events: dict[str, JsoncValue] = {event: [entry] for event, entry in self.entries}
        return {**self.agent.fixed, HOOKS: events}


def value_of(data: bytes | None, *, toml: bool) -> dict[str, Any]:
    """What a file says; nothing at all is an empty object."""
    if data is None:
        return {}
    if toml:
        return toml_text.parse(data)
    node = parse(data)
    return {} if node is None else as_object(node.value)


def as_object(value: JsoncValue) -> dict[str, JsoncValue]:
    """``value``, which must be an object."""
    if not isinstance(value, dict):
        raise JsoncError("an object is expected", 1, 1)
    return value


def entries_in(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every entry with the name of its event, ours and others'."""
    hooks = value.get(HOOKS)
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        yield from ((event, entry) for entry in (entries if isinstance(entries, list) else ()))


def ours_in(value: Mapping[str, Any], agent: Agent) -> list[tuple[str, Any]]:
    """The entries that run us, at whatever place, with the names of their events."""
    return [(event, entry) for event, entry in entries_in(value) if runs_us(agent, entry)]


def is_as_wanted(value: Mapping[str, Any], ask: HookRequest) -> bool:
    """Whether our entries are there, each once, and as they would be written now."""
    return _in_order(ours_in(value, ask.agent)) == _in_order(ask.entries)


def runs_us(agent: Agent, entry: JsoncValue) -> bool:
    """Whether an entry, or a handler in its group, runs us."""
    return any(is_our_handler(handler) for handler in _handlers(agent, entry))


def is_all_ours(agent: Agent, entry: JsoncValue) -> bool:
    """Whether an entry runs us and nothing else."""
    handlers = _handlers(agent, entry)
    return bool(handlers) and all(map(is_our_handler, handlers))


def is_our_handler(handler: JsoncValue) -> bool:
    """Whether a handler runs us."""
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and MARK in command


def our_commands(value: Mapping[str, Any], agent: Agent) -> list[str]:
    """What our entries run, each command once."""
    handlers = [handler for _, entry in ours_in(value, agent) for handler in _handlers(agent, entry)]
    commands = [str(each["command"]) for each in handlers if isinstance(each, dict) and is_our_handler(each)]
    return list(dict.fromkeys(commands))


def hook_in(command: str) -> Path | None:
    """The copy of the hook that a command of ours runs; None when it cannot be told."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None  # somebody edited it into something that no shell reads
    return next((Path(word) for word in words if word.endswith(MARK)), None)


def interpreter_in(command: str) -> Path | None:
    """The interpreter that a command of ours runs where it is there; None when it cannot be told."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((Path(path) for sign, path in pairwise(words) if sign == "-x" and path.startswith("/")), None)


def at_key(value: Mapping[str, Any], key: str) -> Any:
    """What stands under a key with dots between levels; None where there is nothing."""
    found: Any = value
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def spared(agent: Agent, entries: list[Any]) -> list[Any]:
    """The entries without ours; of a group that holds others too, the others stay."""
    return [_without_ours(agent, entry) for entry in entries if not is_all_ours(agent, entry)]


def _without_ours(agent: Agent, entry: Any) -> Any:
    if not agent.grouped or not runs_us(agent, entry):
        return entry
    return entry | {HOOKS: [handler for handler in entry[HOOKS] if not is_our_handler(handler)]}


def _handlers(agent: Agent, entry: JsoncValue) -> list[JsoncValue]:
    if not agent.grouped:
        return [entry]
    handlers = entry.get(HOOKS) if isinstance(entry, dict) else None
    return handlers if isinstance(handlers, list) else []


def _in_order(entries: Sequence[tuple[str, Any]]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True, default=str) for each in entries)
