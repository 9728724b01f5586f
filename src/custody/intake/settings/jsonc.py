"""JSON with comments and trailing commas → values, and where in the bytes each of them stands. Pure.

Strict in all else: RFC 8259, UTF-8, no key twice in one object. What this reads, every agent's own reader reads the
same way, so that a splice at these places means what we think it means.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

NESTING_MAX = 128
BOM = b"\xef\xbb\xbf"

JsoncValue = None | bool | int | float | str | list["JsoncValue"] | dict[str, "JsoncValue"]

COMMENT = re.compile(rb"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
# No possessive group here: before Python 3.11.5 one that holds backtracking matches wrongly (gh-106052).
_TRIVIA = re.compile(rb"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\.)*"', re.DOTALL)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS: tuple[tuple[bytes, JsoncValue], ...] = ((b"true", True), (b"false", False), (b"null", None))
_DIGITS_MAX = 300


class JsoncError(ValueError):
    """The bytes are not what they should be; ``line`` and ``column`` count from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {problem}")

    @classmethod
    def at(cls, data: bytes, problem: str, place: int) -> "JsoncError":
        """The same for a place in ``data``; columns count characters."""
        line_start = data.rfind(b"\n", 0, place) + 1
        column = len(data[line_start:place].decode("utf-8", "replace")) + 1
        return cls(problem, data.count(b"\n", 0, place) + 1, column)


@dataclass(frozen=True, slots=True)
class JsoncMember:
    """One entry of an object or an array: from ``start`` (its key's, in an object) to ``node.end``.

    ``key_end`` is where its key ends (in an array, where it begins); ``comma`` where the comma after it stands, if any.
    """

    key: str | None
    start: int
    key_end: int
    node: "JsoncNode"
    comma: int | None


@dataclass(frozen=True, slots=True)
class JsoncNode:
    """A value and its place: from ``start`` up to ``end``, brackets included."""

    value: JsoncValue
    start: int
    end: int
    members: tuple[JsoncMember, ...] = ()

    def member(self, key: str) -> JsoncMember | None:
        """The member of that name."""
        return next((member for member in self.members if member.key == key), None)

    def gaps(self) -> Iterator[tuple[int, int]]:
        """The places between its brackets that belong to none of its members: space, comments, commas and colons."""
        at = self.start + 1
        for member in self.members:
            yield at, member.start
            yield member.key_end, member.node.start
            at = member.node.end
        yield at, self.end - 1


def parse(data: bytes) -> JsoncNode | None:
    """The one value in ``data``; None when there is nothing but space and comments."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsoncError.at(data, "this is not UTF-8", error.start) from error
    scanner = _JsoncScanner(data)
    scanner.skip()
    if scanner.at == len(data):
        return None
    node = scanner.value(0)
    scanner.skip()
    if scanner.at != len(data):
        raise scanner.wrong("nothing more is expected here")
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
            raise self.wrong("this comment is not closed")

    def wrong(self, problem: str, at: int | None = None) -> JsoncError:
        return JsoncError.at(self.data, problem, self.at if at is None else at)

    def value(self, depth: int) -> JsoncNode:
        if depth > NESTING_MAX:
            raise self.wrong(f"more than {NESTING_MAX} levels")
        opening = self.data[self.at : self.at + 1]
        if opening == b"{":
            return self._object(depth)
        if opening == b"[":
            return self._array(depth)
        start = self.at
        value = self._string() if opening == b'"' else self._plain()
        return JsoncNode(value, start, self.at)

    def _object(self, depth: int) -> JsoncNode:
        start, members, seen = self.at, list[JsoncMember](), dict[str, JsoncValue]()
        self.at += 1
        while not self._closed(b"}", members):
            place, key, key_end = self.at, self._string(), self.at
            if key in seen:
                raise self.wrong(f"the key {json.dumps(key)} is here twice", place)
            self.skip()
            self._expect(b":")
            self.skip()
            node = self.value(depth + 1)
            seen[key] = node.value
            members.append(JsoncMember(key, place, key_end, node, self._comma()))
        return JsoncNode(seen, start, self.at, tuple(members))

    def _array(self, depth: int) -> JsoncNode:
        start, members = self.at, list[JsoncMember]()
        self.at += 1
        while not self._closed(b"]", members):
            node = self.value(depth + 1)
            members.append(JsoncMember(None, node.start, node.start, node, self._comma()))
        return JsoncNode([member.node.value for member in members], start, self.at, tuple(members))

    def _closed(self, bracket: bytes, members: list[JsoncMember]) -> bool:
        self.skip()
        if self.data.startswith(bracket, self.at):
            self.at += 1
            return True
        if members and members[-1].comma is None:
            raise self.wrong(f"',' or '{bracket.decode()}' is expected")
        return False

    def _comma(self) -> int | None:
        self.skip()
        if not self.data.startswith(b",", self.at):
            return None
        self.at += 1
        return self.at - 1

    def _expect(self, sign: bytes) -> None:
        if not self.data.startswith(sign, self.at):
            raise self.wrong(f"'{sign.decode()}' is expected")
        self.at += len(sign)

    def _string(self) -> str:
        match = _STRING.match(self.data, self.at)
        if not match:
            raise self.wrong("a string in double quotes is expected")
        text = match[0].decode()
        try:
            value: str = json.loads(text) if "\\" in text else text[1:-1]
        except json.JSONDecodeError as error:
            raise self.wrong("this string has an escape that JSON does not know") from error
        self.at = match.end()
        return value

    def _plain(self) -> JsoncValue:
        for word, value in _WORDS:
            if self.data.startswith(word, self.at):
                self.at += len(word)
                return value
        match = _NUMBER.match(self.data, self.at)
        if not match:
            raise self.wrong("a value is expected" if self.at < len(self.data) else "the file ends too early")
        self.at = match.end()
        whole = match[1] is None and match[2] is None and len(match[0]) < _DIGITS_MAX
        return int(match[0]) if whole else float(match[0])
