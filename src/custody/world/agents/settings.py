"""What becomes of an agent's settings: our entries added, renewed or taken out; everybody else's bytes as they were.

Every outcome is proved before it is used: the new text is read again and must say what the old one said and our
entries, or without them, and nothing else. What cannot be read is refused, and the user told what to add by hand.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from custody.model.errors import InputError
from custody.world.agents import toml_text
from custody.world.agents.edit import Edit
from custody.world.agents.files import Seen, check_may_replace, look, missing_folders
from custody.world.agents.jsonc import COMMENT, Json, Node, Unreadable, parse
from custody.world.agents.known import MARK, Agent, Event, Version
from custody.world.agents.manifest import Note, digest
from custody.world.agents.swaps import Swap, swapped, taken_back, unswapped
from custody.world.agents.weaving import inserted, removed, style_of, text_of

HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class Ask:
    """What is wanted in a settings file: these events of this agent run this command."""

    agent: Agent
    command: str
    events: tuple[Event, ...]

    @classmethod
    def of(cls, agent: Agent, command: str, version: Version | None = None) -> "Ask":
        """What that version of the agent can be asked."""
        return cls(agent, command, agent.events_for(version))

    @property
    def entries(self) -> list[tuple[str, dict[str, Json]]]:
        """An entry for each event."""
        return [(event.name, self.agent.entry(event, self.command)) for event in self.events]


def settings_edit(path: Path, ask: Ask, note: Note | None = None) -> Edit:
    """The settings at ``path`` with our entries, once each, in their newest form."""
    seen = look(path)
    said = f"{len(ask.events)} events"
    try:
        if _as_wanted(seen, ask):
            kept = note or Note(path=str(path), whose=ask.agent.name, created=False, after=digest(seen.data or b""))
            return _edit(seen, ask.agent, seen.data, f"{said}, as before", kept)
        check_may_replace(seen)
        base = _without(seen, ask.agent, note)
        swaps, members = _toml_swaps(base, ask) if _is_toml(path) else _json_swaps(base, ask)
    except Unreadable as error:
        raise _refused(path, str(error), ask) from error
    after = swapped(base or b"", swaps)
    known = () if note is None or base is not None else note.folders
    new = Note(
        path=str(path),
        whose=ask.agent.name,
        created=base is None,
        after=digest(after),
        swaps=tuple(swaps),
        members=members,
        folders=known or tuple(map(str, missing_folders(seen.target))),
        users=() if note is None else note.users,
    )
    return _edit(seen, ask.agent, after, said, new)


def unsettings_edit(path: Path, agent: Agent, note: Note | None = None) -> Edit:
    """The settings at ``path`` without our entries; a file that was made for them goes."""
    seen = look(path)
    try:
        after = _without(seen, agent, note)
    except Unreadable as error:
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
    try:
        value = _value(look(path))
    except (Unreadable, InputError):
        return False
    return any(_runs_us(agent, entry) for _, entry in _entries(value))


def by_hand(ask: Ask, *, toml: bool = False) -> str:
    """What a user would add to the agent's settings to have the same."""
    if toml:
        return swapped(b"", toml_text.added(b"", ask.entries) or []).decode()
    return json.dumps(_whole(ask), ensure_ascii=False, indent=2)


def _edit(seen: Seen, agent: Agent, after: bytes | None, what: str, note: Note | None) -> Edit:
    folders = missing_folders(seen.target) if after is not None else ()
    return Edit(
        path=seen.path,
        target=seen.target,
        before=seen.data,
        after=after,
        whose=agent.name,
        what=what,
        note=note,
        folders=folders,
    )


def _refused(path: Path, problem: str, ask: Ask) -> InputError:
    snippet = by_hand(ask, toml=_is_toml(path))
    return InputError(
        f"cannot add to '{path}': {problem}",
        hint=f"nothing was changed; mend the file, choose other agents with --agent, or add this by hand:\n{snippet}",
    )


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


# Reading: values as plain dictionaries, whatever the file's language.


def _value(seen: Seen) -> dict[str, Any]:
    """What the file says; nothing at all is an empty object."""
    if seen.data is None:
        return {}
    if _is_toml(seen.path):
        return toml_text.parse(seen.data)
    node = parse(seen.data)
    return {} if node is None else _checked(node.value)


def _checked(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise Unreadable("an object is expected", 1, 1)
    return value


def _entries(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    hooks = value.get(HOOKS)
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        yield from ((event, entry) for entry in (entries if isinstance(entries, list) else ()))


def _runs_us(agent: Agent, entry: Json) -> bool:
    return any(_is_our_handler(handler) for handler in _handlers(agent, entry))


def _handlers(agent: Agent, entry: Json) -> list[Json]:
    if not agent.grouped:
        return [entry]
    handlers = entry.get(HOOKS) if isinstance(entry, dict) else None
    return handlers if isinstance(handlers, list) else []


def _is_our_handler(handler: Json) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and MARK in command


def _as_wanted(seen: Seen, ask: Ask) -> bool:
    ours = [(event, entry) for event, entry in _entries(_value(seen)) if _runs_us(ask.agent, entry)]
    return _in_order(ours) == _in_order(ask.entries)


def _in_order(entries: Sequence[tuple[str, Any]]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True, default=str) for each in entries)


# Adding.


def _whole(ask: Ask) -> dict[str, Json]:
    events: dict[str, Json] = {event: [entry] for event, entry in ask.entries}
    return {**ask.agent.fixed, HOOKS: events}


def _json_swaps(base: bytes | None, ask: Ask) -> tuple[list[Swap], tuple[str, ...]]:
    data = base or b""
    root = parse(data)
    if root is None:
        swaps, members = [_first(data, ask)], (*ask.agent.fixed, HOOKS, *(f"{HOOKS}.{name}" for name, _ in ask.entries))
    else:
        swaps, members = _woven(data, root, ask)
    _prove(swapped(data, swaps), _expected({} if root is None else _checked(root.value), ask))
    return swaps, members


def _first(data: bytes, ask: Ask) -> Swap:
    """The whole object, in a file that says nothing yet."""
    style = style_of(data, None)
    text = text_of(_whole(ask), style)
    if not data.strip().strip(b"\xef\xbb\xbf"):
        at = len(data) - len(data.lstrip(b"\xef\xbb\xbf"))
        return Swap(at, b"", text if data[at:] else text + style.newline)
    lead = b"" if data.endswith(b"\n") else style.newline
    return Swap(len(data), b"", lead + text + (b"" if lead else style.newline))


def _woven(data: bytes, root: Node, ask: Ask) -> tuple[list[Swap], tuple[str, ...]]:
    value, style = _checked(root.value), style_of(data, root)
    for key, fixed in ask.agent.fixed.items():
        if value.get(key, fixed) != fixed:
            raise _unfit(data, root, key, f"only {json.dumps(fixed)} is known")
    top: list[tuple[str | None, Json]] = [(key, fixed) for key, fixed in ask.agent.fixed.items() if key not in value]
    hooks = root.member(HOOKS)
    if hooks is None:
        events: dict[str, Json] = {event: [entry] for event, entry in ask.entries}
        new = [key for key, _ in top if key] + [HOOKS] + [f"{HOOKS}.{event}" for event in events]
        return [inserted(data, root, [*top, (HOOKS, events)], style)], tuple(new)
    if not isinstance(hooks.node.value, dict):
        raise _unfit(data, root, HOOKS, "an object is expected")
    swaps = [inserted(data, root, top, style)] if top else []
    missing: list[tuple[str | None, Json]] = []
    for event, entry in ask.entries:
        member = hooks.node.member(event)
        if member is None:
            missing.append((event, [entry]))
        elif isinstance(member.node.value, list):
            swaps.append(inserted(data, member.node, [(None, entry)], style))
        else:
            raise _unfit(data, hooks.node, event, "a list is expected")
    if missing:
        swaps.append(inserted(data, hooks.node, missing, style))
    return swaps, tuple([key for key, _ in top if key] + [f"{HOOKS}.{event}" for event, _ in missing])


def _expected(value: dict[str, Json], ask: Ask) -> dict[str, Json]:
    old = value.get(HOOKS, {})
    assert isinstance(old, dict), "it was checked"
    hooks = {event: list(entries) if isinstance(entries, list) else entries for event, entries in old.items()}
    for event, entry in ask.entries:
        entries = hooks.setdefault(event, [])
        assert isinstance(entries, list), "it was checked"
        entries.append(entry)
    return {**ask.agent.fixed, **value, HOOKS: hooks}


def _unfit(data: bytes, container: Node, key: str, problem: str) -> Unreadable:
    member = container.member(key)
    at = member.node.start if member else container.start
    line = data.count(b"\n", 0, at) + 1
    column = len(data[data.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")) + 1
    return Unreadable(f"{json.dumps(key)} is not what it should be: {problem}", line, column)


def _toml_swaps(base: bytes | None, ask: Ask) -> tuple[list[Swap], tuple[str, ...]]:
    data = base or b""
    swaps = toml_text.added(data, ask.entries)
    if swaps is None:
        raise Unreadable("there is no place for our tables in it", 1, 1)
    old = toml_text.parse(data).get(HOOKS, {})
    return swaps, tuple(f"{HOOKS}.{event}" for event, _ in ask.entries if event not in old)


def _prove(data: bytes, expected: Json) -> None:
    node = parse(data)
    if node is None or node.value != expected:
        raise AssertionError("the splice does not say what it should")


# Taking out.


def _without(seen: Seen, agent: Agent, note: Note | None) -> bytes | None:
    """The file without our entries, as bytes; None if nothing but ours was ever in it."""
    if seen.data is None:
        return None
    if note is not None and note.swaps and digest(seen.data) == note.after:
        before = unswapped(seen.data, note.swaps)
        return None if note.created and not before else before
    value = _value(seen)
    if not any(_runs_us(agent, entry) for _, entry in _entries(value)):
        return seen.data
    ours = _Ours.of(seen, agent, note)
    expected = _pruned(value, ours)
    after = next((text for text in _attempts(seen, ours, note) if _says(seen, text, expected, ours.members)), None)
    if after is None:
        raise Unreadable("our entries are not where we can take them out", 1, 1)
    return None if note is not None and note.created and not expected and after.strip() in (b"", b"{}") else after


@dataclass(frozen=True, slots=True)
class _Ours:
    """What is ours in a file: entries by what they run; of the keys, those in ``members``, None if nobody remembers.

    A key is not ours any more when somebody has written a comment beside our entries in it.
    """

    agent: Agent
    members: frozenset[str] | None
    commented: frozenset[str]

    @classmethod
    def of(cls, seen: Seen, agent: Agent, note: Note | None) -> "_Ours":
        members = None if note is None or not note.swaps else frozenset(note.members)
        return cls(agent, members, frozenset() if _is_toml(seen.path) else frozenset(_commented(seen.data or b"")))

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
    if root is None or hooks is None:
        return
    containers = {HOOKS: hooks} | {f"{HOOKS}.{event.key}": event for event in hooks.node.members}
    for key, member in containers.items():
        gaps = [(member.key_end, member.node.start), *member.node.gaps()]
        if any(COMMENT.search(data, start, end) for start, end in gaps):
            yield key


def _attempts(seen: Seen, ours: _Ours, note: Note | None) -> Iterator[bytes]:
    """Texts without our entries, the most faithful first."""
    data = seen.data or b""
    back = taken_back(data, note.swaps) if note is not None and note.swaps else None
    if back is not None:
        yield back
    if _is_toml(seen.path):
        entries = [(event, entry) for event, entry in _entries(_value(seen)) if _runs_us(ours.agent, entry)]
        bare = toml_text.without_tables(data, lambda body: MARK.encode() in body)
        yield bare
        yield toml_text.without_inline(bare, entries)
        return
    root = parse(data)
    if root is not None:
        yield swapped(data, _cuts(data, root, ours))


def _says(seen: Seen, text: bytes, expected: dict[str, Any], members: frozenset[str] | None) -> bool:
    """Whether ``text`` says what it should; without notes, nobody knows which empty lists were there before."""
    try:
        value = _value(replace(seen, data=text))
    except Unreadable:
        return False
    return value == expected if members is not None else _without_empty(value) == _without_empty(expected)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    hooks = value.get(HOOKS)
    full = {event: entries for event, entries in hooks.items() if entries} if isinstance(hooks, dict) else hooks
    return {key: each for key, each in value.items() if key != HOOKS} | ({HOOKS: full} if full else {})


def _pruned(value: dict[str, Any], ours: _Ours) -> dict[str, Any]:
    hooks = {}
    for event, entries in value[HOOKS].items():
        kept = _kept(ours.agent, entries) if isinstance(entries, list) else entries
        if kept or not entries or not ours.goes(f"{HOOKS}.{event}"):
            hooks[event] = kept
    gone = ours.gone(hooks_gone=not hooks and ours.goes(HOOKS))
    return {key: hooks if key == HOOKS else each for key, each in value.items() if key not in gone}


def _kept(agent: Agent, entries: list[Any]) -> list[Any]:
    return [_spared(agent, entry) for entry in entries if not _is_all_ours(agent, entry)]


def _is_all_ours(agent: Agent, entry: Json) -> bool:
    handlers = _handlers(agent, entry)
    return bool(handlers) and all(map(_is_our_handler, handlers))


def _spared(agent: Agent, entry: Any) -> Any:
    if not agent.grouped or not _runs_us(agent, entry):
        return entry
    return entry | {HOOKS: [handler for handler in entry[HOOKS] if not _is_our_handler(handler)]}


def _cuts(data: bytes, root: Node, ours: _Ours) -> list[Swap]:
    hooks = root.member(HOOKS)
    assert hooks is not None, "our entries are in it"
    cuts, empty = list[Swap](), set[int]()
    for number, event in enumerate(hooks.node.members):
        gone = _numbers(event.node, lambda entry: _is_all_ours(ours.agent, entry))
        if gone and len(gone) == len(event.node.members) and ours.goes(f"{HOOKS}.{event.key}"):
            empty.add(number)
        else:
            cuts += [*(removed(data, event.node, gone) if gone else ()), *_cuts_in_groups(data, event.node, ours.agent)]
    hooks_gone = len(empty) == len(hooks.node.members) and ours.goes(HOOKS)
    cuts += removed(data, hooks.node, empty) if empty and not hooks_gone else []
    keys = ours.gone(hooks_gone=hooks_gone)
    numbers = {number for number, member in enumerate(root.members) if member.key in keys}
    return cuts + (removed(data, root, numbers) if numbers else [])


def _cuts_in_groups(data: bytes, event: Node, agent: Agent) -> Iterator[Swap]:
    """Our handlers in groups that hold others too."""
    for entry in event.members:
        group = entry.node.member(HOOKS)
        mixed = _runs_us(agent, entry.node.value) and not _is_all_ours(agent, entry.node.value)
        if group is not None and mixed:
            yield from removed(data, group.node, _numbers(group.node, _is_our_handler))


def _numbers(container: Node, fits: Callable[[Json], bool]) -> set[int]:
    return {number for number, member in enumerate(container.members) if member.key is None and fits(member.node.value)}
