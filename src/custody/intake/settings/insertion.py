"""The few bytes that bring our entries into a settings file. Pure, and proved: the new text is read again."""

import json
from collections.abc import Mapping

from custody.intake.settings import toml_text
from custody.intake.settings.byte_swap import ByteSwap, apply_swaps
from custody.intake.settings.entries import HOOKS, HookRequest, as_object
from custody.intake.settings.jsonc import BOM, JsoncError, JsoncNode, JsoncValue, parse
from custody.intake.settings.jsonc_edit import Items, Style, inserted, style_of, text_of

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
