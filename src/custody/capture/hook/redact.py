"""Redaction: each secret in a text is replaced by ``[redacted:RULE]``, and nothing else changes.

Only events with a possible secret come here. A text keeps its lines, so lines around a secret keep their numbers. For
each redacted line an HMAC is stored under a key that never leaves the machine, so the line can be recognized there.
Redacting a text again does not change it.
"""

from __future__ import annotations

from .fast_primitives import sha256
from .secret_scan import (
    MARKERS,
    PASSWORD,
    WORD_MAX,
    clear_secret_cache,
    compute_odd_pair_share,
    filter_secret_candidates,
    find_named_secret_values,
    find_random_parts,
    find_secret_markers,
    find_secret_token_rules,
    find_url_secrets,
    has_password_word,
    has_phrase_hint,
    has_word_run,
    is_hash_context,
    is_known_not_secret,
    is_secret_placeholder,
    list_escaped_word_variants,
    lower_ascii,
    select_secret_part,
    split_secret_name,
    split_token_candidates,
)

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .patterns import SecretPattern

    TextSpan = tuple[int, int, str]
    SecretMark = dict[str, Any]

PASSES_MAX = 8
"""A text is redacted until nothing more is found; more passes mean a text made to never end."""
MAC_DIGITS = 32
CHUNK = 1 << 20
OVERLAP = 8192
REACH = 1000
REACH_OVER_LINES = 5000
"""Maximum characters that a rule reads to either side of its line, with a margin; and the same for values over several
lines: a name, a gap and the longest value."""
_QUOTES_OVER_LINES = ('"""', "'''", "```")
BESIDE_RANDOM = ":AA"
"""The literal of a rule that runs whenever there are random words, since it matches more than one word."""
NEEDLES_MAX = 8
"""Up to this number, random words are searched one by one; more of them in one pass over the text."""
KEY_MAX = 64 * 1024
"""Maximum characters between the marks of a private key."""
NEAR = 48
MARKER = "[redacted:"
_RULE_NAME = "abcdefghijklmnopqrstuvwxyz0123456789-"
ALL_SECRET = "password"
"""The name of every value in a manifest of secrets."""

_HASHED = frozenset(
    "integrity checksum checksums digest sha sha1 sha256 sha384 sha512 etag fingerprint commit revision rev md5"
    " hash hashes"
    " cid crc shasum signature vendorhash narhash nonce mappings boundary".split()
)
"""Names of values that look random but are not secrets."""


class RedactionError(ValueError):
    """A text that needs too many passes; the message contains nothing of it."""


def redact_text(text: str) -> tuple[str, tuple[int, ...]]:
    """Return ``text`` redacted, and the numbers of the changed lines, from 0."""
    clean, touched = _redact_named_text(text, None, SecretCandidates(text))
    clear_secret_cache()
    return clean, tuple(sorted(touched))


def compute_redacted_line_mac(key: bytes, line: str) -> str:
    """Return 32 hexadecimal digits of a line's HMAC-SHA256, without its line end; only this machine can compute it."""
    line = line.removesuffix("\n")
    line = line.removesuffix("\r")
    block = (key if len(key) <= 64 else sha256(key).digest()).ljust(64, b"\0")
    inner = sha256(bytes([byte ^ 0x36 for byte in block]) + _encode_redacted_line(line)).digest()
    outer = sha256(bytes([byte ^ 0x5C for byte in block]) + inner)
    return str(outer.hexdigest()[:MAC_DIGITS])


def _encode_redacted_line(line: str) -> bytes:
    try:
        return line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, which JSON may contain and a file cannot
        return line.encode("utf-8", "surrogatepass")


def redact_value(value: Any, key: bytes) -> tuple[Any, list[SecretMark]]:
    """Return a JSON value redacted, in texts and member names, and a mark for every changed line.

    A mark has the place (a JSON pointer; with ``#`` at its end the name of that member), the line in that text from 1,
    the rule, and ``compute_redacted_line_mac`` of the original line.
    """
    marks: list[SecretMark] = []
    clean = _redact_json_value(
        value, "", None, RedactionWalk(key, marks, SecretCandidates("\n".join(_iterate_event_texts(value))))
    )
    clear_secret_cache()
    return clean, marks


def _iterate_event_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_event_texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _iterate_event_texts(item)


class RedactionWalk:
    """State of redacting one event: the key, the marks so far, and what to search for."""

    __slots__ = ("key", "look", "marks")

    def __init__(self, key: bytes, marks: list[SecretMark], look: SecretCandidates) -> None:
        self.key = key
        self.marks = marks
        self.look = look


def _redact_json_value(value: Any, at: str, name: str | None, walk: RedactionWalk) -> Any:
    if isinstance(value, str):
        return _redact_event_text(value, at, name, walk)
    if isinstance(value, list):
        return [
            _redact_json_value(item, f"{at}/{n}", name if isinstance(item, str) else None, walk)
            for n, item in enumerate(value)
        ]
    if isinstance(value, dict):
        return _redact_object_members(value, at, name if name == ALL_SECRET else None, walk)
    return value


def _redact_object_members(
    value: dict[str, Any], at: str, name_of_all: str | None, walk: RedactionWalk
) -> dict[str, Any]:
    clean: dict[str, Any] = {}
    before: Any = None
    is_manifest = value.get("kind") == "Secret"
    for member, item in value.items():
        name = _redact_named_text(member, None, walk.look)[0]
        while name in clean:
            name += "'"
        place = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
        if name != member:
            _redact_event_text(member, place + "#", None, walk)
        called = name_of_all or member
        if is_manifest and member in ("data", "stringData"):
            called = ALL_SECRET
        elif member.lower() == "value" and isinstance(before, str):
            called = before
        clean[name] = _redact_json_value(item, place, called, walk)
        before = item
    return clean


def _redact_event_text(text: str, at: str, name: str | None, walk: RedactionWalk) -> str:
    clean, touched = _redact_named_text(text, name, walk.look)
    if touched:
        lines = text.split("\n")
        for number in sorted(touched):
            mac = compute_redacted_line_mac(walk.key, lines[number])
            walk.marks.append({"at": at, "line": number + 1, "mac": mac, "rule": touched[number]})
    return clean


def _redact_named_text(text: str, name: str | None, look: SecretCandidates) -> tuple[str, dict[int, str]]:
    """Return ``text`` redacted, and the rule of every changed line; ``name`` is the text's name."""
    touched: dict[int, str] = {}
    first, last = 0, len(text)
    for _ in range(PASSES_MAX):
        matches = [
            (first + start, first + end, rule) for start, end, rule in _find_secret_spans(text[first:last], look)
        ]
        spans = _split_secrets_by_line(text, _merge_secret_spans(text, _find_named_secrets(text, name) + matches))
        if not spans:
            return text, touched
        first, tail = _find_rescan_window(text, spans)
        text = _replace_secret_spans(text, spans, touched)
        last = len(text) - tail
        look = SecretCandidates(text[first:last], look.needles)
    raise RedactionError("too many redaction passes over a text")


def _find_named_secrets(text: str, name: str | None) -> list[TextSpan]:
    """Return the secret in ``text`` that its name reveals."""
    value = None if name is None else select_secret_part(name, text)
    return [] if value is None else [(value[0], value[1], _choose_redaction_rule(value[2]))]


def _find_rescan_window(text: str, spans: list[TextSpan]) -> tuple[int, int]:
    """Return how much at the start and end of ``text`` need not be scanned again after replacing ``spans``.

    Lines further from a change than any rule reads have the same result as before.
    """
    if any(mark in text for mark in _FAR):
        return 0, 0
    reach = REACH_OVER_LINES if any(quotes in text for quotes in _QUOTES_OVER_LINES) else REACH
    first = text.rfind("\n", 0, max(0, spans[0][0] - reach)) + 1
    last = text.find("\n", spans[-1][1] + reach)
    return first, 0 if last < 0 else len(text) - last


def _replace_secret_spans(text: str, spans: list[TextSpan], touched: dict[int, str]) -> str:
    parts = []
    at = line = 0
    for start, end, rule in spans:
        line += text.count("\n", at, start)
        touched.setdefault(line, rule)
        parts += [text[at:start], MARKER, rule, "]"]
        at = end
    return "".join(parts) + text[at:]


def _merge_secret_spans(text: str, matches: list[TextSpan]) -> list[TextSpan]:
    """Return the spans in order, without overlaps and without redacted parts."""
    merged: list[TextSpan] = []
    end = 0
    for start, last, rule in sorted(matches, key=lambda span: (span[0], -span[1])):
        for first, until in _split_around_redactions(text, max(start, end), last):
            merged.append((first, until, rule))
        end = max(end, last)
    return merged


def _split_around_redactions(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span that are not redacted yet."""
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


def _split_secrets_by_line(text: str, spans: list[TextSpan]) -> list[TextSpan]:
    """Return the spans cut at line ends; on each further line a span begins after indentation and diff marks."""
    cut: list[TextSpan] = []
    for start, end, rule in spans:
        while True:
            line = text.find("\n", start, end)
            last = end if line < 0 else line - (text[line - 1] == "\r")
            if last > start and text[start:last].strip():
                cut.append((start, last, rule))
            if line < 0:
                break
            start = _skip_diff_prefix(text, line + 1, end)
    return cut


def _skip_diff_prefix(text: str, start: int, end: int) -> int:
    """Return where a line's own content begins: after blanks, a line number, and a diff mark."""
    part = text[start : min(end, start + NEAR)]
    rest = part.lstrip(" \t")
    number = rest.lstrip("0123456789")
    if number != rest and number[:1] in ("\t", "\u2192", "|", ":"):
        rest = number[1:].lstrip(" \t")
    if rest[:1] in ("+", "-", ">", "|"):
        rest = rest[1:]
    return start + len(part) - len(rest)


# ---------------------------------------------------------------------------------------------------------------------
# What to redact.


_FAR = ("-----BEGIN ", "Private-Lines:", "kind", "LS0tLS1CRUdJTi")
"""Texts that mark content longer than a rule's usual reach."""


class SecretCandidates:
    """The search terms of some texts, found in all of them at once, so that each text is searched for fewer."""

    __slots__ = ("needles", "tokens")

    def __init__(self, text: str, needles: Iterable[str] = ()) -> None:
        longer = filter_secret_candidates(_collect_secret_tokens(text))
        self.needles = {
            piece[start:end]
            for word in longer
            for piece in list_escaped_word_variants(word)
            for start, end in find_random_parts(piece)
        }
        self.tokens = set(find_secret_token_rules(longer))
        self.needles.update(needles)  # from before, so that every pass searches in the same way
        if self.needles:
            self.tokens.add(BESIDE_RANDOM)


def _find_secret_spans(text: str, look: SecretCandidates) -> list[TextSpan]:
    """Return everything to redact in ``text``, in any order; spans may overlap."""
    if len(text) < 4:
        return []
    low = lower_ascii(text)
    markers = set(find_secret_markers(low, text))
    # Where two rules find the same secret, the first one names it.
    matches = list(_find_private_keys(text)) if "-----begin" in markers else []
    matches += _find_pattern_secrets(text, markers | look.tokens)
    matches += [(start, end, _choose_redaction_rule(says)) for start, end, says in find_named_secret_values(text, low)]
    matches += _find_phrase_secrets(text, low)
    if "://" in text and "@" in text:
        matches += [(start, end, "address") for start, end in find_url_secrets(text)]
    if "private-lines" in markers:
        matches += _find_putty_keys(text)
    if "kind" in markers:
        matches += _find_manifest_secrets(text)
    if look.needles:
        matches += _find_random_secrets(text, look.needles)
    return matches


def _find_phrase_secrets(text: str, low: str) -> Iterator[TextSpan]:
    """Yield passwords in sentences and recovery phrases; few texts may have either."""
    if has_password_word(low.replace("passe", "passe "), low):
        from .secret_phrases import find_spoken_passwords

        yield from ((start, end, "password") for start, end in find_spoken_passwords(text, low))
    if has_word_run(text.encode("latin-1", "replace")) or has_phrase_hint(low, low):
        from .secret_phrases import find_recovery_phrases

        yield from ((start, end, "recovery-phrase") for start, end in find_recovery_phrases(text, low))


def _choose_redaction_rule(says: int) -> str:
    return "password" if says >= PASSWORD else "secret"


def _collect_secret_tokens(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogatepass")
    words: set[str] = set()
    for at in range(0, len(data), CHUNK):
        words |= split_token_candidates(data[max(0, at - OVERLAP) : at + CHUNK])
    return words


_compiled: dict[str, Any] = {}


def _compile_secret_pattern(pattern: str) -> Any:
    compiled = _compiled.get(pattern)
    if compiled is None:
        import re  # slow to import, not always needed

        compiled = _compiled[pattern] = re.compile(pattern)
    return compiled


def _find_pattern_secrets(text: str, literals: set[str]) -> Iterator[TextSpan]:
    """Yield the matches of the patterns whose literals occur."""
    if not literals:
        return
    from .patterns import RULES  # only now: most events do not need it

    for rule in RULES:
        if not literals.isdisjoint(rule.literals):
            for match in _match_secret_pattern(text, rule):
                start, end = match.span(rule.group)
                if (
                    start >= 0
                    and _is_secret_token(text[start:end], rule.floor)
                    and (rule.literals[0] in MARKERS or _can_secret_token_begin(text, start))
                ):
                    yield start, end, rule.name


def _match_secret_pattern(text: str, rule: SecretPattern) -> Iterator[Any]:
    """Yield the matches of a rule: in the lines with one of its literals, or anywhere if it may span lines."""
    if not rule.is_of_one_line:
        yield from _compile_secret_pattern(rule.pattern).finditer(text)
        return
    for first, last in _find_literal_lines(text, rule.literals):
        yield from _compile_secret_pattern(rule.pattern).finditer(text, first, last)


def _find_literal_lines(text: str, literals: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the lines of ``text`` that contain one of ``literals``, each with the line end before it."""
    lines = set()
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            last = text.find("\n", at)
            last = len(text) if last < 0 else last
            lines.add((max(0, text.rfind("\n", 0, at)), last))
            at = text.find(literal, last)
    return sorted(lines)


def _can_secret_token_begin(text: str, start: int) -> bool:
    """Return whether a token can begin at ``start``: not inside a word, nor in one that is known not to be a secret."""
    if start and text[start - 1].isalnum() and text[start - 2 : start] not in _LINE_ENDS:
        return False
    return not is_known_not_secret(text, start)


_LINE_ENDS = ("\\n", "\\r", "\\t", "\\b", "\\f")


def _is_secret_token(value: str, floor: float | None) -> bool:
    """Return whether ``value`` is odd enough and not a placeholder."""
    if is_secret_placeholder(value, True, "") or (floor is not None and compute_odd_pair_share(value) < floor):
        return False
    return len(set(value)) > 5 or len(value) < 8


# ---------------------------------------------------------------------------------------------------------------------
# Random words.


def _find_random_secrets(text: str, needles: set[str]) -> Iterator[TextSpan]:
    public = _find_public_key_blocks(text)
    for start, end in _locate_random_words(text, needles):
        if not _is_harmless_random_word(text, start, end, public):
            padding = len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
            yield start, end + padding, "random"


def _locate_random_words(text: str, needles: set[str]) -> Iterator[tuple[int, int]]:
    if len(needles) <= NEEDLES_MAX:
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                if not _is_random_by_escape(text, at, needle):
                    yield at, at + len(needle)
                at = text.find(needle, at + len(needle))
        return
    for match in _compile_secret_pattern(r"[0-9A-Za-z_+/.~$-]{20,}").finditer(text):
        start, word = match.start(), match.group()
        if start and text[start - 1] == "\\" and word[0] in "nrtbf":
            start, word = start + 1, word[1:]
        for first, last in find_random_parts(word):
            yield start + first, start + last


def _is_random_by_escape(text: str, at: int, needle: str) -> bool:
    """Return whether ``needle`` is random only because of a letter of an escape before it."""
    return text[at - 1 : at] == "\\" and needle[0] in "nrtbf" and not find_random_parts(needle[1:])


def _is_harmless_random_word(text: str, start: int, end: int, public: list[tuple[int, int]]) -> bool:
    """Return whether a random word is not a secret: a hash by its name, or a line of a picture or a public key."""
    if (
        is_hash_context(text, start)
        or is_known_not_secret(text, start)
        or _is_document_id(text, start)
        or any(first < start < last for first, last in public)
    ):
        return True
    before = text[max(0, start - NEAR) : start].rpartition("\n")[2]
    names = "".join([character if character.isalnum() or character in "_-" else " " for character in before]).split()
    if any(not _HASHED.isdisjoint(split_secret_name(name)[-1:]) for name in names[-2:]) or _is_id_not_secret(
        names[-1:]
    ):
        return True
    return _is_wrapped_text_line(text, start, end)


def _is_id_not_secret(names: list[str]) -> bool:
    """Return whether a name marks its value as an id, but not of a secret or a session."""
    words = split_secret_name(names[0]) if names else []
    return words[-1:] in (["id"], ["ids"]) and not {"secret", "token", "session", "key", "sess"}.intersection(words)


_SITES = tuple(
    "docs.google. drive.google. sheets.google. slides.google. forms.google. script.google. colab.research.google."
    " calendar.google. photos.google. photos.app.goo.gl forms.gle lookerstudio.google. datastudio.google. figma.com"
    " youtube.com youtu.be loom.com miro.com notion.so notion.site airtable.com sharepoint.com 1drv.ms onedrive.live."
    " dropbox.com box.com quip.com canva.com overleaf.com gitbook. medium.com ipfs arweave.net lucid.app whimsical.com"
    " mural.co typeform.com observablehq.com huggingface.co deepnote.com replit.com codepen.io excalidraw.com".split()
)
_FOLDERS = frozenset(
    "d e u folders folder file files document documents doc docs spreadsheets presentation forms design proto board"
    " boards playlist watch share view embed ipfs ipns blob c channel scl fi fo s p page pages projects drive open"
    " notebooks viewer reporting".split()
)
URL_REACH = 200


def _is_document_id(text: str, start: int) -> bool:
    """Return whether a random word begins an element of the URL of a document, a drawing or a video."""
    words = text[max(0, start - URL_REACH) : start].split()
    before = words[-1] if words and not text[start - 1 : start].isspace() else ""
    for character in "\"'`<>()[]{}":
        before = before.rpartition(character)[2]
    site, slash, path = before.lower().partition("://")[2].partition("/") if "://" in before else before.partition("/")
    if not slash or not any(name in site for name in _SITES):
        return False
    folders = path.partition("?")[0].split("/")
    key = before.rpartition("?")[2].rpartition("&")[2] if "?" in before else ""
    if key:
        return key in ("id=", "list=", "v=", "node-id=", "docId=", "srcid=", "resourcekey=")
    return len(folders) < 2 or bool(_FOLDERS.intersection(folders[:-1])) or "ipfs" in site


_AROUND = " \t\r\"'`+-,;>|*#()\\"
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
WRAPPED_MIN = 56
"""Minimum characters of a line that may be one of many."""


def _is_wrapped_text_line(text: str, start: int, end: int) -> bool:
    """Return whether the word is a whole line, and so is the next one: a long text cut into lines."""
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


def _find_public_key_blocks(text: str) -> list[tuple[int, int]]:
    """Return whether a place is inside a certificate, a public key or a signature."""
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
# Keys and manifests, over several lines.


def _find_private_keys(text: str) -> Iterator[TextSpan]:
    at = text.find("-----BEGIN ")
    while at >= 0:
        head = at + 11 + len(text[at + 11 : at + 80].partition("-----")[0]) + 5
        following = text.find("-----BEGIN ", head)
        if "PRIVATE KEY" in text[at:head]:
            most = min(head + KEY_MAX, len(text) if following < 0 else following)
            end = text.find("-----END ", head, most)
            last = _find_private_key_end(text, head, most) if end < 0 else text.find("-----", end + 9, end + 80) + 5
            if _is_private_key_body(text[head : last if end < 0 else end]) and last > head:
                yield at, last, "private-key"
        at = following


def _is_private_key_body(body: str) -> bool:
    """Return whether there is a key between the marks, not just code that searches for them."""
    return any(
        len(word) >= 16 and compute_odd_pair_share(word) > 0.3
        for word in split_token_candidates(body.encode("utf-8", "surrogatepass"))
    )


def _find_private_key_end(text: str, start: int, most: int) -> int:
    """Return the end of a key without an end mark: after the last line that can be part of it."""
    end = start
    for line in text[start:most].split("\n"):
        content = line.strip(_AROUND + "0123456789\u2192") if end > start else line.strip()
        is_head = ": " in content and content.partition(": ")[0].replace("-", "").isalpha()
        if content and not is_head and (" " in content or content.replace("\\n", "").strip(_BASE64)):
            break
        end += len(line) + 1
    return min(end, most) - (text[min(end, most) - 1 : min(end, most)] == "\n")


def _find_putty_keys(text: str) -> Iterator[TextSpan]:
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


def _find_manifest_secrets(text: str) -> Iterator[TextSpan]:
    """Yield the values of a manifest of secrets, whatever their names."""
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
            if colon and len(value) > 3 and not is_secret_placeholder(value, False, name):
                start = at + line.index(": ") + 2
                start += line[start - at :].index(value)
                yield start, start + len(value), "secret"
        at += len(line) + 1
