"""Changes of an agent's settings: our entries are added, updated or removed; all other bytes stay.

An unreadable file is rejected with a message about what to add or remove by hand.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import CustodyError, InputError
from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent, ProgramVersion
from custody.intake.settings.edit import Edit, make_settings_file_edit
from custody.intake.settings.entries import (
    HOOKS,
    HookRequest,
    find_own_hook_entries,
    has_own_hook_handler,
    has_requested_hooks,
    is_own_hook_entry,
    is_own_hook_handler,
    list_own_hook_commands,
    parse_agent_settings,
    read_dotted_setting,
    remove_own_hook_entries,
    require_settings_object,
)
from custody.intake.settings.files import (
    SettingsFile,
    check_settings_replaceable,
    list_missing_settings_folders,
    read_settings_file,
)
from custody.intake.settings.jsonc import (
    BOM,
    COMMENT,
    Items,
    JsoncError,
    JsoncNode,
    JsoncValue,
    Style,
    detect_jsonc_style,
    insert_jsonc_members,
    parse_jsonc_settings,
    remove_jsonc_members,
    render_jsonc_value,
)
from custody.intake.settings.manifest import (
    ByteSwap,
    ManifestEntry,
    apply_byte_swaps,
    digest_settings_bytes,
    revert_byte_swaps,
    undo_exact_byte_swaps,
)
from custody.intake.settings.plugin import list_plugin_hook_commands, make_agent_plugin_edit, make_plugin_removal_edit

# Insertion of our entries. The new text is parsed again and must have the expected value.


InsertionResult = tuple[list[ByteSwap], tuple[str, ...]]
"""The insertions, and the new keys, with dots between levels."""


def insert_hook_entries(data: bytes, request: HookRequest, *, toml: bool) -> InsertionResult:
    """Return the insertions that add our entries to ``data``, which has none; ``JsoncError`` if they do not fit."""
    return _insert_toml_hook_entries(data, request) if toml else _insert_json_hook_entries(data, request)


def _insert_toml_hook_entries(data: bytes, request: HookRequest) -> InsertionResult:
    swaps = toml_text.append_toml_hook_entries(data, request.entries)
    if swaps is None:
        raise JsoncError("cannot place our tables in this file", 1, 1)
    old = toml_text.parse_toml_settings(data).get(HOOKS, {})
    return swaps, tuple(f"{HOOKS}.{event}" for event, _ in request.entries if event not in old)


def _insert_json_hook_entries(data: bytes, request: HookRequest) -> InsertionResult:
    root = parse_jsonc_settings(data)
    value = {} if root is None else require_settings_object(root.value)
    swaps = (
        [_render_first_hook_settings(data, request)] if root is None else _merge_into_hook_settings(data, root, request)
    )
    node = parse_jsonc_settings(apply_byte_swaps(data, swaps))
    if node is None or node.value != _expected_hook_settings(value, request):
        raise AssertionError("the inserted text does not parse as expected")
    return swaps, _list_new_settings_keys(value, request)


def _render_first_hook_settings(data: bytes, request: HookRequest) -> ByteSwap:
    """Return the whole object, for an empty file."""
    style = detect_jsonc_style(data, None)
    text = render_jsonc_value(request.whole, style)
    start = len(BOM) if data.startswith(BOM) else 0
    if not data[start:].strip():
        return ByteSwap(start, b"", text if data[start:] else text + style.newline)
    lead = b"" if data.endswith(b"\n") else style.newline
    return ByteSwap(len(data), b"", lead + text + (b"" if lead else style.newline))


def _merge_into_hook_settings(data: bytes, root: JsoncNode, request: HookRequest) -> list[ByteSwap]:
    """Return the insertions into an existing object: required keys, and our entries after those of others."""
    style = detect_jsonc_style(data, root)
    top = _find_missing_fixed_settings(data, root, request)
    hooks = root.member(HOOKS)
    if hooks is None:
        return [insert_jsonc_members(data, root, [*top, (HOOKS, request.whole[HOOKS])], style)]
    if not isinstance(hooks.node.value, dict):
        raise _make_unfit_settings_error(data, root, HOOKS, "an object is expected")
    return ([insert_jsonc_members(data, root, top, style)] if top else []) + _insert_into_hooks_object(
        data, hooks.node, request, style
    )


def _find_missing_fixed_settings(
    data: bytes, root: JsoncNode, request: HookRequest
) -> list[tuple[str | None, JsoncValue]]:
    value = require_settings_object(root.value)
    for key, fixed in request.agent.fixed.items():
        if value.get(key, fixed) != fixed:
            raise _make_unfit_settings_error(data, root, key, f"only {json.dumps(fixed)} is known")
    return [(key, fixed) for key, fixed in request.agent.fixed.items() if key not in value]


def _insert_into_hooks_object(data: bytes, hooks: JsoncNode, request: HookRequest, style: Style) -> list[ByteSwap]:
    swaps = list[ByteSwap]()
    missing: list[tuple[str | None, JsoncValue]] = []
    for event, entry in request.entries:
        member = hooks.member(event)
        if member is None:
            missing.append((event, [entry]))
        elif isinstance(member.node.value, list):
            items: Items = [(None, entry)]
            swaps.append(insert_jsonc_members(data, member.node, items, style))
        else:
            raise _make_unfit_settings_error(data, hooks, event, "a list is expected")
    return swaps + ([insert_jsonc_members(data, hooks, missing, style)] if missing else [])


def _expected_hook_settings(value: Mapping[str, JsoncValue], request: HookRequest) -> dict[str, JsoncValue]:
    old = value.get(HOOKS, {})
    assert isinstance(old, dict), "it was checked"
    hooks = dict(old)
    for event, entry in request.entries:
        entries = hooks.get(event, [])
        assert isinstance(entries, list), "it was checked"
        hooks[event] = [*entries, entry]
    return {**request.agent.fixed, **value, HOOKS: hooks}


def _list_new_settings_keys(value: Mapping[str, JsoncValue], request: HookRequest) -> tuple[str, ...]:
    hooks = value.get(HOOKS)
    events = hooks if isinstance(hooks, dict) else {}
    top = [key for key in (*request.agent.fixed, HOOKS) if key not in value]
    return (*top, *(f"{HOOKS}.{event}" for event, _ in request.entries if event not in events))


def _make_unfit_settings_error(data: bytes, container: JsoncNode, key: str, problem: str) -> JsoncError:
    member = container.member(key)
    return JsoncError.at(
        data, f"invalid {json.dumps(key)}: {problem}", member.node.start if member else container.start
    )


# Removal of our entries: byte for byte the old file if it was not edited since, else with all other edits.
# The result is parsed again and must equal the parsed file without our entries.


def remove_own_hook_settings(data: bytes, agent: Agent, note: ManifestEntry | None, *, toml: bool) -> bytes | None:
    """Return ``data`` without our entries; None if the file was created for them and has nothing else."""
    if note is not None and note.swaps and digest_settings_bytes(data) == note.after:
        before = undo_exact_byte_swaps(data, note.swaps)
        return None if note.created and not before else before
    value = parse_agent_settings(data, toml=toml)
    if not find_own_hook_entries(value, agent):
        return data
    ours = _OwnEntries.of(data, agent, note, toml=toml)
    expected = _prune_own_hook_settings(value, ours)
    after = next(
        (text for text in _try_hook_removals(data, ours, note) if _matches_expected_settings(text, expected, ours)),
        None,
    )
    if after is None:
        raise JsoncError("cannot remove our entries from here", 1, 1)
    return None if note is not None and note.created and after.strip() in (b"", b"{}") else after


class _OwnEntries(Struct, frozen=True):
    """Our part of a file: entries by what they run, and the keys in ``members``; None if no note lists them.

    A key is no longer ours if it has a comment next to our entries.
    """

    agent: Agent
    toml: bool
    members: frozenset[str] | None
    commented: frozenset[str]

    @classmethod
    def of(cls, data: bytes, agent: Agent, note: ManifestEntry | None, *, toml: bool) -> "_OwnEntries":
        members = None if note is None or not note.swaps else frozenset(note.members)
        return cls(agent, toml, members, frozenset() if toml else frozenset(_list_commented_hook_keys(data)))

    def is_removed_key(self, key: str) -> bool:
        """Return whether ``key`` is removed if it is empty without our entries."""
        return key not in self.commented and (self.members is None or key in self.members)

    def list_removed_keys(self, *, hooks_gone: bool) -> set[str]:
        """Return the top-level keys to remove: empty hooks, and keys that we added and that no other hook needs."""
        added = set(self.agent.fixed) & (self.members or set())
        if hooks_gone:
            return {HOOKS} | added
        return added if self.members is not None and HOOKS not in self.members else set()


def _list_commented_hook_keys(data: bytes) -> Iterator[str]:
    root = parse_jsonc_settings(data)
    hooks = None if root is None else root.member(HOOKS)
    if hooks is None:
        return
    containers = {HOOKS: hooks} | {f"{HOOKS}.{event.key}": event for event in hooks.node.members}
    for key, member in containers.items():
        gaps = [(member.key_end, member.node.start), *member.node.gaps()]
        if any(COMMENT.search(data, start, end) for start, end in gaps):
            yield key


def _prune_own_hook_settings(value: dict[str, Any], ours: _OwnEntries) -> dict[str, Any]:
    hooks = {}
    for event, entries in value[HOOKS].items():
        kept = remove_own_hook_entries(ours.agent, entries) if isinstance(entries, list) else entries
        if kept or not entries or not ours.is_removed_key(f"{HOOKS}.{event}"):
            hooks[event] = kept
    gone = ours.list_removed_keys(hooks_gone=not hooks and ours.is_removed_key(HOOKS))
    return {key: hooks if key == HOOKS else each for key, each in value.items() if key not in gone}


def _matches_expected_settings(text: bytes, expected: dict[str, Any], ours: _OwnEntries) -> bool:
    """Return whether ``text`` parses as expected; without notes, empty lists are ignored."""
    try:
        value = parse_agent_settings(text, toml=ours.toml)
    except JsoncError:
        return False
    return (
        value == expected
        if ours.members is not None
        else _drop_empty_hook_events(value) == _drop_empty_hook_events(expected)
    )


def _drop_empty_hook_events(value: dict[str, Any]) -> dict[str, Any]:
    hooks = value.get(HOOKS)
    full = {event: entries for event, entries in hooks.items() if entries} if isinstance(hooks, dict) else hooks
    return {key: each for key, each in value.items() if key != HOOKS} | ({HOOKS: full} if full else {})


def _try_hook_removals(data: bytes, ours: _OwnEntries, note: ManifestEntry | None) -> Iterator[bytes]:
    """Yield texts without our entries, the most faithful first."""
    back = revert_byte_swaps(data, note.swaps) if note is not None and note.swaps else None
    if back is not None:
        yield back
    if ours.toml:
        bare = toml_text.remove_toml_hook_tables(data, lambda body: MARK.encode() in body)
        yield bare
        yield toml_text.remove_inline_hook_entries(
            bare, find_own_hook_entries(parse_agent_settings(data, toml=True), ours.agent)
        )
        return
    root = parse_jsonc_settings(data)
    if root is not None:
        yield apply_byte_swaps(data, _cut_own_hook_entries(data, root, ours))


def _cut_own_hook_entries(data: bytes, root: JsoncNode, ours: _OwnEntries) -> list[ByteSwap]:
    hooks = root.member(HOOKS)
    assert hooks is not None, "our entries are in it"
    cuts, empty = list[ByteSwap](), set[int]()
    for number, event in enumerate(hooks.node.members):
        gone = _find_jsonc_member_numbers(event.node, lambda entry: is_own_hook_entry(ours.agent, entry))
        if gone and len(gone) == len(event.node.members) and ours.is_removed_key(f"{HOOKS}.{event.key}"):
            empty.add(number)
        else:
            cuts += [
                *(remove_jsonc_members(data, event.node, gone) if gone else ()),
                *_cut_own_group_handlers(data, event.node, ours.agent),
            ]
    hooks_gone = len(empty) == len(hooks.node.members) and ours.is_removed_key(HOOKS)
    cuts += remove_jsonc_members(data, hooks.node, empty) if empty and not hooks_gone else []
    keys = ours.list_removed_keys(hooks_gone=hooks_gone)
    numbers = {number for number, member in enumerate(root.members) if member.key in keys}
    return cuts + (remove_jsonc_members(data, root, numbers) if numbers else [])


def _cut_own_group_handlers(data: bytes, event: JsoncNode, agent: Agent) -> Iterator[ByteSwap]:
    """Yield cuts of our handlers in groups that have others too."""
    for entry in event.members:
        group = entry.node.member(HOOKS)
        mixed = has_own_hook_handler(agent, entry.node.value) and not is_own_hook_entry(agent, entry.node.value)
        if group is not None and mixed:
            yield from remove_jsonc_members(
                data, group.node, _find_jsonc_member_numbers(group.node, is_own_hook_handler)
            )


def _find_jsonc_member_numbers(container: JsoncNode, fits: Callable[[JsoncValue], bool]) -> set[int]:
    return {number for number, member in enumerate(container.members) if member.key is None and fits(member.node.value)}


def make_agent_settings_edit(path: Path, request: HookRequest, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that adds our entries to the settings at ``path``, or writes our plugin there."""
    if request.agent.plugin is not None:
        return make_agent_plugin_edit(path, request, note)
    file, toml = read_settings_file(path), _is_toml_settings_file(path)
    what = f"{len(request.events)} events"
    try:
        if has_requested_hooks(parse_agent_settings(file.data, toml=toml), request):
            kept = note or ManifestEntry(
                path=str(path), whose=request.agent.name, created=False, after=digest_settings_bytes(file.data or b"")
            )
            return _edit_agent_settings(file, request.agent, file.data, f"{what}, unchanged", kept)
        check_settings_replaceable(file)
        base = None if file.data is None else remove_own_hook_settings(file.data, request.agent, note, toml=toml)
        swaps, members = insert_hook_entries(base or b"", request, toml=toml)
    except JsoncError as error:
        raise InputError(
            f"cannot add to '{path}': {error}",
            hint="nothing was changed; fix the file, choose other agents with --agent, or add this by hand:\n"
            + render_manual_hook_steps(request, toml=toml),
        ) from error
    after = apply_byte_swaps(base or b"", swaps)
    made = () if note is None or base is not None else note.folders
    new = ManifestEntry(
        path=str(path),
        whose=request.agent.name,
        created=base is None,
        after=digest_settings_bytes(after),
        swaps=tuple(swaps),
        members=members,
        folders=made or tuple(map(str, list_missing_settings_folders(file.target))),
        users=() if note is None else note.users,
    )
    return _edit_agent_settings(file, request.agent, after, what, new)


def make_settings_removal_edit(path: Path, agent: Agent, note: ManifestEntry | None = None) -> Edit:
    """Return the edit that removes our entries from ``path``; a file that was created for them is deleted."""
    if agent.plugin is not None:
        return make_plugin_removal_edit(path, agent, note)
    file = read_settings_file(path)
    try:
        after = (
            None
            if file.data is None
            else remove_own_hook_settings(file.data, agent, note, toml=_is_toml_settings_file(path))
        )
    except JsoncError as error:
        raise InputError(
            f"cannot read '{path}': {error}",
            hint=f"fix it, or remove the entries that run '…{MARK}' by hand",
        ) from error
    if after == file.data:
        return _edit_agent_settings(file, agent, after, "nothing to remove", None)
    check_settings_replaceable(file)
    edit = _edit_agent_settings(file, agent, after, "our entries removed", None)
    return edit if note is None else replace(edit, folders=tuple(map(Path, note.folders)))


def has_own_hook_settings(path: Path, agent: Agent) -> bool:
    """Return whether an entry of ours is at ``path``; False for a file that cannot be read."""
    return bool(list_settings_hook_commands(path, agent))


def list_settings_hook_commands(path: Path, agent: Agent) -> list[str]:
    """Return the commands of our entries at ``path``; none for a file that cannot be read."""
    try:
        if agent.plugin is not None:
            return list_plugin_hook_commands(read_settings_file(path).data)
        return list_own_hook_commands(
            parse_agent_settings(read_settings_file(path).data, toml=_is_toml_settings_file(path)), agent
        )
    except (JsoncError, CustodyError):
        return []


def list_missing_hook_events(path: Path, agent: Agent, version: ProgramVersion | None) -> list[str]:
    """Return the events that this version of the agent supports and that have no entry of ours at ``path``."""
    if agent.plugin is not None:
        return []
    try:
        present = {
            event
            for event, _ in find_own_hook_entries(
                parse_agent_settings(read_settings_file(path).data, toml=_is_toml_settings_file(path)), agent
            )
        }
    except (JsoncError, CustodyError):
        present = set()
    return [event.name for event in agent.events_for(version) if event.name not in present]


def find_settings_problem(path: Path, agent: Agent) -> str | None:
    """Return why the settings at ``path`` cannot be read; None if they can, or do not exist."""
    try:
        data = read_settings_file(path).data
        if agent.plugin is None:
            parse_agent_settings(data, toml=_is_toml_settings_file(path))
    except (JsoncError, CustodyError) as error:
        return error.message if isinstance(error, CustodyError) else str(error)
    return None


def find_hooks_off_setting(path: Path, agent: Agent) -> str | None:
    """Return the setting at ``path`` that disables the agent's hooks; empty if one enables them, None without one."""
    try:
        value = (
            parse_agent_settings(read_settings_file(path).data, toml=_is_toml_settings_file(path)) if agent.off else {}
        )
    except (JsoncError, CustodyError):
        return None
    states = {
        key: read_dotted_setting(value, key) == off
        for key, off in agent.off.items()
        if read_dotted_setting(value, key) is not None
    }
    return next((key for key, is_off in states.items() if is_off), "") if states else None


def render_manual_hook_steps(request: HookRequest, *, toml: bool = False) -> str:
    """Return the entries that a user must add to the agent's settings by hand."""
    if toml:
        return apply_byte_swaps(b"", toml_text.append_toml_hook_entries(b"", request.entries) or []).decode()
    return json.dumps(request.whole, ensure_ascii=False, indent=2)


def _edit_agent_settings(
    file: SettingsFile, agent: Agent, after: bytes | None, what: str, note: ManifestEntry | None
) -> Edit:
    return make_settings_file_edit(
        file, agent.name, after, what, note, () if after is None else list_missing_settings_folders(file.target)
    )


def _is_toml_settings_file(path: Path) -> bool:
    return path.suffix == ".toml"
