"""What becomes of an agent's settings: our entries added, renewed or taken out; everybody else's bytes as they were.

What cannot be read is refused, and the user told what to add or remove by hand.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from custody.core.errors import CustodyError, InputError
from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent, ProgramVersion
from custody.intake.settings.edit import Edit, edit_of
from custody.intake.settings.entries import (
    HOOKS,
    HookRequest,
    as_object,
    at_key,
    is_all_ours,
    is_as_wanted,
    is_our_handler,
    our_commands,
    ours_in,
    runs_us,
    spared,
    value_of,
)
from custody.intake.settings.files import SettingsFile, check_may_replace, list_missing_folders, look
from custody.intake.settings.jsonc import (
    BOM,
    COMMENT,
    Items,
    JsoncError,
    JsoncNode,
    JsoncValue,
    Style,
    inserted,
    parse,
    remove_members,
    style_of,
    text_of,
)
from custody.intake.settings.manifest import ByteSwap, ManifestEntry, apply_swaps, digest, revert_swaps, unswapped
from custody.intake.settings.plugin import plugin_edit, plugin_runs, unplugin_edit

# The few bytes that bring our entries into a settings file. Pure, and proved: the new text is read again.


InsertionResult = tuple[list[ByteSwap], tuple[str, ...]]
"""What is put in, and the keys that were not there before, with dots between levels."""


def insert_entries(data: bytes, ask: HookRequest, *, toml: bool) -> InsertionResult:
    """Our entries in ``data``, which has none of them; an ``JsoncError`` when there is no place for them."""
    return _in_toml(data, ask) if toml else _in_json(data, ask)


def _in_toml(data: bytes, ask: HookRequest) -> InsertionResult:
    swaps = toml_text.append_toml_entries(data, ask.entries)
    if swaps is None:
        raise JsoncError("there is no place for our tables in it", 1, 1)
    old = toml_text.parse(data).get(HOOKS, {})
    return swaps, tuple(f"{HOOKS}.{event}" for event, _ in ask.entries if event not in old)


def _in_json(data: bytes, ask: HookRequest) -> InsertionResult:
    root = parse(data)
    value = {} if root is None else as_object(root.value)
    swaps = [_first(data, ask)] if root is None else _woven(data, root, ask)
    node = parse(apply_swaps(data, swaps))
    if node is None or node.value != _expected(value, ask):
        raise AssertionError("the splice does not say what it should")
    return swaps, _new_keys(value, ask)


def _first(data: bytes, ask: HookRequest) -> ByteSwap:
    """The whole object, in a file that says nothing yet."""
    style = style_of(data, None)
    text = text_of(ask.whole, style)
    start = len(BOM) if data.startswith(BOM) else 0
    if not data[start:].strip():
        return ByteSwap(start, b"", text if data[start:] else text + style.newline)
    lead = b"" if data.endswith(b"\n") else style.newline
    return ByteSwap(len(data), b"", lead + text + (b"" if lead else style.newline))


def _woven(data: bytes, root: JsoncNode, ask: HookRequest) -> list[ByteSwap]:
    """Into the object that is there: what it must say, and our entries, below new events or behind those of others."""
    style = style_of(data, root)
    top = _top(data, root, ask)
    hooks = root.member(HOOKS)
    if hooks is None:
        return [inserted(data, root, [*top, (HOOKS, ask.whole[HOOKS])], style)]
    if not isinstance(hooks.node.value, dict):
        raise _unfit(data, root, HOOKS, "an object is expected")
    return ([inserted(data, root, top, style)] if top else []) + _into_hooks(data, hooks.node, ask, style)


def _top(data: bytes, root: JsoncNode, ask: HookRequest) -> list[tuple[str | None, JsoncValue]]:
    value = as_object(root.value)
    for key, fixed in ask.agent.fixed.items():
        if value.get(key, fixed) != fixed:
            raise _unfit(data, root, key, f"only {json.dumps(fixed)} is known")
    return [(key, fixed) for key, fixed in ask.agent.fixed.items() if key not in value]


def _into_hooks(data: bytes, hooks: JsoncNode, ask: HookRequest, style: Style) -> list[ByteSwap]:
    swaps = list[ByteSwap]()
    missing: list[tuple[str | None, JsoncValue]] = []
    for event, entry in ask.entries:
        member = hooks.member(event)
        if member is None:
            missing.append((event, [entry]))
        elif isinstance(member.node.value, list):
            items: Items = [(None, entry)]
            swaps.append(inserted(data, member.node, items, style))
        else:
            raise _unfit(data, hooks, event, "a list is expected")
    return swaps + ([inserted(data, hooks, missing, style)] if missing else [])


def _expected(value: Mapping[str, JsoncValue], ask: HookRequest) -> dict[str, JsoncValue]:
    old = value.get(HOOKS, {})
    assert isinstance(old, dict), "it was checked"
    hooks = dict(old)
    for event, entry in ask.entries:
        entries = hooks.get(event, [])
        assert isinstance(entries, list), "it was checked"
        hooks[event] = [*entries, entry]
    return {**ask.agent.fixed, **value, HOOKS: hooks}


def _new_keys(value: Mapping[str, JsoncValue], ask: HookRequest) -> tuple[str, ...]:
    hooks = value.get(HOOKS)
    events = hooks if isinstance(hooks, dict) else {}
    top = [key for key in (*ask.agent.fixed, HOOKS) if key not in value]
    return (*top, *(f"{HOOKS}.{event}" for event, _ in ask.entries if event not in events))


def _unfit(data: bytes, container: JsoncNode, key: str, problem: str) -> JsoncError:
    member = container.member(key)
    return JsoncError.at(
        data, f"{json.dumps(key)} is not what it should be: {problem}", member.node.start if member else container.start
    )


# A settings file without our entries: exactly as it was if nobody has touched it, else with every edit of others.
# Pure, and proved: whichever way it is done, the outcome is read again and must say what the file said without ours.


def without_ours(data: bytes, agent: Agent, note: ManifestEntry | None, *, toml: bool) -> bytes | None:
    """``data`` without our entries; None if the file was made for them and holds nothing else."""
    if note is not None and note.swaps and digest(data) == note.after:
        before = unswapped(data, note.swaps)
        return None if note.created and not before else before
    value = value_of(data, toml=toml)
    if not ours_in(value, agent):
        return data
    ours = _OwnEntries.of(data, agent, note, toml=toml)
    expected = _pruned(value, ours)
    after = next((text for text in _attempts(data, ours, note) if _says(text, expected, ours)), None)
    if after is None:
        raise JsoncError("our entries are not where we can take them out", 1, 1)
    return None if note is not None and note.created and after.strip() in (b"", b"{}") else after


@dataclass(frozen=True, slots=True)
class _OwnEntries:
    """What is ours in a file: entries by what they run; of the keys, those in ``members``, None if nobody remembers.

    A key is not ours any more when somebody has written a comment beside our entries in it.
    """

    agent: Agent
    toml: bool
    members: frozenset[str] | None
    commented: frozenset[str]

    @classmethod
    def of(cls, data: bytes, agent: Agent, note: ManifestEntry | None, *, toml: bool) -> "_OwnEntries":
        members = None if note is None or not note.swaps else frozenset(note.members)
        return cls(agent, toml, members, frozenset() if toml else frozenset(_commented(data)))

    def goes(self, key: str) -> bool:
        """Whether ``key`` goes when it is empty without our entries."""
        return key not in self.commented and (self.members is None or key in self.members)

    def gone(self, *, hooks_gone: bool) -> set[str]:
        """What goes at the top: emptied hooks, and what we had to add, unless somebody's hooks may count on it now."""
        added = set(self.agent.fixed) & (self.members or set())
        if hooks_gone:
            return {HOOKS} | added
        return added if self.members is not None and HOOKS not in self.members else set()


def _commented(data: bytes) -> Iterator[str]:
    root = parse(data)
    hooks = None if root is None else root.member(HOOKS)
    if hooks is None:
        return
    containers = {HOOKS: hooks} | {f"{HOOKS}.{event.key}": event for event in hooks.node.members}
    for key, member in containers.items():
        gaps = [(member.key_end, member.node.start), *member.node.gaps()]
        if any(COMMENT.search(data, start, end) for start, end in gaps):
            yield key


# What it should say.


def _pruned(value: dict[str, Any], ours: _OwnEntries) -> dict[str, Any]:
    hooks = {}
    for event, entries in value[HOOKS].items():
        kept = spared(ours.agent, entries) if isinstance(entries, list) else entries
        if kept or not entries or not ours.goes(f"{HOOKS}.{event}"):
            hooks[event] = kept
    gone = ours.gone(hooks_gone=not hooks and ours.goes(HOOKS))
    return {key: hooks if key == HOOKS else each for key, each in value.items() if key not in gone}


def _says(text: bytes, expected: dict[str, Any], ours: _OwnEntries) -> bool:
    """Whether ``text`` says what it should; without notes, nobody knows which empty lists were there before."""
    try:
        value = value_of(text, toml=ours.toml)
    except JsoncError:
        return False
    return value == expected if ours.members is not None else _without_empty(value) == _without_empty(expected)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    hooks = value.get(HOOKS)
    full = {event: entries for event, entries in hooks.items() if entries} if isinstance(hooks, dict) else hooks
    return {key: each for key, each in value.items() if key != HOOKS} | ({HOOKS: full} if full else {})


# How it may come to say that.


def _attempts(data: bytes, ours: _OwnEntries, note: ManifestEntry | None) -> Iterator[bytes]:
    """Texts without our entries, the most faithful first."""
    back = revert_swaps(data, note.swaps) if note is not None and note.swaps else None
    if back is not None:
        yield back
    if ours.toml:
        bare = toml_text.without_tables(data, lambda body: MARK.encode() in body)
        yield bare
        yield toml_text.without_inline(bare, ours_in(value_of(data, toml=True), ours.agent))
        return
    root = parse(data)
    if root is not None:
        yield apply_swaps(data, _cuts(data, root, ours))


def _cuts(data: bytes, root: JsoncNode, ours: _OwnEntries) -> list[ByteSwap]:
    hooks = root.member(HOOKS)
    assert hooks is not None, "our entries are in it"
    cuts, empty = list[ByteSwap](), set[int]()
    for number, event in enumerate(hooks.node.members):
        gone = _numbers(event.node, lambda entry: is_all_ours(ours.agent, entry))
        if gone and len(gone) == len(event.node.members) and ours.goes(f"{HOOKS}.{event.key}"):
            empty.add(number)
        else:
            cuts += [
                *(remove_members(data, event.node, gone) if gone else ()),
                *_cuts_in_groups(data, event.node, ours.agent),
            ]
    hooks_gone = len(empty) == len(hooks.node.members) and ours.goes(HOOKS)
    cuts += remove_members(data, hooks.node, empty) if empty and not hooks_gone else []
    keys = ours.gone(hooks_gone=hooks_gone)
    numbers = {number for number, member in enumerate(root.members) if member.key in keys}
    return cuts + (remove_members(data, root, numbers) if numbers else [])


def _cuts_in_groups(data: bytes, event: JsoncNode, agent: Agent) -> Iterator[ByteSwap]:
    """Our handlers in groups that hold others too."""
    for entry in event.members:
        group = entry.node.member(HOOKS)
        mixed = runs_us(agent, entry.node.value) and not is_all_ours(agent, entry.node.value)
        if group is not None and mixed:
            yield from remove_members(data, group.node, _numbers(group.node, is_our_handler))


def _numbers(container: JsoncNode, fits: Callable[[JsoncValue], bool]) -> set[int]:
    return {number for number, member in enumerate(container.members) if member.key is None and fits(member.node.value)}


def settings_edit(path: Path, ask: HookRequest, note: ManifestEntry | None = None) -> Edit:
    """The settings at ``path`` with our entries, once each, in their newest form; or our plugin there."""
    if ask.agent.plugin is not None:
        return plugin_edit(path, ask, note)
    seen, toml = look(path), _is_toml(path)
    what = f"{len(ask.events)} events"
    try:
        if is_as_wanted(value_of(seen.data, toml=toml), ask):
            kept = note or ManifestEntry(
                path=str(path), whose=ask.agent.name, created=False, after=digest(seen.data or b"")
            )
            return _edit(seen, ask.agent, seen.data, f"{what}, as before", kept)
        check_may_replace(seen)
        base = None if seen.data is None else without_ours(seen.data, ask.agent, note, toml=toml)
        swaps, members = insert_entries(base or b"", ask, toml=toml)
    except JsoncError as error:
        raise InputError(
            f"cannot add to '{path}': {error}",
            hint="nothing was changed; mend the file, choose other agents with --agent, or add this by hand:\n"
            + render_manual_steps(ask, toml=toml),
        ) from error
    after = apply_swaps(base or b"", swaps)
    made = () if note is None or base is not None else note.folders
    new = ManifestEntry(
        path=str(path),
        whose=ask.agent.name,
        created=base is None,
        after=digest(after),
        swaps=tuple(swaps),
        members=members,
        folders=made or tuple(map(str, list_missing_folders(seen.target))),
        users=() if note is None else note.users,
    )
    return _edit(seen, ask.agent, after, what, new)


def unsettings_edit(path: Path, agent: Agent, note: ManifestEntry | None = None) -> Edit:
    """The settings at ``path`` without our entries; a file that was made for them goes."""
    if agent.plugin is not None:
        return unplugin_edit(path, agent, note)
    seen = look(path)
    try:
        after = None if seen.data is None else without_ours(seen.data, agent, note, toml=_is_toml(path))
    except JsoncError as error:
        raise InputError(
            f"cannot read '{path}': {error}",
            hint=f"mend it, or remove the entries that run '…{MARK}' by hand",
        ) from error
    if after == seen.data:
        return _edit(seen, agent, after, "nothing of ours is there", None)
    check_may_replace(seen)
    edit = _edit(seen, agent, after, "our entries taken out", None)
    return edit if note is None else replace(edit, folders=tuple(map(Path, note.folders)))


def settings_in_use(path: Path, agent: Agent) -> bool:
    """Whether an entry of ours is at ``path``; False also for a file that cannot be read."""
    return bool(settings_run(path, agent))


def settings_run(path: Path, agent: Agent) -> list[str]:
    """The commands of our entries at ``path``; none also for a file that cannot be read."""
    try:
        if agent.plugin is not None:
            return plugin_runs(look(path).data)
        return our_commands(value_of(look(path).data, toml=_is_toml(path)), agent)
    except (JsoncError, CustodyError):
        return []


def settings_lack(path: Path, agent: Agent, version: ProgramVersion | None) -> list[str]:
    """The events for which nothing of ours stands at ``path``, which that version of the agent can be asked."""
    if agent.plugin is not None:
        return []
    try:
        asked = {event for event, _ in ours_in(value_of(look(path).data, toml=_is_toml(path)), agent)}
    except (JsoncError, CustodyError):
        asked = set()
    return [event.name for event in agent.events_for(version) if event.name not in asked]


def settings_trouble(path: Path, agent: Agent) -> str | None:
    """Why the settings at ``path`` cannot be read; None when they can, or there are none."""
    try:
        data = look(path).data
        if agent.plugin is None:
            value_of(data, toml=_is_toml(path))
    except (JsoncError, CustodyError) as error:
        return error.message if isinstance(error, CustodyError) else str(error)
    return None


def settings_off(path: Path, agent: Agent) -> str | None:
    """The setting at ``path`` that turns the agent's hooks off; empty where one leaves them on, None where none is."""
    try:
        value = value_of(look(path).data, toml=_is_toml(path)) if agent.off else {}
    except (JsoncError, CustodyError):
        return None
    said = {key: at_key(value, key) == off for key, off in agent.off.items() if at_key(value, key) is not None}
    return next((key for key, is_off in said.items() if is_off), "") if said else None


def render_manual_steps(ask: HookRequest, *, toml: bool = False) -> str:
    """What a user would add to the agent's settings to have the same."""
    if toml:
        return apply_swaps(b"", toml_text.append_toml_entries(b"", ask.entries) or []).decode()
    return json.dumps(ask.whole, ensure_ascii=False, indent=2)


def _edit(seen: SettingsFile, agent: Agent, after: bytes | None, what: str, note: ManifestEntry | None) -> Edit:
    return edit_of(seen, agent.name, after, what, note, () if after is None else list_missing_folders(seen.target))


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"
