"""A parser for JSON with comments and trailing commas that records the position of each value. Pure.

Strict otherwise: RFC 8259, UTF-8, no repeated key. Every agent's own parser reads such a text the same way, so an
insertion at these positions has the expected meaning.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from custody.core.patterns import lazy_pattern
from custody.intake.settings.manifest import ByteSwap

NESTING_MAX = 128
BOM = b"\xef\xbb\xbf"

JsoncValue = None | bool | int | float | str | list["JsoncValue"] | dict[str, "JsoncValue"]

COMMENT = lazy_pattern(rb"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
# No possessive group here: before Python 3.11.5 one that holds backtracking matches wrongly (gh-106052).
_TRIVIA = lazy_pattern(rb"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*", re.DOTALL)
_STRING = lazy_pattern(rb'"(?:[^"\\\x00-\x1f]++|\\.)*"', re.DOTALL)
_NUMBER = lazy_pattern(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: tuple[tuple[bytes, JsoncValue], ...] = ((b"true", True), (b"false", False), (b"null", None))
_DIGITS_MAX = 300


class JsoncError(ValueError):
    """The bytes are invalid; ``line`` and ``column`` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")

    @classmethod
    def at(cls, data: bytes, problem: str, place: int) -> "JsoncError":
        """Return the error for a position in ``data``; columns count characters."""
        line_start = data.rfind(b"\n", 0, place) + 1
        column = len(data[line_start:place].decode("utf-8", "replace")) + 1
        return cls(problem, data.count(b"\n", 0, place) + 1, column)


class JsoncMember(Struct, frozen=True):
    """One entry of an object or an array: from ``start`` (its key's, in an object) to ``node.end``.

    ``key_end`` is the end of its key (in an array, its start); ``comma`` the position of the comma after it, if any.
    """

    key: str | None
    start: int
    key_end: int
    node: "JsoncNode"
    comma: int | None


class JsoncNode(Struct, frozen=True):
    """A value and its position: from ``start`` up to ``end``, brackets included."""

    value: JsoncValue
    start: int
    end: int
    members: tuple[JsoncMember, ...] = ()

    def member(self, key: str) -> JsoncMember | None:
        """Return the member of that name."""
        return next((member for member in self.members if member.key == key), None)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield the parts between its brackets outside its members: space, comments, commas and colons."""
        at = self.start + 1
        for member in self.members:
            yield at, member.start
            yield member.key_end, member.node.start
            at = member.node.end
        yield at, self.end - 1


def parse_jsonc_settings(data: bytes) -> JsoncNode | None:
    """Return the value in ``data``; None if there are only space and comments."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsoncError.at(data, "not UTF-8", error.start) from error
    scanner = _JsoncScanner(data)
    scanner.skip()
    if scanner.at == len(data):
        return None
    node = scanner.value(0)
    scanner.skip()
    if scanner.at != len(data):
        raise scanner.error_at("unexpected text after the value")
    return node


class _JsoncScanner:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = len(BOM) if data.startswith(BOM) else 0

    def skip(self) -> None:
        match = _TRIVIA.match(self.data, self.at)
        assert match is not None, "it matches nothing at least"
        self.at = match.end()
        if self.data.startswith(b"/*", self.at):
            raise self.error_at("unclosed comment")

    def error_at(self, problem: str, at: int | None = None) -> JsoncError:
        return JsoncError.at(self.data, problem, self.at if at is None else at)

    def value(self, depth: int) -> JsoncNode:
        if depth > NESTING_MAX:
            raise self.error_at(f"more than {NESTING_MAX} levels")
        opening = self.data[self.at : self.at + 1]
        if opening == b"{":
            return self._object(depth)
        if opening == b"[":
            return self._array(depth)
        start = self.at
        value = self._string() if opening == b'"' else self._plain()
        return JsoncNode(value, start, self.at)

    def _object(self, depth: int) -> JsoncNode:
        start, members, values = self.at, list[JsoncMember](), dict[str, JsoncValue]()
        self.at += 1
        while not self._skip_closing_bracket(b"}", members):
            place, key, key_end = self.at, self._string(), self.at
            if key in values:
                raise self.error_at(f"repeated key {json.dumps(key)}", place)
            self.skip()
            self._expect(b":")
            self.skip()
            node = self.value(depth + 1)
            values[key] = node.value
            members.append(JsoncMember(key, place, key_end, node, self._comma()))
        return JsoncNode(values, start, self.at, tuple(members))

    def _array(self, depth: int) -> JsoncNode:
        start, members = self.at, list[JsoncMember]()
        self.at += 1
        while not self._skip_closing_bracket(b"]", members):
            node = self.value(depth + 1)
            members.append(JsoncMember(None, node.start, node.start, node, self._comma()))
        return JsoncNode([member.node.value for member in members], start, self.at, tuple(members))

    def _skip_closing_bracket(self, bracket: bytes, members: list[JsoncMember]) -> bool:
        self.skip()
        if self.data.startswith(bracket, self.at):
            self.at += 1
            return True
        if members and members[-1].comma is None:
            raise self.error_at(f"',' or '{bracket.decode()}' is expected")
        return False

    def _comma(self) -> int | None:
        self.skip()
        if not self.data.startswith(b",", self.at):
            return None
        self.at += 1
        return self.at - 1

    def _expect(self, token: bytes) -> None:
        if not self.data.startswith(token, self.at):
            raise self.error_at(f"'{token.decode()}' is expected")
        self.at += len(token)

    def _string(self) -> str:
        match = _STRING.match(self.data, self.at)
        if not match:
            raise self.error_at("a string in double quotes is expected")
        text = match[0].decode()
        try:
            value: str = json.loads(text) if "\\" in text else text[1:-1]
        except json.JSONDecodeError as error:
            raise self.error_at("invalid escape in a string") from error
        self.at = match.end()
        return value

    def _plain(self) -> JsoncValue:
        for word, value in _WORDS:
            if self.data.startswith(word, self.at):
                self.at += len(word)
                return value
        match = _NUMBER.match(self.data, self.at)
        if not match:
            raise self.error_at("a value is expected" if self.at < len(self.data) else "the file ends too early")
        self.at = match.end()
        whole = match[1] is None and match[2] is None and len(match[0]) < _DIGITS_MAX
        return int(match[0]) if whole else float(match[0])


# Insertion and removal of entries in the text's own style. ``settings.py`` parses the result again to check it.


Items = Sequence[tuple[str | None, JsoncValue]]
"""New members of a container: names and values, or None and values for an array."""

_BLANK = b" \t\r\n"
_SAME_LINE_COMMENT = lazy_pattern(rb"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_INDENT = lazy_pattern(rb"[ \t]*")
_LINE_END = lazy_pattern(rb"[ \t]*\r?\n")


class Style(Struct, frozen=True):
    """The layout of a text: its line ends, one step of indentation, and whether it is on one line."""

    newline: bytes = b"\n"
    step: bytes = b"  "
    one_line: bool = False


def detect_jsonc_style(data: bytes, root: JsoncNode | None) -> Style:
    """Return the style of a text, so that added entries match it."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    if root is None or not root.members:
        return Style(newline)
    first = root.members[0].start
    step = data[_find_jsonc_line_start(data, first) : first]
    if data.find(b"\n", root.start, first) < 0 or step.strip(b" \t") or not step:
        return Style(newline, one_line=b"\n" not in data[root.start : root.end])
    return Style(newline, step)


def render_jsonc_value(value: JsoncValue, style: Style, indent: bytes = b"") -> bytes:
    """Return ``value`` as JSON in that style; lines after the first start with ``indent``."""
    if style.one_line:
        return json.dumps(value, ensure_ascii=False).encode()
    lines = json.dumps(value, ensure_ascii=False, indent=style.step.decode()).encode().split(b"\n")
    return (style.newline + indent).join(lines)


def insert_jsonc_members(data: bytes, container: JsoncNode, items: Items, style: Style) -> ByteSwap:
    """Return the insertion of ``items`` at the end of ``container``, after a comment on its last line."""
    if not container.members:
        return _insert_into_empty_jsonc(data, container, items, style)
    first, last = container.members[0], container.members[-1]
    end = last.node.end if last.comma is None else last.comma + 1
    comma = b"," if last.comma is None else b""
    if data.find(b"\n", container.start, first.start) < 0:
        texts = (_render_jsonc_member(key, render_jsonc_value(value, Style(one_line=True))) for key, value in items)
        return ByteSwap(end, b"", comma + b" " + b", ".join(texts))
    indent = _read_jsonc_indent(data, first.start)
    behind = _skip_jsonc_comments(data, end)
    return ByteSwap(end, data[end:behind], comma + data[end:behind] + _render_jsonc_member_lines(items, style, indent))


def remove_jsonc_members(data: bytes, container: JsoncNode, gone: Collection[int]) -> list[ByteSwap]:
    """Return the cuts that remove the members number ``gone`` with their commas and the space before them."""
    members = container.members
    cuts = [cut for number in sorted(gone) for cut in _cut_jsonc_member(data, container, number)]
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
    return _merge_settings_cuts(cuts)


def _insert_into_empty_jsonc(data: bytes, container: JsoncNode, items: Items, style: Style) -> ByteSwap:
    start, end = container.start + 1, container.end - 1
    for comment in COMMENT.finditer(data, start, end):
        start = comment.end()
    if style.one_line:
        texts = (_render_jsonc_member(key, render_jsonc_value(value, style)) for key, value in items)
        return ByteSwap(start, b"", b", ".join(texts))
    around = _read_jsonc_indent(data, container.start)
    closing = b"" if b"\n" in data[start:end] else style.newline + around
    return ByteSwap(start, b"", _render_jsonc_member_lines(items, style, around + style.step) + closing)


def _render_jsonc_member_lines(items: Items, style: Style, indent: bytes) -> bytes:
    spread = Style(style.newline, style.step)
    texts = (
        style.newline + indent + _render_jsonc_member(key, render_jsonc_value(value, spread, indent))
        for key, value in items
    )
    return b",".join(texts)


def _render_jsonc_member(key: str | None, text: bytes) -> bytes:
    return text if key is None else json.dumps(key, ensure_ascii=False).encode() + b": " + text


def _skip_jsonc_comments(data: bytes, at: int) -> int:
    while match := _SAME_LINE_COMMENT.match(data, at):
        at = match.end()
    return at


def _find_jsonc_line_start(data: bytes, at: int) -> int:
    return data.rfind(b"\n", 0, at) + 1


def _read_jsonc_indent(data: bytes, at: int) -> bytes:
    match = _INDENT.match(data, _find_jsonc_line_start(data, at), at)
    return match[0] if match else b""


def _cut_jsonc_member(data: bytes, container: JsoncNode, number: int) -> list[ByteSwap]:
    """Return the cuts of a member and its comma: one, unless a comment is between them."""
    member = container.members[number]
    before = container.members[number - 1] if number else None
    floor = container.start if before is None or before.comma is None else before.comma
    apart = member.comma is not None and COMMENT.search(data, member.node.end, member.comma) is not None
    end = member.node.end if member.comma is None or apart else member.comma + 1
    comments = list(COMMENT.finditer(data, floor + 1, member.start))
    start = comments[-1].end() if comments else floor + 1
    if comments and comments[-1][0].startswith(b"//"):
        # The line end belongs to a comment: cut from line start to line start instead.
        start = _find_jsonc_line_start(data, member.start)
        rest = _LINE_END.match(data, end)
        end = rest.end() if rest else end
    comma = [ByteSwap(member.comma, b",", b"")] if apart and member.comma is not None else []
    return [ByteSwap(start, data[start:end], b""), *comma]


def _merge_settings_cuts(cuts: list[ByteSwap]) -> list[ByteSwap]:
    """Return the cuts in order, with those that touch or overlap merged."""
    joined = list[ByteSwap]()
    for cut in sorted(cuts, key=lambda cut: cut.at):
        if joined and cut.at <= joined[-1].at + len(joined[-1].was):
            last = joined.pop()
            cut = ByteSwap(last.at, last.was + cut.was[last.at + len(last.was) - cut.at :], b"")
        joined.append(cut)
    return joined
