"""A prefilter of the scan for secrets, for many events in one process: each different line is scanned once.

``may_have_secret`` is never False where ``has_possible_secret`` is True; a property test holds this. A False needs no
further scan. Most lines of a transcript were in an earlier event: a file or an output that was read again.

What the scan finds in words, or in one line, is scanned when the line is new. A value may be on the lines after its
name, so a line with a revealing name is scanned again wherever the lines around it differ.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from custody.capture.hook.secret_scan import (
    CHUNK_BYTES,
    COMPANIONS,
    GAP_MAX,
    KEYWORDS,
    LENGTH_MIN,
    LISTED,
    MARKERS,
    OTHER_STEMS,
    PASS_STEMS,
    PHRASE_HINTS,
    SECRET,
    TOKEN_HEADS,
    WORD_MIN,
    clear_secret_cache,
    collect_token_heads,
    filter_secret_candidates,
    find_named_secret_values,
    find_random_parts,
    find_secret_name,
    find_url_secrets,
    find_value_beside_name,
    has_foreign_password_letters,
    has_sentence_secret,
    has_word_run,
    list_escaped_word_variants,
    lower_ascii,
    rate_secret_name,
    split_token_candidates,
    unescape_json_bytes,
)

REMEMBERED_BYTES_MAX = 64 << 20
"""Maximum bytes of remembered lines."""
REACH_BYTES = 512
"""Bytes of escaped JSON around a line that hold all characters that decide about a name in it, with a margin."""

COUNT_DIGITS_MAX = LENGTH_MIN[SECRET] - 1
"""Maximum digits of a number that is too short for the secrets of most names."""

_BETWEEN = b"\\n" + b" " * (GAP_MAX + 1) + b"\\n"
"""A line between two events, so that nothing in one is near the other."""
_HEADS = frozenset(head for head, _ in TOKEN_HEADS)
_HINTS = tuple(hint.strip() for hint in (*PASS_STEMS, *OTHER_STEMS, *PHRASE_HINTS))
_NAME, _OPEN, _SENTENCE = "name", "open", "sentence"
"""The marks of a line with a revealing name, with one whose value may begin on a later line, and with a word of a
sentence that may have a secret. The other marks are ``MARKERS``."""
_TRIPLE_QUOTES = ('"""', "'''", "```")
_AFTER_NAME = " \t\r,;-\"'`\\\0])*"
"""Characters between a name and a value on a later line."""
_ASCII = bytes(range(128))


class SecretPrefilter:
    """The lines that were scanned; make one for each import, since it holds texts of transcripts."""

    def __init__(self) -> None:
        self._lines: set[bytes] = set()
        self._marked: dict[bytes, set[str]] = {}
        self._windows: set[bytes] = set()
        self._words: set[str] = set()
        self._spoken: set[str] = set()
        """The remembered words of sentences that may have a secret."""
        self._heads: set[str] = set()
        self._bytes = 0

    def may_any_have_secret(self, events: Sequence[bytes]) -> bool:
        """Return whether one of some JSON texts must be scanned: faster than one by one for short events."""
        return self.may_have_secret(_BETWEEN.join(events))

    def may_have_secret(self, data: bytes) -> bool:
        """Return whether JSON text must be scanned; False only if ``has_possible_secret`` is False."""
        if len(data) > CHUNK_BYTES or b"\\u" in data:
            return True
        # An escaped backslash before an "n" is not the end of a line.
        lines = data.replace(b"\\\\", b"\0").split(b"\\n")
        different = set(lines)
        if not self._remember_lines(different):
            return True
        marked = different & self._marked.keys()
        marks = set[str]().union(*(self._marked[line] for line in marked))
        if (_SENTENCE in marks or _has_sentence_hint(data)) and _has_sentence(data):
            return True
        markers = marks - {_NAME, _OPEN, _SENTENCE}
        if markers and _has_companion(lines, markers):
            return True
        return _NAME in marks and self._has_named_value(lines, {line for line in marked if _NAME in self._marked[line]})

    def _remember_lines(self, different: set[bytes]) -> bool:
        """Scan the new ones among these lines; return False, and remember none, if the event must be scanned."""
        new = list(different - self._lines)
        if not new:
            return True
        if self._bytes > REMEMBERED_BYTES_MAX:
            self._forget()
        joined = b"\n".join(new)
        data = unescape_json_bytes(joined) if b"\\" in joined else joined
        text = data.decode("utf-8", "surrogateescape")
        present = split_token_candidates(data)
        words = present - self._words
        if self._may_words_be_secret(words) or has_word_run(data):
            return False
        if b"://" in data and b"@" in data and any(find_url_secrets(text)):
            return False
        spoken = " ".join((*words, *(present & self._spoken))).lower()
        hints = [hint for hint in _HINTS if hint in spoken]
        marked = _NewLines(new, text).mark(hints)
        if marked is None:
            return False
        self._words |= words
        if hints:
            self._spoken.update(word for word in words if any(hint in word.lower() for hint in hints))
        self._lines.update(new)
        self._marked.update(marked)
        self._bytes += len(joined) + sum(map(len, words))
        return True

    def _may_words_be_secret(self, words: set[str]) -> bool:
        """Return whether a new word may be a token, or is random."""
        longer = filter_secret_candidates(words)
        if not longer:
            return False
        joined = "\n".join(longer)
        heads = collect_token_heads(joined) & _HEADS
        if not heads <= self._heads:
            # The scan takes the head of one word with the token in another: scan the remembered lines again.
            self._forget()
            self._heads |= heads
            return True
        if any(head in self._heads and token in joined for head, token in TOKEN_HEADS):
            return True
        is_random = any(
            find_random_parts(piece)
            for word in longer
            if len(word) >= WORD_MIN
            for piece in list_escaped_word_variants(word)
        )
        clear_secret_cache()
        return is_random

    def _has_named_value(self, lines: list[bytes], named: set[bytes]) -> bool:
        """Return whether a value beside a name may be a secret, scanning only lines with other lines around them."""
        windows = [(_cut_window(lines, place), line) for place, line in enumerate(lines) if line in named]
        new = {window for window, _ in windows} - self._windows
        if not new:
            return False
        if any(_OPEN in self._marked[line] and _has_triple_quotes(window) for window, line in windows):
            return True  # the value may be longer than the window
        parts = new if sum(map(len, new)) < sum(map(len, lines)) else [b"\\n".join(lines)]
        for part in parts:
            text = unescape_json_bytes(part).decode("utf-8", "surrogateescape")
            if any(find_named_secret_values(text, lower_ascii(text))):
                return True
        self._windows |= new
        self._bytes += sum(map(len, new))
        return False

    def _forget(self) -> None:
        for memory in (self._lines, self._marked, self._windows, self._words, self._spoken):
            memory.clear()
        self._bytes = 0


class _NewLines:
    """The text of new lines, to find which of them need more than one scan."""

    def __init__(self, lines: list[bytes], text: str) -> None:
        self._lines = lines
        self._text = text
        self._starts: list[int] = []
        self._marked: dict[bytes, set[str]] = {}

    def mark(self, hints: list[str]) -> dict[bytes, set[str]] | None:
        """Return the lines with a name, a marker or one of ``hints``; None if a value may be longer than a window."""
        low = lower_ascii(self._text)
        for text, mark in (*((marker, marker) for marker in MARKERS), *((hint, _SENTENCE) for hint in hints)):
            at = low.find(text)
            while at >= 0:
                self._mark_line(at, mark)
                at = low.find(text, at + len(text))
        for keyword in KEYWORDS:
            at = low.find(keyword)
            while at >= 0:
                start, end = find_secret_name(self._text, at)
                says = rate_secret_name(self._text[start:end])
                if says and not (says <= SECRET and _is_short_count(self._text, end)):
                    last = self._text.find("\n", end)
                    rest = self._text[end : len(self._text) if last < 0 else last]
                    if self._may_go_on(start, end, rest):
                        return None
                    self._mark_line(at, _NAME)
                    if not rest.strip(_AFTER_NAME):
                        self._mark_line(at, _OPEN)
                at = low.find(keyword, max(end, at + 1))
        return self._marked

    def _mark_line(self, at: int, mark: str) -> None:
        if not self._starts:
            self._starts = list(accumulate((len(line) + 1 for line in self._text.split("\n")), initial=0))
        line = self._lines[bisect_right(self._starts, at) - 1]
        self._marked.setdefault(line, set()).add(mark)

    def _may_go_on(self, start: int, end: int, rest: str) -> bool:
        """Return whether a list, an element or a text over several lines may begin after the name, in ``rest``."""
        if any(quotes in rest for quotes in _TRIPLE_QUOTES):
            return True
        if rest[:1] == ">" and self._text[start - 1 : start] == "<" and "<" not in rest:
            return True
        value = find_value_beside_name(self._text, start, end) if "[" in rest else None
        return value is not None and value[2] == LISTED


def _is_short_count(text: str, end: int) -> bool:
    """Return whether the name that ends here is a member of a JSON object with a small number: ``"tokens":12,"…``."""
    if text[end : end + 2] != '":':
        return False
    number = text[end + 2 : end + 2 + COUNT_DIGITS_MAX + 8]
    rest = number.lstrip("0123456789")
    return 0 < len(number) - len(rest) <= COUNT_DIGITS_MAX and rest.lstrip("}]").startswith(',"')


def _has_sentence_hint(data: bytes) -> bool:
    """Return whether a text has letters of a word for a password outside ASCII, or a long numbered list."""
    if b"12. " in data or b"12) " in data:
        return True
    return not data.isascii() and has_foreign_password_letters(
        lower_ascii(data.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
    )


def _has_sentence(data: bytes) -> bool:
    """Return whether a sentence has a secret, by the scan of the whole event."""
    data = unescape_json_bytes(data)
    text = data.decode("utf-8", "surrogateescape")
    return has_sentence_secret(data, text, lower_ascii(text), " ".join(split_token_candidates(data)).lower() + " ")


def _has_companion(lines: list[bytes], markers: set[str]) -> bool:
    """Return whether a marker counts: it needs no companion, or has one."""
    if any(marker not in COMPANIONS for marker in markers):
        return True
    # Quotes are escaped or not; a companion has no other characters that JSON escapes.
    data = b"\n".join(lines).replace(b'\\"', b'"')
    return any(other.encode() in data for marker in markers for other in COMPANIONS[marker])


def _has_triple_quotes(window: bytes) -> bool:
    plain = window.replace(b'\\"', b'"')
    return any(quotes.encode() in plain for quotes in _TRIPLE_QUOTES)


def _cut_window(lines: list[bytes], place: int) -> bytes:
    """Return a line with as many lines around it as may decide about a name in it."""
    first, size = place, 0
    while first > 0 and size < REACH_BYTES:
        first -= 1
        size += len(lines[first])
    last, size = place + 1, 0
    while last < len(lines) and size < REACH_BYTES:
        size += len(lines[last])
        last += 1
    return b"\\n".join(lines[first:last])
