"""Texts without their secrets: each is replaced by ``[redacted:RULE]``, and nothing else is changed.

Only events that trip the wire come here. A text keeps its lines, so that the lines around a secret stay where they
were;
of each line that was touched an HMAC is kept under a key that never leaves the machine, so that it can still be
recognised there. What has been redacted once is not changed by redacting it again.
"""

from __future__ import annotations

from .fast_primitives import sha256
from .secret_scan import (
    PASSWORD,
    SIGNS,
    WORD_MAX,
    address_secrets,
    filter_long_words,
    forget,
    is_introduced,
    is_known,
    is_placeholder,
    lower_ascii,
    named_values,
    odd_share,
    pieces_of,
    random_parts,
    signs_in,
    split_name_words,
    split_tokens,
    tokens_in,
    value_of,
)

TYPE_CHECKING = False  # the module for it takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .patterns import SecretPattern

    TextSpan = tuple[int, int, str]
    SecretMark = dict[str, Any]

PASSES_MAX = 8
"""A text is redacted until nothing more is found; one that never comes to rest was made to be so."""
MAC_DIGITS = 32
CHUNK = 1 << 20
OVERLAP = 8192
REACH = 1000
REACH_OVER_LINES = 5000
"""Signs that a rule looks at most to either side of the line it is in, and some more; a name, a gap and the longest
value where values may go over line ends."""
_QUOTES_OVER_LINES = ('"""', "'''", "```")
BESIDE_RANDOM = ":AA"
"""The literal of a rule that is to be asked whenever there are random words: it is not of one word."""
NEEDLES_MAX = 8
"""Up to so many random words are looked for one by one; more of them in one pass over the text."""
KEY_MAX = 64 * 1024
"""Signs between the marks of a private key at most."""
NEAR = 48
MARKER = "[redacted:"
_RULE_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-"
ALL_SECRET = "password"
"""What everything is called that a manifest of secrets holds."""

_HASHED = frozenset(
    "integrity checksum checksums digest sha sha1 sha256 sha384 sha512 etag fingerprint commit revision rev md5"
    " hash hashes"
    " cid crc shasum signature vendorhash narhash nonce mappings boundary".split()
)
"""Names whose values look random and are no secrets."""


class RedactionError(ValueError):
    """A text that does not come to rest; the message says nothing of what is in it."""


def redact_text(text: str) -> tuple[str, tuple[int, ...]]:
    """``text`` with each secret replaced, and the numbers of the lines that were touched, from 0."""
    clean, touched = _redacted(text, None, SecretCandidates(text))
    forget()
    return clean, tuple(sorted(touched))


def line_mac(key: bytes, line: str) -> str:
    """What only this machine can match: the HMAC-SHA256 of a line without its end, 32 hexadecimal digits of it."""
    line = line.removesuffix("\n")
    line = line.removesuffix("\r")
    block = (key if len(key) <= 64 else sha256(key).digest()).ljust(64, b"\0")
    inner = sha256(bytes([byte ^ 0x36 for byte in block]) + _encoded(line)).digest()
    outer = sha256(bytes([byte ^ 0x5C for byte in block]) + inner)
    return str(outer.hexdigest()[:MAC_DIGITS])


def _encoded(line: str) -> bytes:
    try:
        return line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which JSON may say and no file can hold
        return line.encode("utf-8", "surrogatepass")


def redact_value(value: Any, key: bytes) -> tuple[Any, list[SecretMark]]:
    """A JSON value without its secrets, in texts and in names of members, and a mark for every line that was touched.

    A mark says where (a JSON pointer; with ``#`` at its end it is the name of that member), on which line of that text
    from 1, by which rule, and what ``line_mac`` gives for the line as it was.
    """
    marks: list[SecretMark] = []
    clean = _walk(value, "", None, RedactionWalk(key, marks, SecretCandidates("\n".join(_texts_in(value)))))
    forget()
    return clean, marks


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts_in(item)


class RedactionWalk:
    """What a walk through an event carries: the key, the marks so far, and what there is to look for at all."""

    __slots__ = ("key", "look", "marks")

    def __init__(self, key: bytes, marks: list[SecretMark], look: SecretCandidates) -> None:
        self.key = key
        self.marks = marks
        self.look = look


def _walk(value: Any, at: str, name: str | None, kept: RedactionWalk) -> Any:
    if isinstance(value, str):
        return _text(value, at, name, kept)
    if isinstance(value, list):
        return [_walk(item, f"{at}/{n}", name if isinstance(item, str) else None, kept) for n, item in enumerate(value)]
    if isinstance(value, dict):
        return _members(value, at, name if name == ALL_SECRET else None, kept)
    return value


def _members(value: dict[str, Any], at: str, name_of_all: str | None, kept: RedactionWalk) -> dict[str, Any]:
    clean: dict[str, Any] = {}
    before: Any = None
    is_manifest = value.get("kind") == "Secret"
    for member, item in value.items():
        name = _redacted(member, None, kept.look)[0]
        while name in clean:
            name += "'"
        place = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
        if name != member:
            _text(member, place + "#", None, kept)
        called = name_of_all or member
        if is_manifest and member in ("data", "stringData"):
            called = ALL_SECRET
        elif member.lower() == "value" and isinstance(before, str):
            called = before
        clean[name] = _walk(item, place, called, kept)
        before = item
    return clean


def _text(text: str, at: str, name: str | None, kept: RedactionWalk) -> str:
    clean, touched = _redacted(text, name, kept.look)
    if touched:
        lines = text.split("\n")
        for number in sorted(touched):
            mac = line_mac(kept.key, lines[number])
            kept.marks.append({"at": at, "line": number + 1, "mac": mac, "rule": touched[number]})
    return clean


def _redacted(text: str, name: str | None, look: SecretCandidates) -> tuple[str, dict[int, str]]:
    """``text`` without secrets, and the rule for every line that was touched; ``name`` is what it is called."""
    touched: dict[int, str] = {}
    first, last = 0, len(text)
    for _ in range(PASSES_MAX):
        found = [(first + start, first + end, rule) for start, end, rule in _found(text[first:last], look)]
        spans = _lines_of(text, _merged(text, _called(text, name) + found))
        if not spans:
            return text, touched
        first, tail = _window(text, spans)
        text = _replaced(text, spans, touched)
        last = len(text) - tail
        look = SecretCandidates(text[first:last], look.needles)
    raise RedactionError("a text does not come to rest")


def _called(text: str, name: str | None) -> list[TextSpan]:
    """What is to be hidden in ``text`` because of what it is called."""
    value = None if name is None else value_of(name, text)
    return [] if value is None else [(value[0], value[1], _rule_for(value[2]))]


def _window(text: str, spans: list[TextSpan]) -> tuple[int, int]:
    """How much at the beginning and at the end of ``text`` need not be looked at again once ``spans`` are replaced.

    What lies further from a change than any rule looks, by whole lines, is as it was when nothing was found there.
    """
    if any(sign in text for sign in _FAR):
        return 0, 0
    reach = REACH_OVER_LINES if any(quotes in text for quotes in _QUOTES_OVER_LINES) else REACH
    first = text.rfind("\n", 0, max(0, spans[0][0] - reach)) + 1
    last = text.find("\n", spans[-1][1] + reach)
    return first, 0 if last < 0 else len(text) - last


def _replaced(text: str, spans: list[TextSpan], touched: dict[int, str]) -> str:
    parts = []
    at = line = 0
    for start, end, rule in spans:
        line += text.count("\n", at, start)
        touched.setdefault(line, rule)
        parts += [text[at:start], MARKER, rule, "]"]
        at = end
    return "".join(parts) + text[at:]


def _merged(text: str, found: list[TextSpan]) -> list[TextSpan]:
    """``found`` in order, none over another, none over what is redacted already."""
    merged: list[TextSpan] = []
    end = 0
    for start, last, rule in sorted(found, key=lambda span: (span[0], -span[1])):
        for first, until in _around_markers(text, max(start, end), last):
            merged.append((first, until, rule))
        end = max(end, last)
    return merged


def _around_markers(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a span that are not redacted yet."""
    at = max(0, start - NEAR)
    while start < end:
        marker = text.find(MARKER, at, end)
        if marker < 0:
            yield start, end
            return
        at = text.find("]", marker, marker + NEAR) + 1
        if not at or text[marker + len(MARKER) : at - 1].strip(_RULE_NAME):
            at = marker + 1  # it only begins like one
        elif at > start:
            if marker > start:
                yield start, marker
            start = at


def _lines_of(text: str, spans: list[TextSpan]) -> list[TextSpan]:
    """Spans cut at line ends; on every line after its first a span begins after indentation and marks of a diff."""
    cut: list[TextSpan] = []
    for start, end, rule in spans:
        while True:
            line = text.find("\n", start, end)
            last = end if line < 0 else line - (text[line - 1] == "\r")
            if last > start and text[start:last].strip():
                cut.append((start, last, rule))
            if line < 0:
                break
            start = _body(text, line + 1, end)
    return cut


def _body(text: str, start: int, end: int) -> int:
    """Where a line's own content begins: after blanks, the number a program put there, the sign of a diff."""
    part = text[start : min(end, start + NEAR)]
    rest = part.lstrip(" \t")
    number = rest.lstrip("0123456789")
    if number != rest and number[:1] in ("\t", "\u2192", "|", ":"):
        rest = number[1:].lstrip(" \t")
    if rest[:1] in ("+", "-", ">", "|"):
        rest = rest[1:]
    return start + len(part) - len(rest)


# ---------------------------------------------------------------------------------------------------------------------
# What is to be hidden.


_FAR = ("-----BEGIN ", "Private-Lines:", "kind", "LS0tLS1CRUdJTi")
"""Signs of what may go on for more lines than a rule may otherwise look."""


class SecretCandidates:
    """What there may be to hide in some texts, seen in all of them at once: the rest need not be looked for in each."""

    __slots__ = ("needles", "tokens")

    def __init__(self, text: str, needles: Iterable[str] = ()) -> None:
        longer = filter_long_words(_collect_tokens(text))
        self.needles = {
            piece[start:end] for word in longer for piece in pieces_of(word) for start, end in random_parts(piece)
        }
        self.tokens = set(tokens_in(longer))
        self.needles.update(needles)  # before, so that few and many are looked for in the same way in every pass
        if self.needles:
            self.tokens.add(BESIDE_RANDOM)


def _found(text: str, look: SecretCandidates) -> list[TextSpan]:
    """Everything to be hidden in ``text``, in any order; spans may lie over each other."""
    if len(text) < 4:
        return []
    low = lower_ascii(text)
    signs = set(signs_in(low, text))
    # The order says which name is taken where two find the same.
    found = list(_private_keys(text)) if "-----begin" in signs else []
    found += _by_shape(text, signs | look.tokens)
    found += [(start, end, _rule_for(says)) for start, end, says in named_values(text, low)]
    if "://" in text and "@" in text:
        found += [(start, end, "address") for start, end in address_secrets(text)]
    if "private-lines" in signs:
        found += _putty_keys(text)
    if "kind" in signs:
        found += _manifests(text)
    if look.needles:
        found += _random(text, look.needles)
    return found


def _rule_for(says: int) -> str:
    return "password" if says >= PASSWORD else "secret"


def _collect_tokens(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogatepass")
    words: set[str] = set()
    for at in range(0, len(data), CHUNK):
        words |= split_tokens(data[max(0, at - OVERLAP) : at + CHUNK])
    return words


_compiled: dict[str, Any] = {}


def _compile(pattern: str) -> Any:
    made = _compiled.get(pattern)
    if made is None:
        import re  # slow to import, not always needed

        made = _compiled[pattern] = re.compile(pattern)
    return made


def _by_shape(text: str, seen: set[str]) -> Iterator[TextSpan]:
    """What the table of patterns finds, asked only for those whose literals were seen."""
    if not seen:
        return
    from .patterns import RULES  # only now: most events have nothing of it

    for rule in RULES:
        if not seen.isdisjoint(rule.literals):
            for match in _matches(text, rule):
                start, end = match.span(rule.group)
                if (
                    start >= 0
                    and _is_token(text[start:end], rule.floor)
                    and (rule.literals[0] in SIGNS or _is_apart(text, start))
                ):
                    yield start, end, rule.name


def _matches(text: str, rule: SecretPattern) -> Iterator[Any]:
    """The matches of a rule: in the lines that have one of its literals, or anywhere if it may go over line ends."""
    if not rule.is_of_one_line:
        yield from _compile(rule.pattern).finditer(text)
        return
    for first, last in _lines_with(text, rule.literals):
        yield from _compile(rule.pattern).finditer(text, first, last)


def _lines_with(text: str, literals: tuple[str, ...]) -> list[tuple[int, int]]:
    """The lines of ``text``, each with the line end before it, that have one of ``literals`` in them."""
    lines = set()
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            last = text.find("\n", at)
            last = len(text) if last < 0 else last
            lines.add((max(0, text.rfind("\n", 0, at)), last))
            at = text.find(literal, last)
    return sorted(lines)


def _is_apart(text: str, start: int) -> bool:
    """Whether a token can begin at ``start``: not inside a word, nor in one that is known to be no secret."""
    if start and text[start - 1].isalnum() and text[start - 2 : start] not in _LINE_ENDS:
        return False
    return not is_known(text, start)


_LINE_ENDS = ("\\n", "\\r", "\\t", "\\b", "\\f")


def _is_token(value: str, floor: float | None) -> bool:
    """Whether ``value`` is no stand-in and odd enough."""
    if is_placeholder(value, True, "") or (floor is not None and odd_share(value) < floor):
        return False
    return len(set(value)) > 5 or len(value) < 8


# ---------------------------------------------------------------------------------------------------------------------
# Random words.


def _random(text: str, needles: set[str]) -> Iterator[TextSpan]:
    public = _public_blocks(text)
    for start, end in _places(text, needles):
        if not _is_spared(text, start, end, public):
            padding = len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
            yield start, end + padding, "random"


def _places(text: str, needles: set[str]) -> Iterator[tuple[int, int]]:
    if len(needles) <= NEEDLES_MAX:
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                if not _is_only_with_escape(text, at, needle):
                    yield at, at + len(needle)
                at = text.find(needle, at + len(needle))
        return
    for match in _compile(r"[0-9A-Za-z_+/.~$-]{20,}").finditer(text):
        start, word = match.start(), match.group()
        if start and text[start - 1] == "\\" and word[0] in "nrtbf":
            start, word = start + 1, word[1:]
        for first, last in random_parts(word):
            yield start + first, start + last


def _is_only_with_escape(text: str, at: int, needle: str) -> bool:
    """Whether ``needle`` is random only because of a letter that belongs to the backslash before it."""
    return text[at - 1 : at] == "\\" and needle[0] in "nrtbf" and not random_parts(needle[1:])


def _is_spared(text: str, start: int, end: int, public: list[tuple[int, int]]) -> bool:
    """Whether a random word is no secret: a hash by its name, a line of a picture or of a public key."""
    if is_introduced(text, start) or is_known(text, start) or any(first < start < last for first, last in public):
        return True
    before = text[max(0, start - NEAR) : start].rpartition("\n")[2]
    names = "".join([sign if sign.isalnum() or sign in "_-" else " " for sign in before]).split()
    if any(not _HASHED.isdisjoint(split_name_words(name)[-1:]) for name in names[-2:]) or _is_id(names[-1:]):
        return True
    return _is_wrapped(text, start, end)


def _is_id(names: list[str]) -> bool:
    """Whether a name says that its value is an id, and not of a secret or a session."""
    words = split_name_words(names[0]) if names else []
    return words[-1:] in (["id"], ["ids"]) and not {"secret", "token", "session", "key", "sess"}.intersection(words)


_AROUND = " \t\r\"'`+-,;>|*#()\\"
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
WRAPPED_MIN = 56
"""Signs of a line at least that may be one of many of the same."""


def _is_wrapped(text: str, start: int, end: int) -> bool:
    """Whether the word is a whole line, and so is its neighbour: a long text cut into lines."""
    start -= len(text[max(0, start - WORD_MAX) : start]) - len(text[max(0, start - WORD_MAX) : start].rstrip(_BASE64))
    end += len(text[end : end + WORD_MAX]) - len(text[end : end + WORD_MAX].lstrip(_BASE64))
    first = text.rfind("\n", max(0, start - NEAR), start) + 1
    last = text.find("\n", end, end + NEAR)
    last = len(text) if last < 0 else last
    if (not first and start > NEAR) or last - end > NEAR:
        return False
    if text[first:start].strip(_AROUND + "0123456789") or text[end:last].strip(_AROUND + "="):
        return False
    above = text[max(0, first - 200) : max(0, first - 1)].rpartition("\n")[2].strip(_AROUND)
    below = text[last + 1 : last + 200].partition("\n")[0].strip(_AROUND)
    return any(len(line) >= WRAPPED_MIN and not line.strip(_BASE64) for line in (above, below))


def _public_blocks(text: str) -> list[tuple[int, int]]:
    """Between the marks of certificates, public keys and signatures."""
    blocks = []
    at = text.find("-----BEGIN ")
    while at >= 0:
        label = text[at + 11 : at + 60].partition("-----")[0]
        end = text.find("-----END ", at, at + KEY_MAX)
        if "PRIVATE" not in label:
            blocks.append((at, end if end >= 0 else min(len(text), at + KEY_MAX)))
        at = text.find("-----BEGIN ", at + 11)
    return blocks


# ---------------------------------------------------------------------------------------------------------------------
# Keys and manifests: several lines each.


def _private_keys(text: str) -> Iterator[TextSpan]:
    at = text.find("-----BEGIN ")
    while at >= 0:
        head = at + 11 + len(text[at + 11 : at + 80].partition("-----")[0]) + 5
        following = text.find("-----BEGIN ", head)
        if "PRIVATE KEY" in text[at:head]:
            most = min(head + KEY_MAX, len(text) if following < 0 else following)
            end = text.find("-----END ", head, most)
            last = _key_lines(text, head, most) if end < 0 else text.find("-----", end + 9, end + 80) + 5
            if _is_key(text[head : last if end < 0 else end]) and last > head:
                yield at, last, "private-key"
        at = following


def _is_key(body: str) -> bool:
    """Whether there is a key between the marks, not just code that looks for them."""
    return any(
        len(word) >= 16 and odd_share(word) > 0.3 for word in split_tokens(body.encode("utf-8", "surrogatepass"))
    )


def _key_lines(text: str, start: int, most: int) -> int:
    """The end of a key whose own end is missing: after the last line that can be part of it."""
    end = start
    for line in text[start:most].split("\n"):
        content = line.strip(_AROUND + "0123456789\u2192") if end > start else line.strip()
        is_head = ": " in content and content.partition(": ")[0].replace("-", "").isalpha()
        if content and not is_head and (" " in content or content.replace("\\n", "").strip(_BASE64)):
            break
        end += len(line) + 1
    return min(end, most) - (text[min(end, most) - 1 : min(end, most)] == "\n")


def _putty_keys(text: str) -> Iterator[TextSpan]:
    at = text.find("Private-Lines:")
    while at >= 0:
        line = text.find("\n", at)
        count = text[at + 14 : line].strip()
        if line < 0 or not count.isdigit() or len(count) > 3:
            return
        end = line + 1
        for _ in range(int(count)):
            end = text.find("\n", end) + 1 or len(text) + 1
        yield line + 1, min(end - 1, len(text)), "private-key"
        at = text.find("Private-Lines:", line)


def _manifests(text: str) -> Iterator[TextSpan]:
    """The values of a manifest of secrets, whatever their names."""
    at = 0
    within: int | None = None
    for line in text.split("\n"):
        content = line.strip("+- \t\r")
        indent = len(line) - len(line.lstrip("+- \t"))
        if content in ("data:", "stringData:"):
            within = indent
        elif within is not None and content and indent <= within:
            within = None
        elif within is not None:
            name, colon, value = content.partition(": ")
            value = value.strip(" \"'")
            if colon and len(value) > 3 and not is_placeholder(value, False, name):
                start = at + line.index(": ") + 2
                start += line[start - at :].index(value)
                yield start, start + len(value), "secret"
        at += len(line) + 1
