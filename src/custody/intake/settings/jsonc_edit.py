"""Where an entry goes into a JSONC text and how one comes out of it, in the text's own style. Pure.

Only places are decided here; whether the outcome means what it should, ``settings.py`` proves by reading it again.
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from custody.intake.settings.byte_swap import ByteSwap
from custody.intake.settings.jsonc import COMMENT, JsoncNode, JsoncValue

Items = Sequence[tuple[str | None, JsoncValue]]
"""What goes into a container: names and values, or None and values for an array."""

_BLANK = b" \t\r\n"
_SAME_LINE_COMMENT = re.compile(rb"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = re.compile(rb"[ \t]*")
_LINE_END = re.compile(rb"[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is laid out: its line ends, one step of indentation, and whether all of it is on one line."""

    newline: bytes = b"\n"
    step: bytes = b"  "
    one_line: bool = False


def style_of(data: bytes, root: JsoncNode | None) -> Style:
    """The style of a text, so that what is added looks as if its author had written it."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    if root is None or not root.members:
        return Style(newline)
    first = root.members[0].start
    step = data[_line_start(data, first) : first]
    if data.find(b"\n", root.start, first) < 0 or step.strip(b" \t") or not step:
        return Style(newline, one_line=b"\n" not in data[root.start : root.end])
    return Style(newline, step)


def text_of(value: JsoncValue, style: Style, indent: bytes = b"") -> bytes:
    """``value`` as JSON in that style; lines after the first begin with ``indent``."""
    if style.one_line:
        return json.dumps(value, ensure_ascii=False).encode()
    lines = json.dumps(value, ensure_ascii=False, indent=style.step.decode()).encode().split(b"\n")
    return (style.newline + indent).join(lines)


def inserted(data: bytes, container: JsoncNode, items: Items, style: Style) -> ByteSwap:
    """``items`` at the end of ``container``, behind a comment that belongs to its last line."""
    if not container.members:
        return _into_empty(data, container, items, style)
    first, last = container.members[0], container.members[-1]
    end = last.node.end if last.comma is None else last.comma + 1
    comma = b"," if last.comma is None else b""
    if data.find(b"\n", container.start, first.start) < 0:
        texts = (_named(key, text_of(value, Style(one_line=True))) for key, value in items)
        return ByteSwap(end, b"", comma + b" " + b", ".join(texts))
    indent = _indent_at(data, first.start)
    behind = _behind_comments(data, end)
    return ByteSwap(end, data[end:behind], comma + data[end:behind] + _lines(items, style, indent))


def remove_members(data: bytes, container: JsoncNode, gone: Collection[int]) -> list[ByteSwap]:
    """``container`` without its members number ``gone``: their commas and the space before them go with them."""
    members = container.members
    cuts = [cut for number in sorted(gone) for cut in _cut(data, container, number)]
    kept = [number for number in range(len(members)) if number not in gone]
    ends_bare = bool(members) and members[-1].comma is None
    if not kept:
        inner = data[cuts[-1].at + len(cuts[-1].was) : container.end - 1]
        if not inner.strip(_BLANK):
            cuts[-1] = ByteSwap(cuts[-1].at, cuts[-1].was + inner, b"")
    elif ends_bare and kept[-1] != len(members) - 1:
        comma = members[kept[-1]].comma
        assert comma is not None, "others follow it"
        cuts.append(ByteSwap(comma, b",", b""))
    return _joined(cuts)


def _into_empty(data: bytes, container: JsoncNode, items: Items, style: Style) -> ByteSwap:
    start, end = container.start + 1, container.end - 1
    for comment in COMMENT.finditer(data, start, end):
        start = comment.end()
    if style.one_line:
        texts = (_named(key, text_of(value, style)) for key, value in items)
        return ByteSwap(start, b"", b", ".join(texts))
    around = _indent_at(data, container.start)
    closing = b"" if b"\n" in data[start:end] else style.newline + around
    return ByteSwap(start, b"", _lines(items, style, around + style.step) + closing)


def _lines(items: Items, style: Style, indent: bytes) -> bytes:
    spread = Style(style.newline, style.step)
    texts = (style.newline + indent + _named(key, text_of(value, spread, indent)) for key, value in items)
    return b",".join(texts)


def _named(key: str | None, text: bytes) -> bytes:
    return text if key is None else json.dumps(key, ensure_ascii=False).encode() + b": " + text


def _behind_comments(data: bytes, at: int) -> int:
    while match := _SAME_LINE_COMMENT.match(data, at):
        at = match.end()
    return at


def _line_start(data: bytes, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1


def _indent_at(data: bytes, at: int) -> bytes:
    match = _INDENT.match(data, _line_start(data, at), at)
    return match[0] if match else b""


def _cut(data: bytes, container: JsoncNode, number: int) -> list[ByteSwap]:
    """A member and its comma: in one piece, unless somebody's comment stands between them."""
    member = container.members[number]
    before = container.members[number - 1] if number else None
    floor = container.start if before is None or before.comma is None else before.comma
    apart = member.comma is not None and COMMENT.search(data, member.node.end, member.comma) is not None
    end = member.node.end if member.comma is None or apart else member.comma + 1
    comments = list(COMMENT.finditer(data, floor + 1, member.start))
    start = comments[-1].end() if comments else floor + 1
    if comments and comments[-1][0].startswith(b"//"):
        # The line end belongs to somebody's comment: go from line start to line start instead.
        start = _line_start(data, member.start)
        rest = _LINE_END.match(data, end)
        end = rest.end() if rest else end
    comma = [ByteSwap(member.comma, b",", b"")] if apart and member.comma is not None else []
    return [ByteSwap(start, data[start:end], b""), *comma]


def _joined(cuts: list[ByteSwap]) -> list[ByteSwap]:
    """The same cuts, in order, with those that touch or overlap as one."""
    joined = list[ByteSwap]()
    for cut in sorted(cuts, key=lambda cut: cut.at):
        if joined and cut.at <= joined[-1].at + len(joined[-1].was):
            last = joined.pop()
            cut = ByteSwap(last.at, last.was + cut.was[last.at + len(last.was) - cut.at :], b"")
        joined.append(cut)
    return joined
