"""Adding tables to a TOML text and taking them out again, without touching a byte of the rest. Pure.

There is no scanner for TOML here. Each way of adding or removing is tried and then proved: both texts are read by
``tomllib``, and the second must say what the first says and our entries, nothing else.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from custody.intake.settings.jsonc import JsoncError, JsoncValue
from custody.intake.settings.manifest import ByteSwap, apply_swaps

PLACES_MAX = 500
"""How many brackets are tried as the place for an entry inside a one-line table."""

_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_HEADER = re.compile(rb"[ \t]*\[")
_PAIR = re.compile(rb"[ \t]*[A-Za-z_]+[ \t]*=")

Entries = Sequence[tuple[str, dict[str, JsoncValue]]]


def parse(data: bytes) -> dict[str, Any]:
    """The tables in ``data``."""
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise JsoncError("this is not UTF-8", data.count(b"\n", 0, error.start) + 1, 1) from error
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (data.count(b"\n") + 1, 1)
        raise JsoncError(_PLACE.sub("", str(error)).strip(), line, column) from error


def append_toml_entries(data: bytes, entries: Entries) -> list[ByteSwap] | None:
    """The swaps that append each entry to ``hooks.<event>``; None when there is no place for one."""
    value = parse(data)
    if not _has_room(value, entries):
        return None
    at_the_end = _appended(data, entries)
    if _proved(data, at_the_end, _with(value, entries)):
        return at_the_end
    new = [(event, entry) for event, entry in entries if event not in value.get("hooks", {})]
    old = [[(event, entry)] for event, entry in entries if event in value.get("hooks", {})]
    swaps = list[ByteSwap]()
    for some in [*old, *([new] if new else [])]:
        found = _somewhere(data, some, _with(value, some))
        if found is None:
            return None
        swaps += found
    return swaps if _proved(data, swaps, _with(value, entries)) else None


def without_tables(data: bytes, is_ours: Callable[[bytes], bool]) -> bytes:
    """``data`` without the ``[[hooks.Event]]`` tables that run us: found by their headers, comments are left alone."""
    lines = data.splitlines(keepends=True)
    gone = set[int]()
    for number, line in enumerate(lines):
        handler = re.match(rb"[ \t]*\[\[hooks\.(\w+)\.hooks\]\]", line)
        body = _body(lines, number)
        if handler and is_ours(b"".join(lines[n] for n in body)):
            gone |= {number, *body} | _group_around(lines, number, handler[1])
    gone |= {number - 1 for number in gone if number and number - 1 not in gone and not lines[number - 1].strip()}
    return b"".join(line for number, line in enumerate(lines) if number not in gone)


def without_inline(data: bytes, entries: Entries) -> bytes:
    """``data`` without these entries where they stand inside arrays as ``append_toml_entries`` writes them."""
    for event, entry in entries:
        text = re.escape(_inline(entry))
        pair = rf"(?<![\w-]){event} = \[{text}\]"
        forms = (rf", {pair}", rf"{pair}, ", pair, rf", {text}", rf" ?{text}")
        found = next(filter(None, (re.search(form.encode(), data) for form in forms)), None)
        data = data if found is None else data[: found.start()] + data[found.end() :]
    return data


def _has_room(value: dict[str, Any], entries: Entries) -> bool:
    hooks = value.get("hooks", {})
    return isinstance(hooks, dict) and all(isinstance(hooks.get(event, []), list) for event, _ in entries)


def _appended(data: bytes, entries: Entries) -> list[ByteSwap]:
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    ends_open = bool(data) and not data.endswith(b"\n")
    swaps = list[ByteSwap]()
    for event, entry in entries:
        block = newline.join(line.encode() for line in _table(event, entry))
        lead = newline + newline if ends_open else newline if data or swaps else b""
        swaps.append(ByteSwap(len(data), b"", lead + block + (b"" if ends_open else newline)))
    return swaps


def _table(event: str, entry: Mapping[str, JsoncValue]) -> Iterator[str]:
    yield f"[[hooks.{event}]]"
    yield from (f"{key} = {_inline(value)}" for key, value in entry.items() if key != "hooks")
    handlers = entry["hooks"]
    assert isinstance(handlers, list)
    for handler in handlers:
        assert isinstance(handler, dict)
        yield f"[[hooks.{event}.hooks]]"
        yield from (f"{key} = {_inline(value)}" for key, value in handler.items())


def _somewhere(data: bytes, entries: Entries, expected: dict[str, Any]) -> list[ByteSwap] | None:
    """Entries of one table: as tables at the end, else before the bracket that proves to be the right one."""
    at_the_end = _appended(data, entries)
    if _proved(data, at_the_end, expected):
        return at_the_end
    known = entries[0][0] in parse(data).get("hooks", {})
    texts = [_inline(entry) if known else f"{event} = [{_inline(entry)}]" for event, entry in entries]
    bracket, text = (b"]" if known else b"}"), ", ".join(texts).encode()
    for place in [found.start() for found in re.finditer(re.escape(bracket), data)][-PLACES_MAX:]:
        for lead in (b", ", b" ", b""):
            swap = ByteSwap(place, b"", lead + text)
            if _proved(data, [swap], expected):
                return [swap]
    return None


def _with(value: dict[str, Any], entries: Entries) -> dict[str, Any]:
    old = value.get("hooks", {})
    hooks = {event: list(groups) if isinstance(groups, list) else groups for event, groups in old.items()}
    for event, entry in entries:
        hooks.setdefault(event, []).append(entry)
    return value | {"hooks": hooks}


def _proved(data: bytes, swaps: Sequence[ByteSwap], expected: dict[str, Any]) -> bool:
    try:
        return parse(apply_swaps(data, swaps)) == expected
    except JsoncError:
        return False


def _inline(value: JsoncValue) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # strings, numbers and truth are written as in JSON


def _body(lines: list[bytes], header: int) -> list[int]:
    """The lines of a table's own pairs, which follow its header without a gap."""
    body = list[int]()
    for number in range(header + 1, len(lines)):
        if not _PAIR.match(lines[number]):
            break
        body.append(number)
    return body


def _group_around(lines: list[bytes], handler: int, event: bytes) -> set[int]:
    """The lines of the group that holds this handler, if it holds no other."""
    header = next((n for n in range(handler - 1, -1, -1) if _HEADER.match(lines[n])), None)
    follower = next((n for n in range(handler + 1, len(lines)) if _HEADER.match(lines[n])), None)
    alone = follower is None or not lines[follower].lstrip().startswith(b"[[hooks." + event + b".hooks]]")
    if header is None or lines[header].strip() != b"[[hooks." + event + b"]]" or not alone:
        return set()
    return {header, *_body(lines, header)}
