"""Secrets in sentences: passwords after "is" or "ist", in many languages, and the recovery phrases of wallets.

Built-ins only, like ``secret_scan``: every event pays for it. ``redact`` uses the same functions.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Iterator

# ---------------------------------------------------------------------------------------------------------------------
# Passwords in sentences.

REACH = 100
"""Maximum characters between the word for a password and its value, on one line."""
TOKENS_MAX = 12
ENDING_MAX = 8
"""Maximum letters after the stem of a word: "contrase" and "ña", "парол" and "ями"."""
FAR_MAX = 20
"""Maximum characters between a word and its value in languages without spaces."""

NAMED_WORDS = tuple(
    "password passwort passwd passphrase passcode passord kennwort wachtwoord senha haslo sifre salasana heslo".split()
)
"""Words that ``secret_scan`` knows as names; only sentences are left to this module."""
OTHER_WORDS = (
    "mot de passe",
    "mots de passe",
    "palavra-passe",
    "palavra passe",
    "contrase",
    "clave",
    "parola",
    "kata sandi",
    "has\u0142",
    "\u015fifre",
    "l\u00f6senord",
    "jelsz\u00f3",
    "m\u1eadt kh\u1ea9u",
    "\u043f\u0430\u0440\u043e\u043b",
    "\u03ba\u03c9\u03b4\u03b9\u03ba",
    "\u05e1\u05d9\u05e1\u05de",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
)
"""Words of other languages, some without their endings."""
JOINED_WORDS = (
    "\u5bc6\u7801",
    "\u5bc6\u78bc",
    "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\u6697\u8a3c\u756a\u53f7",
    "\ube44\ubc00\ubc88\ud638",
    "\ud328\uc2a4\uc6cc\ub4dc",
    "\uc554\ud638",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
)
"""Words of languages without spaces between a word, its particle and the value."""
_LEADS = frozenset(
    "is was are now is: be currently still ist war lautet jetzt nun est sera maintenant es era ahora sar\u00e1 \u00e8"
    " adesso \u00e9 agora fica jest teraz brzmi to \u044d\u0442\u043e \u0442\u0435\u043f\u0435\u0440\u044c \u2014"
    " \u2013 - = -> => : \u2192 \u00e4r er on je \u0111\u00e3 l\u00e0 adalah olarak \u05d4\u05d9\u05d0 \u0647\u064a"
    " \u0939\u0948 \u03b5\u03af\u03bd\u03b1\u03b9 van".split()
)
"""Words and characters right before a password."""
_WRAPPING = "\"'`()[]{}<>,;.\u00ab\u00bb\u201e\u201c\u201d\u2018\u2019\u300c\u300d\u300e\u300f\u3002\uff0c*"
_OPERATORS = ":=\uff1a\uff1d"


def find_spoken_passwords(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Yield the passwords in sentences of ``text``; ``low`` is the same text in small letters.

    >>> text = "Das Passwort des Servers ist Xq7vLp2, das ist neu."
    >>> [text[start:end] for start, end in find_spoken_passwords(text, text.lower())]
    ['Xq7vLp2']
    """
    for words, find in ((NAMED_WORDS, _find_after_name), (OTHER_WORDS, _find_after_word), (JOINED_WORDS, _find_joined)):
        for word in words:
            at = low.find(word)
            while at >= 0:
                span = None if words is not JOINED_WORDS and _is_inside(text, at, words) else find(text, at + len(word))
                at += len(word)
                if span is not None:
                    yield span
                at = low.find(word, at)


def _is_inside(text: str, at: int, words: tuple[str, ...]) -> bool:
    """Return whether a word is part of a path or a program's name, or the middle of another word."""
    before = text[at - 1] if at else " "
    return before in "/_." or (words is OTHER_WORDS and before.isalpha())


def _find_after_name(text: str, at: int) -> tuple[int, int] | None:
    return _find_in_sentence(text, _skip_ending(text, at), is_named=True)


def _find_after_word(text: str, at: int) -> tuple[int, int] | None:
    end = _skip_ending(text, at)
    line = text[end : end + REACH].partition("\n")[0]
    rest = line.lstrip("\"'` \\\0")
    if rest[:1] and rest[0] in _OPERATORS:
        value = rest.lstrip(_OPERATORS + "> ")
        start = end + len(line) - len(value)
        return _take_value(text, start, value.split(None, 1)[0] if value.strip() else "")
    return _find_in_sentence(text, end, is_named=False)


def _find_joined(text: str, at: int) -> tuple[int, int] | None:
    """Return the first word of ASCII characters after a word without spaces around it."""
    part = text[at : at + FAR_MAX].partition("\n")[0]
    skipped = next((place for place, character in enumerate(part) if "#" <= character <= "~"), None)
    if skipped is None:
        return None
    start = at + skipped
    value = text[start : start + REACH]
    lead = len(value) - len(value.lstrip(_OPERATORS + "'` >-"))
    value = value[lead:]
    end = next((place for place, character in enumerate(value) if not "!" <= character <= "~"), len(value))
    return _take_value(text, start + lead, value[:end])


def _find_in_sentence(text: str, at: int, *, is_named: bool) -> tuple[int, int] | None:
    """Return the first value on the line that follows a word such as "is" or a colon."""
    line = text[at : at + REACH].partition("\n")[0]
    place, before = 0, "" if is_named else ":"
    for token in line.split(None, TOKENS_MAX)[:TOKENS_MAX]:
        place = line.index(token, place)
        if (before in _LEADS or before[-1:] in _OPERATORS) and not (is_named and place < 2):
            span = _take_value(text, at + place, token)
            if span is not None:
                return span
        place += len(token)
        if not token.strip(_WRAPPING):
            continue  # a quotation mark between spaces, as in French
        before = token.lower() if token[-1:] not in (".", "?", "!", ";") else ""
        before = before or "."
    return None


def _skip_ending(text: str, at: int) -> int:
    part = text[at : at + ENDING_MAX]
    return at + next((place for place, character in enumerate(part) if not character.isalpha()), len(part))


def _take_value(text: str, start: int, token: str) -> tuple[int, int] | None:
    """Return the span of a token without quotes and punctuation, if it looks like a password."""
    value = token.lstrip(_WRAPPING + "\\\0")
    start += len(token) - len(value)
    for end in '"`<>\\\0\u201c\u201d\u00bb\u300d\u300f\u3002\uff0c':
        value = value.partition(end)[0]
    value = value.rstrip(_WRAPPING)
    return (start, start + len(value)) if is_password_like(value) else None


_DIGITS = "0123456789"
_SYMBOLS = frozenset("!#$%&*+=?@^~")
LENGTH_MIN, LENGTH_MAX = 6, 128
DIGITS_ALONE_MAX = 12
_NOT_PASSWORDS = tuple(
    "sha1 sha2 sha3 sha256 sha384 sha512 md5 md4 base64 base32 bcrypt argon2 pbkdf2 scrypt utf8 utf-8 utf16 oauth2 http"
    " ipv4 ipv6 x509 pkcs aes128 aes256 aes rsa2048 rsa4096 ed25519 python2 python3 mysql5 win32 win64 int32 int64"
    " uint8 hmac ntlm kdf crypt $".split()
)
"""Beginnings of names with digits that sentences about passwords contain."""


def is_password_like(value: str) -> bool:
    """Return whether a word of a sentence has letters with digits or symbols, or odd capitals.

    >>> [is_password_like(word) for word in ("Sommer2024!", "8-stellig", "erforderlich", "base64", "p@ssWorter")]
    [True, False, False, False, True]
    """
    word = value.rstrip("!?")
    if not LENGTH_MIN <= len(value) <= LENGTH_MAX or not word or word.lower().startswith(_NOT_PASSWORDS):
        return False
    if any(character in value for character in '()[]{}<>|\\/"') or "::" in value or ".." in value:
        return False
    if word[0] in "$%&-=#@" or (not word.isascii() and not any(map(word.__contains__, _DIGITS))):
        return False
    if word.isdigit():
        return LENGTH_MIN <= len(word) <= DIGITS_ALONE_MAX
    if not any(map(str.isalpha, word)):
        return False
    if any(map(word.__contains__, _DIGITS)):
        return _mixes_letters_and_digits(word)
    if not _SYMBOLS.isdisjoint(word):
        return not ("@" in word and "." in word.rpartition("@")[2]) and "=" not in word
    return len(word) >= 8 and word.isalpha() and _has_odd_capitals(word)


def _mixes_letters_and_digits(word: str) -> bool:
    """Return whether a part of a word has both, or a symbol is beside them: not "8-stellig", "v1.2" or "page_3"."""
    if not _SYMBOLS.isdisjoint(word) and "=" not in word:
        return True
    for separator in "-_.:,'":
        word = word.replace(separator, " ")
    parts = word.split()
    return any(len(part) >= 5 and not part.isdigit() and any(map(part.__contains__, _DIGITS)) for part in parts)


def _has_odd_capitals(word: str) -> bool:
    """Return whether capitals stand where no language and no name of a program has them: "xKqLpWvZ"."""
    if word.islower() or word.isupper() or word.istitle():
        return False
    runs = "".join([" " if character.isupper() else character for character in word]).split()
    return sum([len(run) + 1 for run in runs if len(run) > 2]) * 2 < len(word)


# ---------------------------------------------------------------------------------------------------------------------
# Recovery phrases of wallets (BIP-39).

PHRASE_LENGTHS = (12, 15, 18, 21, 24)
LETTERS_MIN, LETTERS_MAX = 3, 8
RUN_CHARACTERS_MIN = 12 * LETTERS_MIN + 11
PREFIX = 4
"""The first letters of a word of the list: no other word of it has the same."""
INFLECTED_MAX = 0.25
"""Maximum share of inflected words, which lists in code have and the list of BIP-39 has rarely."""
HINT_REACH = 80
HINTS = ("mnemonic", "seed", "recovery", "phrase", "wallet", "bip39", "bip-39")
"""Words around a recovery phrase; without one only a whole line or quoted text counts."""

_HEADINGS = frozenset(b"seed phrase mnemonic recovery backup words wallet secret import restore".split())
_NOT_IN_LIST = frozenset(
    b"the and for are was were has had not but from with which your them than who how why would could should may might"
    b" its his her our their been being does did get set new each some most made see said here out after through both"
    b" too let while none null class def self import string value line data user down well even many yet per via within"
    b" without against though these those using based given called int str bool dict lambda elif assert async"
    b" await yield config function const var static struct enum args kwargs".split()
)
"""Frequent words of prose and of programs that BIP-39 does not have."""
_SPACED = bytes([byte if 97 <= byte <= 122 or byte == 32 else 124 for byte in range(256)])
"""Keeps small letters and spaces; everything else ends a phrase."""
_LISTED = bytes(
    [byte if 97 <= byte <= 122 else 32 if byte in b" \t\r\n0123456789.,\"'-)\0\\" else 124 for byte in range(256)]
)
"""Also treats numbers, quotes and ends of lines as spaces, as between the words of a numbered list."""


def find_recovery_phrases(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Yield the recovery phrases in ``text``: runs of as many words as BIP-39 allows.

    >>> text = "seed: legal winner thank year wave sausage worth useful legal winner thank yellow"
    >>> {text[start:end].split()[0] for start, end in find_recovery_phrases(text, text.lower())}
    {'legal'}
    """
    data = text.encode("latin-1", "replace")  # one byte for each character, so places are the same
    yield from _find_phrase_runs(data.replace(b"  ", b"||").translate(_SPACED), low, is_listed=False)
    if "12. " in low or "12) " in low or any(hint in low for hint in HINTS):
        yield from _find_phrase_runs(low.encode("latin-1", "replace").translate(_LISTED), low, is_listed=True)


def _find_phrase_runs(data: bytes, low: str, *, is_listed: bool) -> Iterator[tuple[int, int]]:
    at = 0
    for part in data.split(b"|"):
        if len(part) >= RUN_CHARACTERS_MIN:
            yield from _find_phrases_in_part(part, at, low, is_listed=is_listed)
        at += len(part) + 1


def _find_phrases_in_part(part: bytes, at: int, low: str, *, is_listed: bool) -> Iterator[tuple[int, int]]:
    words = part.split()
    if len(words) < PHRASE_LENGTHS[0]:
        return
    is_hinted: bool | None = None
    for first, last in _split_word_runs(words):
        if last - first not in PHRASE_LENGTHS:
            continue
        start, end = _locate_words(part, words, first, last)
        if is_hinted is None and is_listed and _is_numbered(low[at : at + end], words[first:last]):
            is_hinted = True
        if is_hinted is None:
            is_hinted = any(hint in low[max(0, at + start - HINT_REACH) : at + start] for hint in HINTS)
        is_whole = first == 0 and last == len(words)
        if (is_hinted or (is_whole and not is_listed)) and _is_phrase(words[first:last], is_hinted=is_hinted):
            yield at + start, at + end


def _is_numbered(text: str, words: list[bytes]) -> bool:
    """Return whether the last words of ``text`` are a list with the numbers from one on."""
    for number in range(len(words), 1, -1):
        text, _, _ = text.rpartition(words[number - 1].decode())
        before = text.rstrip().rstrip(".)")
        if not before.endswith(str(number)):
            return False
    return True


def _split_word_runs(words: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the runs of words that may be in the list, without headings before them."""
    first = 0
    for place in range(len(words) + 1):
        if place < len(words) and LETTERS_MIN <= len(words[place]) <= LETTERS_MAX and words[place] not in _NOT_IN_LIST:
            continue
        if place - first >= PHRASE_LENGTHS[0]:
            while place - first not in PHRASE_LENGTHS and first < place and words[first] in _HEADINGS:
                first += 1
            yield first, place
        first = place + 1


def _locate_words(part: bytes, words: list[bytes], first: int, last: int) -> tuple[int, int]:
    start = end = 0
    for place, word in enumerate(words[:last]):
        begin = part.index(word, end)
        end = begin + len(word)
        if place == first:
            start = begin
    return start, end


def _is_phrase(words: list[bytes], *, is_hinted: bool) -> bool:
    distinct = set(words)
    if len({word[:PREFIX] for word in distinct}) < len(distinct):
        return False
    if is_hinted:
        return True
    inflected = sum([word.endswith((b"ing", b"ed", b"ly", b"s")) and not word.endswith(b"ss") for word in words])
    return len(distinct) * 2 > len(words) and words != sorted(words) and inflected <= INFLECTED_MAX * len(words)
