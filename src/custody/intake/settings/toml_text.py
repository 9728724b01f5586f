"""Adding tables to a TOML text and removing them again, without changing any other byte. Pure.

This module has no TOML scanner. It tries each way of adding or removing and checks the result: ``tomllib`` parses both
texts, and the second must equal the first with our entries added.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from custody.core.patterns import lazy_pattern
from custody.intake.settings.jsonc import JsoncError, JsoncValue
from custody.intake.settings.manifest import ByteSwap, apply_byte_swaps

PLACES_MAX = 500
"""How many brackets are tried as the place for an entry inside a one-line table."""

_PLACE = lazy_pattern(r"\(at line (\d+), column (\d+)\)")
_HEADER = lazy_pattern(rb"[ \t]*\[")
_PAIR = lazy_pattern(rb"[ \t]*[A-Za-z_]+[ \t]*=")

Entries = Sequence[tuple[str, dict[str, JsoncValue]]]


def parse_toml_settings(data: bytes) -> dict[str, Any]:
    """Return the tables in ``data``."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise JsoncError("not UTF-8", data.count(b"\n", 0, error.start) + 1, 1) from error
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (data.count(b"\n") + 1, 1)
        raise JsoncError(_PLACE.sub("", str(error)).strip(), line, column) from error


def append_toml_hook_entries(data: bytes, entries: Entries) -> list[ByteSwap] | None:
    """Return the swaps that append each entry to ``hooks.<event>``; None if one does not fit."""
    value = parse_toml_settings(data)
    if not _can_append_hook_entries(value, entries):
        return None
    at_the_end = _append_toml_hook_tables(data, entries)
    if _is_toml_splice_valid(data, at_the_end, _add_hook_entries(value, entries)):
        return at_the_end
    new = [(event, entry) for event, entry in entries if event not in value.get("hooks", {})]
    old = [[(event, entry)] for event, entry in entries if event in value.get("hooks", {})]
    swaps = list[ByteSwap]()
    for some in [*old, *([new] if new else [])]:
        found = _place_toml_hook_entries(data, some, _add_hook_entries(value, some))
        if found is None:
            return None
        swaps += found
    return swaps if _is_toml_splice_valid(data, swaps, _add_hook_entries(value, entries)) else None


def remove_toml_hook_tables(data: bytes, is_ours: Callable[[bytes], bool]) -> bytes:
    """``data`` without the ``[[hooks.Event]]`` tables that run us: found by their headers, comments are left alone."""
    lines = data.splitlines(keepends=True)
    gone = set[int]()
    for number, line in enumerate(lines):
        handler = re.match(rb"[ \t]*\[\[hooks\.(\w+)\.hooks\]\]", line)
        body = _find_toml_table_lines(lines, number)
        if handler and is_ours(b"".join(lines[n] for n in body)):
            gone |= {number, *body} | _find_hook_group_lines(lines, number, handler[1])
    gone |= {number - 1 for number in gone if number and number - 1 not in gone and not lines[number - 1].strip()}
    return b"".join(line for number, line in enumerate(lines) if number not in gone)


def remove_inline_hook_entries(data: bytes, entries: Entries) -> bytes:
    """Return ``data`` without these entries inside arrays, as ``append_toml_hook_entries`` writes them."""
    for event, entry in entries:
        text = re.escape(_render_inline_toml(entry))
        pair = rf"(?<![\w-]){event} = \[{text}\]"
        forms = (rf", {pair}", rf"{pair}, ", pair, rf", {text}", rf" ?{text}")
        found = next(filter(None, (re.search(form.encode(), data) for form in forms)), None)
        data = data if found is None else data[: found.start()] + data[found.end() :]
    return data


def _can_append_hook_entries(value: dict[str, Any], entries: Entries) -> bool:
    hooks = value.get("hooks", {})
    return isinstance(hooks, dict) and all(isinstance(hooks.get(event, []), list) for event, _ in entries)


def _append_toml_hook_tables(data: bytes, entries: Entries) -> list[ByteSwap]:
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    ends_open = bool(data) and not data.endswith(b"\n")
    swaps = list[ByteSwap]()
    for event, entry in entries:
        block = newline.join(line.encode() for line in _render_toml_hook_table(event, entry))
        lead = newline + newline if ends_open else newline if data or swaps else b""
        swaps.append(ByteSwap(len(data), b"", lead + block + (b"" if ends_open else newline)))
    return swaps


def _render_toml_hook_table(event: str, entry: Mapping[str, JsoncValue]) -> Iterator[str]:
    yield f"[[hooks.{event}]]"
    yield from (f"{key} = {_render_inline_toml(value)}" for key, value in entry.items() if key != "hooks")
    handlers = entry["hooks"]
    assert isinstance(handlers, list)
    for handler in handlers:
        assert isinstance(handler, dict)
        yield f"[[hooks.{event}.hooks]]"
        yield from (f"{key} = {_render_inline_toml(value)}" for key, value in handler.items())


def _place_toml_hook_entries(data: bytes, entries: Entries, expected: dict[str, Any]) -> list[ByteSwap] | None:
    """Return the swaps for entries of one table: as tables at the end, else before the bracket that fits."""
    at_the_end = _append_toml_hook_tables(data, entries)
    if _is_toml_splice_valid(data, at_the_end, expected):
        return at_the_end
    known = entries[0][0] in parse_toml_settings(data).get("hooks", {})
    texts = [
        _render_inline_toml(entry) if known else f"{event} = [{_render_inline_toml(entry)}]" for event, entry in entries
    ]
    bracket, text = (b"]" if known else b"}"), ", ".join(texts).encode()
    for place in [found.start() for found in re.finditer(re.escape(bracket), data)][-PLACES_MAX:]:
        for lead in (b", ", b" ", b""):
            swap = ByteSwap(place, b"", lead + text)
            if _is_toml_splice_valid(data, [swap], expected):
                return [swap]
    return None


def _add_hook_entries(value: dict[str, Any], entries: Entries) -> dict[str, Any]:
    old = value.get("hooks", {})
    hooks = {event: list(groups) if isinstance(groups, list) else groups for event, groups in old.items()}
    for event, entry in entries:
        hooks.setdefault(event, []).append(entry)
    return value | {"hooks": hooks}


def _is_toml_splice_valid(data: bytes, swaps: Sequence[ByteSwap], expected: dict[str, Any]) -> bool:
    try:
        return parse_toml_settings(apply_byte_swaps(data, swaps)) == expected
    except JsoncError:
        return False


def _render_inline_toml(value: JsoncValue) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_render_inline_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_render_inline_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # strings, numbers and truth are written as in JSON


def _find_toml_table_lines(lines: list[bytes], header: int) -> list[int]:
    """Return the lines of a table's own pairs, which follow its header without a gap."""
    body = list[int]()
    for number in range(header + 1, len(lines)):
        if not _PAIR.match(lines[number]):
            break
        body.append(number)
    return body


def _find_hook_group_lines(lines: list[bytes], handler: int, event: bytes) -> set[int]:
    """Return the lines of the group of this handler, if it has no other."""
    header = next((n for n in range(handler - 1, -1, -1) if _HEADER.match(lines[n])), None)
    follower = next((n for n in range(handler + 1, len(lines)) if _HEADER.match(lines[n])), None)
    alone = follower is None or not lines[follower].lstrip().startswith(b"[[hooks." + event + b".hooks]]")
    if header is None or lines[header].strip() != b"[[hooks." + event + b"]]" or not alone:
        return set()
    return {header, *_find_toml_table_lines(lines, header)}
