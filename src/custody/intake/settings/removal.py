"""A settings file without our entries: exactly as it was if nobody has touched it, else with every edit of others.

Pure, and proved: whichever way it is done, the outcome is read again and must say what the file said without ours.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import MARK, Agent
from custody.intake.settings.byte_swap import ByteSwap, apply_swaps, revert_swaps, unswapped
from custody.intake.settings.entries import HOOKS, is_all_ours, is_our_handler, ours_in, runs_us, spared, value_of
from custody.intake.settings.jsonc import COMMENT, JsoncError, JsoncNode, JsoncValue, parse
from custody.intake.settings.jsonc_edit import remove_members
from custody.intake.settings.manifest import ManifestEntry, digest


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
