"""A fast scan of an event for possible secrets.

Bytes and built-ins only, because every event pays for this. ``redact`` uses the same functions, so nothing that a rule
would redact gets past the scan:

- a literal that only secrets have (``ghp_``, ``-----BEGIN``, ``://user:pass@``),
- a long random word (``find_random_parts``); git ids, UUIDs, agents' own ids and integrity hashes pass,
- a value beside a name that marks it as a secret (``find_named_secret_values``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than this module
if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 20
OVERLAP_BYTES = 8192
"""Large events are scanned piece by piece; the pieces overlap by more than the longest name and value."""

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_LETTERS = _LOWER + _LOWER.upper()
_ALNUM = _LETTERS + _DIGITS
_HEX = _DIGITS + "abcdefABCDEF"
_HEX_LOW = _DIGITS + "abcdef-"
_DIGIT_SET = frozenset(_DIGITS)
_SPLITTING = frozenset(".~$\0")
"""Characters that separate independent parts of a word."""

# ---------------------------------------------------------------------------------------------------------------------
# Random words.

WORD_MIN = 20
WORD_MAX = 199
"""Longer words without a name are pictures, fonts and other data."""
CORE_MIN = 16
ODD_MIN = 0.5
ODD_MIXED_MIN = 0.45
"""Minimum share of odd pairs in a random word; lower if it mixes capitals, small letters and digits."""
ODD_WORD_MAX = 0.35
"""Below this share of odd pairs, a part of a word is an ordinary word."""
DISTINCT_CHARS_MIN = 10
"""Minimum number of different letters and digits in a random word."""
CAMEL_MIN = 0.75
HEX_MIN = 32
HALF_MIN = 10
DIGEST_LENGTHS = frozenset((32, 40, 56, 64, 96, 128))

_PAIRS = (
    "ab ac ad ag ai al am an ap ar as at au ba be bi bl bo br bu ca ce ch ci ck cl co cr ct cu da dd de di dl do ds du"
    " ea ec ed ee ef eg el em en ep eq er es et ev ew ex fa fe ff fi fo fr ge gh gi gr gs ha he hi ho ht ia ib ic id ie"
    " if ig il im in io ip ir is it iv ix iz ke la ld le li ll lo ls lt lu ly ma me mi mm mo mp ms na nc nd ne nf ng ni"
    " no ns nt nu ob oc od og ol om on oo op or os ot ou ow pa pe pi pl po pp pr ps pt qu ra rc rd re rg ri rm rn ro rr"
    " rs rt ru ry sa sc se sh si sl so sp ss st su ta tc td te th ti tl to tp tr ts tt tu ty ua ub ue ui ul um un up ur"
    " us ut va ve vi wa wi xt yp ze".split()
    + [digit + other for digit in _DIGITS for other in _DIGITS]
    + [letter + letter for letter in _LOWER]
    + [_LOWER[at : at + 2] for at in range(25)]
)
"""Ordinary pairs: those that make up six of seven pairs in names and prose (of random letters two of seven), two
digits, the same letter twice, and the alphabet in order."""
_ORDINARY = frozenset(map(tuple, _PAIRS))

_KNOWN = tuple(
    "toolu_ tooluse_ srvtoolu_ msg_ prt_ ses_ call_ req_ resp_ run_ thread_ asst_ chatcmpl- rs_ fc_"
    " sha1- sha256- sha384- sha512-".split()
)
"""Prefixes of agents' own ids and of integrity hashes."""
_PUBLIC = ("AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "_ZN", "_R", "iVBORw0KGgo", "R0lGOD", "xn--", "XN--")
"""Prefixes of public keys, compilers' names, pictures and encoded host names."""
_NEVER_RANDOM = _KNOWN + _PUBLIC
_KEYLIKE = frozenset("sk rk key pat tok live secret apikey".split())
"""First parts of a word that make hexadecimal digits a key."""
_UUID_KEYS = frozenset("sdk pat access sk secret".split())
"""First parts of a word that make a UUID a key."""


def count_odd_letter_pairs(word: str) -> int:
    """Return how many adjacent pairs in ``word`` are rare in names and prose."""
    low = word.lower()
    # No loop in Python: this runs for every long word of every event.
    return max(0, len(low) - 1) - sum(map(_ORDINARY.__contains__, zip(low, low[1:])))  # noqa: B905, RUF007 - itertools is one more import


def has_odd_letter_pairs(word: str, share: float) -> bool:
    """Return whether at least ``share`` of the pairs in ``word`` are odd."""
    return count_odd_letter_pairs(word) >= share * max(1, len(word) - 1)


CACHED_WORDS_MAX = 100_000
_random_parts: dict[str, list[tuple[int, int]]] = {}
_odd: dict[str, int] = {}


def clear_secret_cache() -> None:
    """Clear the cache of words: they may be secrets, and are needed only until their event is redacted."""
    _random_parts.clear()
    _odd.clear()
    _strengths.clear()


def find_random_parts(word: str) -> list[tuple[int, int]]:
    """Return the spans of random parts in ``word`` (of letters, digits and ``_-+/.~$``)."""
    spans = _random_parts.get(word)
    if spans is None:
        if len(_random_parts) >= CACHED_WORDS_MAX:
            clear_secret_cache()
        spans = _random_parts[word] = _scan_random_parts(word)
    return spans


def _scan_random_parts(word: str) -> list[tuple[int, int]]:
    # Hexadecimal digits alone are ids and digests, by far the most frequent long and odd words.
    if len(word) < WORD_MIN or not word.strip(_HEX + "-") or word.startswith(_NEVER_RANDOM):
        return []
    matches = []
    at = 0
    pieces = word.replace("$", ".").replace("~", ".").split(".")
    for number, piece in enumerate(pieces):
        if len(piece) >= WORD_MIN and not (piece.islower() and _DIGIT_SET.isdisjoint(piece)):
            if _is_hex_token_half(piece, pieces[number - 1] if number else ""):
                matches.append((at - len(pieces[number - 1]) - 1, at + len(piece)))
            else:
                matches += [(at + start, at + end) for start, end in _find_random_segments(piece)]
        at += len(piece) + 1
    return matches


def _is_hex_token_half(piece: str, before: str) -> bool:
    """Return whether ``piece`` is the hexadecimal half of a token whose first half is random."""
    is_hex = len(before) >= HALF_MIN and len(piece) >= HEX_MIN and not piece.strip(_HEX) and not piece.isalpha()
    return is_hex and not (before.islower() or before.isupper()) and has_odd_letter_pairs(before, ODD_MIXED_MIN)


def _find_random_segments(piece: str) -> list[tuple[int, int]]:
    segments = piece.split("/")
    names = [segment for segment in segments if len(segment) > 2]
    if len(segments) == 1 or not any(map(_is_wordlike_token, names)):
        return [(_skip_token_punctuation(piece), len(piece))] if _is_random_token(piece) else []
    if len(piece) > WORD_MAX and sum(map(_is_wordlike_token, names)) * 2 < len(names):
        return []
    matches = []
    at = 0
    for segment in segments:  # a path: check each name by itself
        if len(segment) >= WORD_MIN and _is_random_token(segment):
            matches.append((at + _skip_token_punctuation(segment), at + len(segment)))
        at += len(segment) + 1
    return matches


def _skip_token_punctuation(piece: str) -> int:
    return len(piece) - len(piece.lstrip("+-/"))


def _is_random_token(piece: str) -> bool:
    """Return whether ``piece`` without its plain words is random."""
    if not WORD_MIN <= len(piece) <= WORD_MAX or piece.startswith(_NEVER_RANDOM):
        return False
    parts = _split_token_parts(piece)
    if _is_service_id(piece, parts):
        return True
    core = ""
    pairs = odd = 0
    for part in parts:
        count = _odd.get(part)
        if count is None:
            count = _count_part_odd_pairs(part)
        if count > ODD_WORD_MAX * (len(part) - 1):
            core += part
            pairs += len(part) - 1
            odd += count
    if _has_uuid(parts):
        return parts[0] in _UUID_KEYS and len(parts) < 8
    if not core.strip(_HEX):
        return _is_marked_hex_key(piece, parts)
    if len(core) < CORE_MIN or len(set(core.lower())) < DISTINCT_CHARS_MIN or core[:2] == "0x":
        return False
    if core.islower() or core.isupper():
        return odd >= ODD_MIN * pairs
    return odd >= (ODD_MIN if _is_without_digits(core) else ODD_MIXED_MIN) * pairs and not _is_camel_case_word(core)


def _split_token_parts(piece: str) -> list[str]:
    for character in "-+/":
        if character in piece:
            piece = piece.replace(character, "_")
    return [part for part in piece.split("_") if part]


def _is_plain_word(part: str) -> bool:
    """Return whether a part is a number, or a short word with or without a number at either end."""
    if len(part) < 4 or part.isdigit():
        return True
    if len(part) >= 12:
        return False
    letters = part.strip(_DIGITS)
    return letters.isalpha() and (letters.islower() or letters.isupper() or letters.istitle())


def _count_part_odd_pairs(part: str) -> int:
    """Return the number of odd pairs in a part; -1 for a plain word and a public id."""
    count = _odd[part] = (
        -1
        if _is_plain_word(part) or (len(part) in _PUBLIC_LENGTHS and is_public_id(part))
        else count_odd_letter_pairs(part)
    )
    return count


_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
ULID_LENGTH = 26
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_BASE36 = "abcdefghijklmnopqrstuvwxyz0123456789"
_CIDS = (
    ("Qm", 46, _BASE58),
    ("baf", 59, _BASE32),
    ("baf", 61, _BASE32),
    ("bah", 61, _BASE32),
    ("k51", 62, _BASE36),
    ("k2k4r8", 62, _BASE36),
    ("zb2", 49, _BASE58),
    ("zdj7W", 49, _BASE58),
    ("12D3KooW", 52, _BASE58),
)
"""Prefix, length and alphabet of the content ids and peer ids of IPFS."""


_PUBLIC_LENGTHS = frozenset((ULID_LENGTH, *[length for _, length, _ in _CIDS]))


def is_public_id(part: str) -> bool:
    """Return whether a word is an id that is public by its kind: a ULID, a content id of IPFS.

    >>> [is_public_id(word) for word in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "Q" * 46, "JBSWY3DPEHPK3PXPJBSWY3DPEH")]
    [True, False, False]
    """
    if len(part) == ULID_LENGTH and part[0] == "0" and part[1] in "1234567":
        return (part.isupper() or part.islower()) and not part.lower().strip(_CROCKFORD)
    return any(
        len(part) == length and part.startswith(prefix) and not part.strip(alphabet)
        for prefix, length, alphabet in _CIDS
    )


def _is_wordlike_token(segment: str) -> bool:
    for part in _split_token_parts(segment):
        count = _odd.get(part)
        if count is None:
            count = _count_part_odd_pairs(part)
        if count >= 0 and (len(part) <= 5 or count >= ODD_WORD_MAX * (len(part) - 1)):
            return False
    return True


def _is_camel_case_word(word: str) -> bool:
    """Return whether most of ``word`` is capitalized words of three letters or more."""
    small = "".join([character if character in _LOWER else " " for character in word]).split()
    return sum([len(run) + 1 for run in small if len(run) > 2]) > CAMEL_MIN * len(word)


def _is_without_digits(text: str) -> bool:
    return _DIGIT_SET.isdisjoint(text)


def _has_uuid(parts: list[str]) -> bool:
    if len(parts) < 5:
        return False
    lengths = [len(part) for part in parts]
    return any(
        lengths[at : at + 5] == [8, 4, 4, 4, 12] and not "".join(parts[at : at + 5]).strip(_HEX)
        for at in range(len(parts) - 4)
    )


def _is_service_id(piece: str, parts: list[str]) -> bool:
    """Return whether it is two capitals and 32 hexadecimal digits, or 32 of these and a region (``-us12``)."""
    if len(piece) == HEX_MIN + 2 and not piece[2:].strip(_HEX):
        return piece[:2].isupper() and piece[2:].islower() and bool(piece[:2].strip(_HEX))
    return (
        len(parts) == 2 and len(parts[0]) == HEX_MIN and not parts[0].strip(_HEX) and parts[1].rstrip(_DIGITS) == "us"
    )


def _is_marked_hex_key(piece: str, parts: list[str]) -> bool:
    """Return whether hexadecimal digits, usually ids and digests, are a key by the part before them."""
    digits = parts[-1] if parts else ""
    if len(parts) < 2 or len(digits) < HEX_MIN or digits.strip(_HEX) or digits.isalpha():
        return False
    if parts[0].lower() in _KEYLIKE:
        return True
    return len(digits) not in DIGEST_LENGTHS and len(parts) == 2 and len(parts[0]) <= 8 and "_" in piece


# ---------------------------------------------------------------------------------------------------------------------
# Names that mark their value as a secret.

NONE, WEAK, SECRET, PASSWORD, PHRASE = range(5)
"""What a name reveals: nothing; perhaps a secret, if the value is random; a secret; a password; a pass phrase."""

NAME_MAX = 80
VALUE_MAX = 4096
GAP_MAX = 60
"""Maximum characters between a name and its value: closing quotes, spaces, a type."""
LENGTH_MIN = (1 << 30, WORD_MIN, 8, 4, 8)
"""Minimum characters of a value, by what its name reveals."""
SHORT_MAX = 200
VALUE_ODD_MIN = 0.3
DIGITS_ODD_MIN = 0.2
"""Share of odd pairs of a value beside a revealing name: with two digits in it, with more."""
BARE_ODD_MIN = 0.5

KEYWORDS = (
    *("pass", "pw", "secret", "token", "key", "auth", "cred", "mnemonic", "bearer", "basic", "sig=", "signature="),
    *("kennwort", "wachtwoord", "senha", "haslo", "sifre", "mdp"),
)
"""Every revealing name contains one of these."""

_NAME_ENDINGS = (
    (("passphrase", "mnemonic"), PHRASE),
    (("password", "passwd", "passcode", "passwort", "pwd", "dbpass", "userpass", "keypass", "storepass"), PASSWORD),
    (("kennwort", "wachtwoord", "senha", "haslo", "sifre"), PASSWORD),
    (("secret", "token", "authorization"), SECRET),
    (("credential", "cred"), WEAK),
)
"""Endings of a name's revealing word, and what they reveal."""
_WHOLE_NAMES = {
    "pass": PASSWORD,
    "pw": PASSWORD,
    "passord": PASSWORD,
    "mdp": PASSWORD,
    "bearer": SECRET,
    "basic": SECRET,
    "auth": WEAK,
    "sig": WEAK,
    "signature": WEAK,
}
_STRONG_KEYS = tuple(
    "api secret access private signing sign encryption encrypt auth account app application master service"
    " shared client"
    " license deploy storage admin webhook hmac aes jwt cipher crypto server sas consumer sdk integration ingest write"
    " personal live subscription bot".split()
)
_PLAIN_KEYS = tuple(
    "cache public primary foreign partition sort index object unique composite lookup map dict hash row column group"
    " route registry".split()
)
_SAME_TAILS = frozenset(
    "value val str string raw plain text base b64 base64 hex env dev prod production staging test live main old new"
    " current default admin root user db confirm confirmation confirmed again repeat retype verify clear cleartext"
    " encrypted hash hashed header".split()
)
"""Words after the revealing word in a name that still names the secret itself."""
_OTHER_TAILS = frozenset(
    "id ids type types name names count counts limit url uri endpoint field fields label placeholder hint"
    " length len min"
    " max policy regex pattern path file dir expiry expires expiration ttl reset error errors message validator"
    " validators kind class index pos start end manager provider service store version required enabled prompt input"
    " bucket budget usage arn ref algorithm alg method format size rotation changed at age list stdin selector attempts"
    " rule rules strength vault scope scopes".split()
)
"""Words after the revealing word in a name that names something else."""

_NAME = _ALNUM + "_-."
_BACK = "\\\0"
"""A backslash, and the zero byte that replaces an escaped backslash of JSON."""
_QUOTES = "\"'`"
_CLOSING = _QUOTES + _BACK + "])*"
_QUOTED_BY = frozenset(_QUOTES)
_PREFIXES = "bBrRuUfF@$"
"""Letters before a quote in some languages."""
_BLANK = " \t"
_BARE_ENDS = _QUOTES + "<>" + _BACK
_BARE_ENDS_INLINE = ",;&|)}]"
_ALL_BARE_ENDS = frozenset(_BARE_ENDS + _BARE_ENDS_INLINE)
_LINE_LEADS = frozenset(("", "export", "env", "arg", "set", "setx", "const", "let", "var", "val", "login", "$env:"))
_LINE_CHARS = " \t\"'+-*>|.:$→│" + _DIGITS
_LINE_CHARS_AS_BYTES = "→│".encode().decode("latin-1")
"""The characters outside ASCII, as the byte scan sees them."""
_COPULAS = frozenset(("is", "was", "to", "as", "be"))

_PLACEHOLDERS = frozenset(
    "changeme change_me change-me password passwd passwort pass pwd secret token key apikey api_key api-key"
    " none null nil"
    " undefined true false todo tbd fixme string str text bytes bool boolean int integer number float any"
    " object optional"
    " required empty default unset n/a varchar char secretstr hidden basic bearer digest self this unknown redacted"
    " filtered masked anonymous anonymous@ secrets tokens passwords mot-de-passe senha contrase\u00f1a"
    " wachtwoord has\u0142o".split()
)
_PLACEHOLDER_STARTS = tuple(
    "your example sample dummy placeholder changeme insert replace [redacted [filtered xxx *** ... todo enter-"
    " os.environ process.env env( env: vault: op:// secret:// ref+ file: arn: projects/ secretref: required| nullable|"
    " string| sometimes| ${ $( {{ #{ <".split()
)
_NOT_SECRET = ("${", "{{", "://", "\\w", "\\d", "\\s", "(?:", "[^")
"""References, URLs (which are scanned separately) and patterns."""
_CODE_ROOTS = frozenset(
    "self this cls args opts options config cfg settings request req res response params props ctx context data"
    " form user"
    " os process env var local module secrets vars inputs github each node state event session client app flask django"
    " std string object auth account payload body input conf kwargs row record model result".split()
)


def split_secret_name(name: str) -> list[str]:
    """Return the words of a name in any convention, in lower case, without digits at their ends."""
    spaced = name
    if not name.islower() and not name.isupper():
        spaced = name[:1]
        for character in name[1:]:
            spaced += " " + character if character.isupper() and spaced[-1].islower() else character
    return [
        word.strip(_DIGITS) for word in spaced.lower().replace("_", " ").replace("-", " ").replace(".", " ").split()
    ]


_strengths: dict[str, int] = {}


def rate_secret_name(name: str) -> int:
    """Return what ``name`` reveals about the value beside it.

    >>> [rate_secret_name(name) for name in ("DB_PASSWORD", "clientSecret", "cacheKey", "token_count", "tokenizer")]
    [3, 2, 1, 1, 0]
    """
    says = _strengths.get(name)
    if says is None:
        says = _strengths[name] = _compute_secret_name_rating(name)
    return says


def _compute_secret_name_rating(name: str) -> int:
    words = split_secret_name(name)
    for at in range(len(words) - 1, -1, -1):
        says = _rate_secret_word(words[at], words[at - 1] if at else "", name)
        if says:
            tail = [word for word in words[at + 1 :] if word and word not in _SAME_TAILS]
            if not tail:
                return says
            if tail[0] in _OTHER_TAILS or tail[-1] in _OTHER_TAILS:
                return WEAK
            return max(WEAK, says - 1)
    return NONE


def _rate_secret_word(word: str, before: str, name: str) -> int:
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]  # a plural
    for endings, says in _NAME_ENDINGS:
        if word.endswith(endings):
            return says
    if word.endswith("key"):
        before = word[:-3] or before
        is_strong = before.endswith(_STRONG_KEYS) or (name.isupper() and before and not before.endswith(_PLAIN_KEYS))
        return SECRET if is_strong else WEAK
    if word == "passe" and before == "de":
        return PASSWORD  # "mot_de_passe"
    if word == "auth" and name.strip("_") == "auth":
        return SECRET
    return _WHOLE_NAMES.get(word, NONE)


def find_named_secret_values(text: str, low: str) -> Iterator[tuple[int, int, int]]:
    """Yield values to redact beside revealing names, with what the name reveals; some occur twice.

    ``low`` is ``lower_ascii(text)``.
    """
    for keyword in KEYWORDS:
        at = low.find(keyword)
        while at >= 0:
            start, end = find_secret_name(text, at)
            name = text[start:end]
            value = find_value_beside_name(text, start, end) if rate_secret_name(name) else None
            if value is not None:
                for first, last, form in _expand_secret_list(text, value):
                    says = _adjust_secret_rating(rate_secret_name(name), form, text[start - 1 : start])
                    if is_possible_secret(text[first:last], says, form, name):
                        yield first, last, says
            at = low.find(keyword, max(end, at + 1))


def lower_ascii(text: str) -> str:
    """Return ``text`` in lower case with the same length, and without new ASCII letters."""
    # Two characters become ASCII letters, one of them two characters; the byte scan sees neither.
    return text.lower() if text.isascii() else text.replace("\u0130", "?").replace("\u212a", "?").lower()


QUOTED, BARE, ENV, CALLED, SPACED, LISTED = "quoted", "bare", "env", "called", "spaced", "listed"
"""The form of a value beside its name: quoted; bare; as in an environment file; in a call; after a space only; in a
list of texts."""
PHRASED = "phrased"
"""The rest of a line without quotes, of words only."""
LISTED_MAX = 100
PHRASE_MIN = 4
PHRASE_QUOTED_MIN = 3
PHRASE_MAX = 24
"""Number of words of a pass phrase."""
_PUNCTUATION = frozenset("\"#$%&'()*+,./:;<=>@[\\]^_`{|}~\t\n\r\0")
_PROSE = frozenset(
    "the an is are was were be been has have had do does did must should shall will would can cannot could may might"
    " your you our we my his her its their it he she they of for to in on at by from with without into as and or but"
    " not no if then when while until this that which who whose what where how why please enter type choose see use"
    " used using set get invalid wrong incorrect missing empty required optional valid minimum maximum least most"
    " character characters letter letters digit digits symbol symbols number numbers length short long weak strong"
    " user users username name email login account field value string text default example new old current"
    " forgot forgotten reset change changed confirm repeat again match show hide any all some none only also same"
    " contains uppercase lowercase database server client session given plain hashed encrypted file line stored".split()
)
"""Words of sentences, forms and texts about passwords: a pass phrase contains none of these."""


def _expand_secret_list(text: str, span: tuple[int, int, str]) -> Iterator[tuple[int, int, str]]:
    """Yield the value; for a list, every text in it."""
    first, last, form = span
    if form != LISTED:
        yield skip_auth_scheme(text, first, last, form)
        return
    for _ in range(LISTED_MAX):
        quoted_value = _parse_quoted_secret(text, _skip_characters(text, first, ", \t\r\n", GAP_MAX), QUOTED)
        if quoted_value is None:
            return
        yield skip_auth_scheme(text, *quoted_value)
        first = _skip_characters(text, quoted_value[1], _QUOTES + _BACK, 4)


def select_secret_part(name: str, value: str) -> tuple[int, int, int] | None:
    """Return the part of ``value`` to redact because of its ``name``, and what the name reveals."""
    first, last, form = skip_auth_scheme(value, 0, len(value), QUOTED)
    says = rate_secret_name(name[-NAME_MAX:])
    return (first, last, says) if is_possible_secret(value[first:last], says, form, name) else None


def _adjust_secret_rating(says: int, form: str, before: str) -> int:
    """Return what a name reveals in this form of assignment: less in a call, more in a URL."""
    if before == "/":
        return min(says, WEAK)  # a file of that name
    if before and before in "?&" and says == WEAK:
        return SECRET
    if form == CALLED:
        return min(says, max(WEAK, says - 1))
    return min(says, SECRET) if form == SPACED else says


def find_secret_name(text: str, at: int) -> tuple[int, int]:
    """Return the span of the whole name with a keyword at ``at``."""
    before = text[max(0, at - NAME_MAX) : at]
    after = text[at : at + NAME_MAX]
    start = at - len(before) + len(before.rstrip(_NAME))
    if start < at and start and text[start - 1] in _BACK and text[start] in "nrtbf":
        start += 1  # the end of an escape, not a letter
    return start, at + len(after) - len(after.lstrip(_NAME))


_SCHEMES = frozenset("bearer basic token apikey digest key negotiate sso-key".split())


def skip_auth_scheme(text: str, first: int, last: int, form: str) -> tuple[int, int, str]:
    """Return the value's span and form without the scheme of a header's value."""
    word, space, _ = text[first:last].partition(" ")
    if word.lower() not in _SCHEMES:
        return first, last, form
    if space:
        return _skip_characters(text, first + len(word), _BLANK, 4), last, form
    return _parse_bare_secret(text, _skip_characters(text, last, _BLANK, 4), is_line=False) or (first, last, form)


def find_value_beside_name(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    """Return the span and form of the value that belongs to the name from ``start`` to ``end``."""
    after = text[end : end + 4]
    closed = end + len(after) - len(after.lstrip(_CLOSING))
    at = _skip_characters(text, closed, _BLANK, 40)
    character = text[at : at + 1]
    if not character:
        return None
    if character in "=:?+|!-u" and not (at > closed and text[start:end].lower() == "pass"):
        operator = _measure_assignment_operator(text, at)
        if operator:
            value = _parse_assigned_secret(text, start, at + operator, text[at : at + operator])
            return _extend_to_passphrase(text, start, end, value) or value
    if character == ">":
        return _parse_element_secret(text, start, at) if at == end and text[start - 1 : start] == "<" else None
    if character == "(":
        return _parse_quoted_secret(text, _skip_characters(text, at + 1, _BLANK, 4), CALLED) if at == end else None
    if character == "," and closed > end:
        return _parse_paired_secret(text, closed) or _parse_quoted_secret(
            text, _skip_characters(text, at + 1, _BLANK + "\r\n", 20), CALLED
        )
    return _parse_paired_secret(text, closed) or (_parse_spaced_secret(text, start, at) if at > closed else None)


def _skip_characters(text: str, at: int, characters: str, most: int) -> int:
    if text[at : at + 1] not in characters:
        return at
    part = text[at : at + most]
    return at + len(part) - len(part.lstrip(characters))


def _measure_assignment_operator(text: str, at: int) -> int:
    """Return the length of an operator at ``at`` that assigns, compares or introduces; 0 without one."""
    if text[at] == "u":
        return 5 if text[at : at + 5].lower() == "u003d" and text[at - 1] in _BACK else 0
    part = text[at : at + 3]
    operator = part[: len(part) - len(part.lstrip("=:>?+|!-"))]
    if "=" in operator or operator in (":", "?:", "|"):
        return len(operator)
    return 1 if operator[:1] == ":" and operator[:2] != "::" else 0


def _parse_assigned_secret(text: str, start: int, at: int, operator: str) -> tuple[int, int, str] | None:
    at = _skip_characters(text, at, _BLANK, 40)
    if ":" in operator:
        at = _skip_type_annotation(text, at)
    value = _parse_quoted_secret(text, at, QUOTED)
    if value is not None:
        return value
    if text[at : at + 1] == "[":
        return at + 1, at + 1, LISTED
    is_line = _is_name_leading_line(text, start)
    value = _parse_bare_secret(text, at, is_line)
    if value is not None and is_line and operator == "=" and text[at - 1] == "=":
        return value[0], value[1], ENV
    return value


def _extend_to_passphrase(
    text: str, start: int, end: int, value: tuple[int, int, str] | None
) -> tuple[int, int, str] | None:
    """Return the rest of the line instead of the word, if it is a pass phrase beside a revealing name."""
    if value is None or text[value[1] : value[1] + 1] != " " or value[2] not in (BARE, ENV):
        return None
    if rate_secret_name(text[start:end]) < PASSWORD or not _is_name_leading_text(text, start):
        return None
    line = text[value[0] : value[0] + SHORT_MAX].partition("\n")[0]
    for character in _BARE_ENDS:
        line = line.partition(character)[0]
    line = line.rstrip(" \t\r")
    # Without quotes, prose looks similar, so capitals exclude it.
    return (value[0], value[0] + len(line), PHRASED) if line.islower() and _is_passphrase(line, PHRASE_MIN) else None


def _is_name_leading_text(text: str, start: int) -> bool:
    """Return whether the name at ``start`` is the first text on its line or in its quotes."""
    before = text[max(0, start - 40) : start]
    first = max(before.rfind("\n"), before.rfind('"')) + 1
    if not first and start > 40:
        return False
    return before[first:].strip(_LINE_CHARS + _LINE_CHARS_AS_BYTES).lower() in _LINE_LEADS


def _is_passphrase(value: str, least: int) -> bool:
    """Return whether ``value`` is words separated by spaces, but not a sentence."""
    words = [word.strip(_DIGITS + "!?-") for word in value.lower().split(" ")]
    return (
        least <= len([word for word in words if len(word) > 1]) <= PHRASE_MAX
        and _PUNCTUATION.isdisjoint("".join(words))
        and _PROSE.isdisjoint(words)
    )


def _is_prose_remark(value: str) -> bool:
    """Return whether ``value`` is a few words of prose, such as a form's label."""
    words = value.lower().split(" ")
    return len(words) < PHRASE_MIN and not _PROSE.isdisjoint(words)


def _skip_type_annotation(text: str, at: int) -> int:
    """Return the position after a type and its ``=``, if they stand between a name and a quoted value."""
    equals = text.find("=", at, at + GAP_MAX)
    if equals < 0:
        return at
    value = _skip_characters(text, equals + 1, _BLANK, 8)
    quote = _skip_characters(text, value, _PREFIXES + _BACK, 4)
    between = text[at:equals]
    if text[quote : quote + 1] not in _QUOTED_BY or any(character in between for character in "\n\"'`(,"):
        return at
    return value


def _parse_quoted_secret(text: str, at: int, form: str) -> tuple[int, int, str] | None:
    """Return a quoted value at ``at``; the depth of escaping shows where it ends."""
    at = _skip_characters(text, at, _PREFIXES, 2)
    opened = _skip_characters(text, at, _BACK, 4)
    quote = text[opened : opened + 1]
    if quote not in _QUOTED_BY:
        return None
    first = opened + 1
    if text[first : first + 2] == quote * 2:
        first, quote = first + 2, quote * 3
    line = text.find("\n", first, first + VALUE_MAX) if len(quote) == 1 else -1
    most = line if line >= 0 else first + VALUE_MAX
    last = text.find(quote, first, most)
    while last >= 0 and _count_backslashes(text, first, last) > opened - at:
        last = text.find(quote, last + 1, most)
    if last < 0:
        return first, min(most, len(text)), form  # never closed: the rest of the line
    return first, max(first, last - min(opened - at, _count_backslashes(text, first, last))), form


def _count_backslashes(text: str, first: int, last: int) -> int:
    part = text[max(first, last - 8) : last]
    return len(part) - len(part.rstrip(_BACK))


def _parse_bare_secret(text: str, at: int, is_line: bool) -> tuple[int, int, str] | None:
    """Return a value without quotes, as long as it can be here."""
    if not text[at : at + 1].strip():
        return None
    word = text[at : at + SHORT_MAX].split(None, 1)[0]
    if len(word) == SHORT_MAX:
        word = text[at : at + VALUE_MAX].split(None, 1)[0]
    if not _ALL_BARE_ENDS.isdisjoint(word):
        for character in _BARE_ENDS if is_line else _BARE_ENDS + _BARE_ENDS_INLINE:
            word = word.partition(character)[0]
    if is_line:
        word = word.rstrip(",;)}]")
    return (at, at + len(word), BARE) if word else None


def _is_name_leading_line(text: str, start: int) -> bool:
    """Return whether the name at ``start`` is the first text on its line, as in settings files."""
    line = text.rfind("\n", max(0, start - 40), start) + 1
    if not line and start > 40:
        return False
    return text[line:start].strip(_LINE_CHARS).lower() in _LINE_LEADS


def _parse_element_secret(text: str, start: int, at: int) -> tuple[int, int, str] | None:
    last = text.find("<", at + 1, at + 1 + VALUE_MAX)
    return (at + 1, last, QUOTED) if last > at and text[last + 1 : last + 2] == "/" else None


def _parse_paired_secret(text: str, at: int) -> tuple[int, int, str] | None:
    """Return a value called ``value`` right after an item with the name."""
    value = _skip_characters(text, at, " \t\r\n,;-\"'" + _BACK, GAP_MAX)
    if value == at or text[value : value + 5].lower() != "value":
        return None
    closed = _skip_characters(text, value + 5, _CLOSING + _BLANK, 8)
    if text[closed : closed + 1] not in (":", "="):
        return None
    at = _skip_characters(text, closed + 1, _BLANK, 8)
    return _parse_quoted_secret(text, at, QUOTED) or _parse_bare_secret(text, at, is_line=False)


def _parse_spaced_secret(text: str, start: int, at: int) -> tuple[int, int, str] | None:
    """Return a value after only a space: after a flag, in quotes, after "is", or last on its line."""
    if text[start : start + 1] == "-":
        return (
            None
            if text[at] == "-"
            else _parse_quoted_secret(text, at, QUOTED) or _parse_bare_secret(text, at, is_line=False)
        )
    word = text[start:at].strip(_BLANK).lower()
    if word in ("bearer", "basic"):
        return _parse_bare_secret(text, at, is_line=False)
    if word.endswith(("pass", "key", "auth")) and "_" not in word:
        return None  # words of prose
    value = _parse_quoted_secret(text, at, QUOTED)
    if value is not None:
        is_closed = text[value[1] : value[1] + 1] not in ("", "\n")
        return value if is_closed and text[start - 1 : start] not in _QUOTED_BY else None
    typed = _skip_type_annotation(text, at)
    if typed != at:
        return _parse_quoted_secret(text, _skip_characters(text, typed, _BLANK, 8), QUOTED)
    value = _parse_bare_secret(text, at, is_line=False)
    if value is not None and text[at : value[1]].lower() in _COPULAS:
        at = _skip_characters(text, value[1], _BLANK + ":=", 4)
        return _parse_quoted_secret(text, at, SPACED) or _parse_bare_secret(text, at, is_line=False)
    if value is None or text[value[1] : value[1] + 1] not in ("", "\n", "\r", "\\", "\0", '"', "'"):
        return None
    is_entry = _is_name_leading_line(text, start) or "login" in text[max(0, start - GAP_MAX) : start]
    if is_entry and not _is_without_digits(text[value[0] : value[1]]):
        return value
    return value[0], value[1], SPACED


def is_possible_secret(value: str, says: int, form: str, name: str) -> bool:
    """Return whether ``value`` may be a secret, beside a name that reveals this much."""
    if value.count(" ") < 7 and "mnemonic" in name.lower():
        return False
    if len(value) < LENGTH_MIN[says]:
        return False
    if is_colon_hex(value):
        return says >= SECRET or _NOT_A_KEY.isdisjoint(split_secret_name(name))
    if says <= SECRET and " " in value:
        return form == QUOTED and _is_secret_passphrase(value, name)
    if is_secret_placeholder(value, form not in (BARE, ENV, PHRASED), name):
        return False
    if says <= SECRET:
        return has_random_word(value) or (says == SECRET and _is_random_looking(value))
    if form in (QUOTED, CALLED):
        if value.count(" ") < 2 or (says == PHRASE and not _is_prose_remark(value)):
            return True
        return form == QUOTED and _is_passphrase(value, PHRASE_QUOTED_MIN)
    if form in (ENV, PHRASED):
        return True
    return _is_random_looking(value) or not _is_plain_name(value) or (value.isdigit() and len(value) > 5)


_NOT_A_KEY = frozenset("public fingerprint host identifier serial subject issuer authority modulus mac".split())
"""Words of names whose value is public even if it is as long as a key."""
COLON_BYTES_MIN = 16


def is_colon_hex(value: str) -> bool:
    """Return whether ``value`` is at least 16 bytes in hexadecimal digits, separated by colons."""
    parts = value.split(":")
    return len(parts) >= COLON_BYTES_MIN and all(len(part) == 2 and not part.strip(_HEX) for part in parts)


def _is_secret_passphrase(value: str, name: str) -> bool:
    """Return whether a quoted pass phrase is called a secret, not a token or a key, which have no spaces."""
    is_secret = split_secret_name(name)[-1:] == ["secret"]
    return is_secret and _is_passphrase(value, PHRASE_MIN) and not is_secret_placeholder(value, True, name)


def _is_random_looking(value: str) -> bool:
    """Return whether a value's letters and digits do not make words."""
    if not value.strip(_DIGITS + ".:-/"):
        return False
    parts = value.translate(_VALUE_AS_SPACES).split()
    if any(len(part) >= CORE_MIN and not part.strip(_HEX) and not part.isdigit() for part in parts) or _has_uuid(parts):
        return True
    digits = sum([value.count(digit) for digit in _DIGITS])
    if digits < 2:
        return any(len(part) >= 8 and has_odd_letter_pairs(part, _minimum_odd_share(part)) for part in parts)
    if digits > 3 and not value.strip(_ALNUM + "_-"):
        return True
    return compute_odd_pair_share(value) >= (VALUE_ODD_MIN if digits == 2 else DIGITS_ODD_MIN)


def _minimum_odd_share(part: str) -> float:
    """Return the minimum share of odd pairs of letters alone; lower for mixed case that makes no words."""
    return (
        BARE_ODD_MIN
        if part.islower() or part.isupper() or part.istitle() or _is_camel_case_word(part)
        else ODD_WORD_MAX
    )


def has_random_word(value: str) -> bool:
    """Return whether any word in ``value`` has a random part."""
    return len(value) >= WORD_MIN and any(
        find_random_parts(word) for word in split_token_candidates(value.encode("utf-8", "surrogatepass"))
    )


def compute_odd_pair_share(value: str) -> float:
    """Return the share of odd pairs in the parts of ``value``, without the characters between its parts."""
    parts = value.translate(_VALUE_AS_SPACES).split()
    pairs = sum([len(part) - 1 for part in parts])
    return sum([count_odd_letter_pairs(part) for part in parts]) / max(1, pairs)


_VALUE_AS_SPACES = {ord(sign): " " for sign in "-_+/.:@%=,;$~ "}


def _is_plain_name(value: str) -> bool:
    return not value.strip(_LETTERS + "_-.") or not value.strip(_DIGITS + ".,")


def is_secret_placeholder(value: str, is_quoted: bool, name: str) -> bool:
    """Return whether ``value`` is clearly not a secret: a reference, a type, a call, a placeholder."""
    low = value.strip(" \t,;:)").lower()
    if not low or low in _PLACEHOLDERS or low.startswith(_PLACEHOLDER_STARTS) or len(set(low)) < 3:
        return True
    if not is_quoted and _is_code_not_secret(value, low):
        return True
    if any(mark in low for mark in _NOT_SECRET) or low.endswith(("here", "here>")):
        return True
    if " " in low and any(word in low for word in _REVEALING):
        return True  # a form's label
    if low[0] in "$%" and not low.strip("$%" + _ALNUM + "_"):
        return True  # a variable of a shell
    if low[0] + low[-1] in ("{}", "[]", "<>", "()", "%s"):
        return True
    if (low[0] in "/~." and "/" in low) or low[1:3] == ":\\":
        return not has_random_word(value)  # a path
    return split_secret_name(value) == split_secret_name(name)


def _is_code_not_secret(value: str, low: str) -> bool:
    if low[0] in "${[(@&*!|>%#<=" or "(" in low or "[" in low or "::" in low:
        return True
    root, dot, _ = low.partition(".")
    if dot and root in _CODE_ROOTS:
        return True
    is_identifier = not low.strip(_LOWER + _DIGITS + "_.-")
    return is_identifier and any(word in low for word in _REVEALING) and not has_random_word(value)


_REVEALING = ("pass", "pwd", "secret", "token", "key", "auth", "cred")

# ---------------------------------------------------------------------------------------------------------------------
# URLs with a password, or with a token for a user.

USERINFO_MAX = 256
_AUTHORITY_ENDS = _QUOTES + "/?#<>,;(){}" + _BACK


def find_url_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of passwords and tokens in URLs."""
    at = text.find("://")
    while at >= 0:
        first = at + 3
        words = text[first : first + USERINFO_MAX].split(None, 1)
        authority = words[0] if words and text[first : first + 1].strip() else ""
        for character in _AUTHORITY_ENDS:
            authority = authority.partition(character)[0]
        user, has_user, _ = authority.rpartition("@")
        if has_user:
            yield from _find_userinfo_secrets(first, user)
        at = text.find("://", first)


def _find_userinfo_secrets(first: int, user: str) -> Iterator[tuple[int, int]]:
    name, colon, password = user.partition(":")
    if find_random_parts(name) or (len(name) >= HEX_MIN and not name.strip(_HEX)):
        yield first, first + len(name)
    if colon and len(password) > 2 and not is_secret_placeholder(password, True, "password"):
        yield first + len(name) + 1, first + len(user)


# ---------------------------------------------------------------------------------------------------------------------
# The scan.

LONG_MIN = 16
"""Shorter words cannot contain a token with a known prefix."""

TOKENS = tuple(
    "AKIA ASIA ABIA ACCA ABSK AIza GOCSPX- ya29. LTAI Q~ v1.0- dop_v1_ doo_v1_ dor_v1_ sbp_ fm1a_ fm1r_ fm2_ fo1_ nfp_"
    " rnd_ pscale_ HRKU- IQoJb3JpZ2lu FwoGZXIvYXdz ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glft-"
    " glsoat- glimt- glagent- gloas- glcbt- glffct- GR1348941 ATBB ATCTT3 ATATT3 sgp_ pypi-AgE rubygems_ dckr_pat_"
    " dckr_oat_ AKCp cmVmdGtu CLOJARS_ xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe xoxd- xoxc- xapp- hooks.slack.com/"
    " api/webhooks/ .webhook.office.com syt_ sk_live_ sk_test_ rk_live_ rk_test_ whsec_ sq0atp- sq0csp- EAAA shpat_"
    " shpss_ shpca_ shppa_ shptka_ rzp_live_ rzp_test_ FLWSECK access_token$ T3BlbkFJ sk-ant- sk-proj- sk-svcacct-"
    " sk-admin- sk-or- sk-lf- hf_ api_org_ r8_ gsk_ pplx- pcsk_ lsv2_ SG. lin_api_ lin_oauth_ ntn_ figd_"
    " sntrys_ sntryu_"
    " glsa_ glc_ eyJ dapi dt0c01. dt0s16. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. hvs. hvb. hvr. .atlasv1. pul-"
    " CCIPAT_ CCIPRJ_ bkua_ bkaj_ sqp_ squ_ sqa_ phx_ pat-na pat-eu ops_eyJ EAAC EAAB EAAG NRAK- NRII- NRAA-"
    " CFPAT- tfp_"
    " PMAK- AGE-SECRET-KEY- duffel_ pnu_ rdme_ shippo_ sm_pat_ xkeysib- xsmtpsib- p8e- EZAK EZTK dnkey- A3-"
    " LS0tLS1CRUdJTi $2a$ $2b$ $2y$ $5$ $6$ $apr1$ $argon2 tk-us- fio-u- .acc- cdy_".split()
)
"""Prefixes or middle parts of tokens with a known shape; all within one long word."""

HEAD = 3
_SEPARATORS_AS_SPACES = {ord(sign): " " for sign in "_-+/.~$\0\n"}
_LINE_END_LETTERS = "nrtbf"
_ANYWHERE = ("Q~", "T3BlbkFJ")
"""Tokens that may follow letters and digits directly."""


def _extract_token_head(token: str) -> str:
    """Return the part of ``token`` that must be a word of its own, or its prefix; empty if it may occur anywhere."""
    if token in _ANYWHERE:
        return ""
    first, *others = token.translate(_SEPARATORS_AS_SPACES).split(" ")
    inner = [run for run in others[:-1] if run]
    if inner:
        return inner[0]
    return first if first and others else (first or others[0])[:HEAD]


TOKEN_HEADS = [(_extract_token_head(token), token) for token in TOKENS]
"""Only tokens with a head among a text's words are searched in it."""

MARKERS = (
    "-----begin",
    "private-lines",
    "cookie",
    "sshpass",
    "htpasswd",
    "redis-cli",
    "identified",
    "curl",
    "mysql",
    "mariadb",
    "docker",
    "openssl",
    "5432",
    "kind",
    "kty",
    "wandb",
    "snyk",
    "ngrok",
    "priv",
)
"""Words, in lower case, that occur in every match of a rule over several words."""
COMPANIONS = {
    "-----begin": ("PRIVATE KEY",),
    "cookie": ("ookie:", 'ookie":', "OOKIE:"),
    "identified": ("BY '", "by '", 'BY "', 'by "'),
    "curl": (" -u", "--user", " -sSu"),
    "mysql": (" -p",),
    "mariad": (" -p",),
    "docker": ("login",),
    "openssl": ("pass:",),
    "redis-cli": (" -a",),
    "5432": (":5432:",),
    "wandb": ("login",),
    "snyk": ("auth",),
    "ngrok": ("authtoken",),
    "priv": ("priv:", "privateExponent:"),
    "kind": ("kind: Secret", 'kind": "Secret"', 'kind":"Secret"'),
}
"""Texts that must also occur for such a word."""

_WORDLY = (_ALNUM + "_-+/.~$\0").encode()
_AS_WORDS = bytes([byte if byte in _WORDLY else 0 if byte == 92 else 32 for byte in range(256)])
ODD = b"\x01q7\x01"
"""Replaces an escaped character in a value: odd enough for every rule, too short to be a word."""
_ESCAPED = {b"\\n": b"\n", b'\\"': b'"', b"\\t": b"\t", b"\\r": b"\r", b"\\/": b"/"}
"""The common escapes of JSON."""


def has_possible_secret(data: bytes) -> bool:
    """Return whether JSON text may contain a secret; True in doubt."""
    is_possible = any(
        _has_secret_hint(data[max(0, at - OVERLAP_BYTES) : at + CHUNK_BYTES]) for at in range(0, len(data), CHUNK_BYTES)
    )
    if not is_possible:
        clear_secret_cache()
    return is_possible


def _has_secret_hint(data: bytes) -> bool:
    if b"\\u" not in data:
        return _has_plain_secret_hint(unescape_json_bytes(data) if b"\\" in data else data, has_sentences=True)
    # A character outside ASCII may be part of a value or separate words: check both.
    return (
        _has_plain_secret_hint(unescape_json_bytes(data, ODD), has_sentences=True)
        or _has_escaped_password(data)
        or _has_plain_secret_hint(unescape_json_bytes(data), has_sentences=False)
    )


def _has_plain_secret_hint(data: bytes, *, has_sentences: bool) -> bool:
    words = split_token_candidates(data)
    longer = filter_secret_candidates(words)
    if find_secret_token_rules(longer):
        return True
    text = data.decode("utf-8", "surrogateescape")  # like redaction: an undecodable byte may look like a blank
    if any(find_random_words(longer, text)):
        return True
    low = lower_ascii(text)
    joined = " ".join(words).lower() + " "
    return (
        any(find_secret_markers(joined, text))
        or (b"://" in data and b"@" in data and any(find_url_secrets(text)))
        or any(find_named_secret_values(text, low))
        or (has_sentences and has_sentence_secret(data, text, low, joined))
    )


def has_sentence_secret(data: bytes, text: str, low: str, joined: str) -> bool:
    """Return whether a text may have a password in a sentence, or a recovery phrase; ``joined`` are its words."""
    return (has_password_word(joined, low) and _has_spoken_password(text, low)) or (
        (has_word_run(data) or has_phrase_hint(joined, low)) and _has_recovery_phrase(text, low)
    )


PASS_STEMS = ("passw", "passph", "passcod", "passord", "passe ")
OTHER_STEMS = (
    "woord",
    "kennwort",
    "senha",
    "haslo",
    "sifre",
    "salasana",
    "heslo",
    "contrase",
    "clave",
    "parola",
    "sandi",
)
"""A word for a password contains one of these, or characters other than ASCII."""
_ASCII = bytes(range(128))
_FOREIGN_LETTERS = tuple(
    "\u015f \u0142 \u00f6 \u00f3 \u1ead \u043f\u0430\u0440\u043e \u03ba\u03c9\u03b4 \u05e1\u05d9\u05e1"
    " \u0643\u0644\u0645 \u092a\u093e\u0938 \u5bc6\u7801 \u5bc6\u78bc \u53e3\u4ee4 \u30d1\u30b9\u30ef"
    " \u6697\u8a3c \ube44\ubc00 \ud328\uc2a4 \uc554\ud638 \u0e23\u0e2b\u0e31".encode().split()
)
"""Letters of the words for a password that have other characters than ASCII."""
_PASSWORD_STEM_BYTES = tuple([stem.strip().encode() for stem in (*PASS_STEMS, *OTHER_STEMS)])
PHRASE_HINTS = ("mnemonic", "seed", "recovery", "phrase", "wallet", "bip")
_RUN_WORDS = 12
_RUN = b"a" * 47
"""The shape of the shortest recovery phrase."""
_RUN_SHAPE = bytes([97 if 97 <= byte <= 122 or byte == 32 else 124 for byte in range(256)])
_PROSE_WORDS = frozenset(
    b"the and for are was has not but from with which your than how would could should may its being does get set new"
    b" each some see out after through both def self import value line data null none class".split()
)
"""Frequent words that recovery phrases do not have: with them, most prose is passed over."""


def _has_escaped_password(data: bytes) -> bool:
    """Return whether a sentence with escaped characters has a password."""
    low = data.lower()
    is_punctuation = low.count(b"\\u") == low.count(b"\\u20")
    if is_punctuation and not any(low.find(stem) >= 0 for stem in _PASSWORD_STEM_BYTES):
        return False
    decoded = decode_json_escapes(data)
    text = lower_ascii(decoded)
    return has_password_word(text.replace("passe", "passe "), text) and _has_spoken_password(decoded, text)


def has_password_word(joined: str, low: str) -> bool:
    """Return whether the words ``joined`` of the text ``low`` may contain a word for a password."""
    if "pass" in joined and any(stem in joined for stem in PASS_STEMS):
        return True
    if any(stem in joined for stem in OTHER_STEMS):
        return True
    return has_foreign_password_letters(low)


def has_foreign_password_letters(low: str) -> bool:
    """Return whether a text in lower case has letters of a word for a password outside ASCII."""
    if low.isascii():
        return False
    # Of most texts only punctuation is left, so this is faster than to search for every word.
    letters = low.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    return any(letter in letters for letter in _FOREIGN_LETTERS)


def has_phrase_hint(joined: str, low: str) -> bool:
    """Return whether a text has a numbered list, or mentions what recovery phrases are for."""
    return "12. " in low or "12) " in low or any(hint in joined for hint in PHRASE_HINTS)


def has_word_run(data: bytes) -> bool:
    """Return whether there are twelve words of three to eight small letters, and nothing but spaces between them."""
    shape = data.replace(b"  ", b"||").translate(_RUN_SHAPE)
    at = shape.find(_RUN)
    while at >= 0:
        end = shape.find(b"|", at)
        end = len(data) if end < 0 else end
        run = 0
        for word in data[at:end].split():
            run = run + 1 if 2 < len(word) < 9 and word not in _PROSE_WORDS else 0
            if run >= _RUN_WORDS:
                return True
        at = shape.find(_RUN, end)
    return False


def _has_spoken_password(text: str, low: str) -> bool:
    from .secret_phrases import find_spoken_passwords  # few texts have a word for it

    return any(find_spoken_passwords(text, low))


def _has_recovery_phrase(text: str, low: str) -> bool:
    from .secret_phrases import find_recovery_phrases  # few texts have a run of such words

    return any(find_recovery_phrases(text, low))


def split_token_candidates(data: bytes) -> set[str]:
    """Return the words between blanks, quotes, brackets and all characters that tokens do not contain."""
    return set(data.translate(_AS_WORDS).decode("latin-1").split())


def unescape_json_bytes(data: bytes, odd: bytes = b" ") -> bytes:
    """Return JSON text without its escapes; ``odd`` replaces escaped characters other than printable ASCII.

    An escaped backslash becomes a zero byte, so nothing is unescaped twice.
    """
    data = data.replace(b"\\\\", b"\0")
    for escape, plain in _ESCAPED.items():
        data = data.replace(escape, plain)
    first, *parts = data.split(b"\\")
    return b"".join([first, *(_unescape_unicode(part, odd) if part[:1] == b"u" else b"\0" + part for part in parts)])


def decode_json_escapes(data: bytes) -> str:
    """Return JSON text without its escapes, with the characters that they stand for."""
    first, *parts = data.replace(b"\\\\", b"\0").split(b"\\u")
    pieces = [first.decode("utf-8", "surrogateescape")]
    for part in parts:
        digits = part[:4].decode("latin-1")
        pieces.append(chr(int(digits, 16)) if len(digits) == 4 and not digits.strip(_HEX) else " ")
        pieces.append(part[4:].decode("utf-8", "surrogateescape"))
    text = "".join(pieces)
    for escape, plain in _ESCAPED.items():
        text = text.replace(escape.decode(), plain.decode())
    return text


def _unescape_unicode(part: bytes, odd: bytes) -> bytes:
    try:
        code = int(part[1:5], 16)
    except ValueError:  # invalid JSON
        return b"\0" + part
    plain = b"\0" if code == 92 else bytes((code,)) if 32 <= code < 127 else odd
    return plain + part[5:]


def filter_secret_candidates(words: set[str]) -> list[str]:
    """Return the words that may be tokens: long, with a digit or a capital."""
    longer = [word for word in words if len(word) >= LONG_MIN and not (word.islower() and _DIGIT_SET.isdisjoint(word))]
    # Ids and hashes are most of the rest of many texts; no rule redacts them.
    return [
        word
        for word in longer
        if word.strip(_HEX_LOW) and not (word.startswith(_NEVER_RANDOM) and _SPLITTING.isdisjoint(word))
    ]


def find_secret_token_rules(words: list[str]) -> list[str]:
    """Return the ``TOKENS`` that may occur in ``words``; perhaps too many, never too few."""
    joined = "\n".join(words)
    if not joined:
        return []
    heads = collect_token_heads(joined)
    return [token for head, token in TOKEN_HEADS if head in heads and token in joined]


def collect_token_heads(joined: str) -> set[str]:
    """Return the parts of words, and their prefixes, that may begin a token."""
    parts = set(joined.translate(_SEPARATORS_AS_SPACES).split())
    if "\0" in joined:
        parts.update([part[1:] for part in parts if part[0] in _LINE_END_LETTERS])
    return parts.union([part[:HEAD] for part in parts], ("",))


def find_random_words(words: list[str], text: str) -> Iterator[str]:
    """Yield the words with random parts, unless the text before marks them as hashes or pictures."""
    for word in words:
        if len(word) >= WORD_MIN:
            for piece in list_escaped_word_variants(word):
                if find_random_parts(piece) and not is_always_hash_context(text, piece):
                    yield piece


def list_escaped_word_variants(word: str) -> Iterator[str]:
    """Yield the pieces of a word between escaped backslashes, later ones also without their first letter."""
    first, *others = word.split("\0")
    yield first
    for piece in others:
        yield piece
        yield piece[1:]


_INTRODUCED = tuple(
    "sha1: sha256: sha384: sha512: sha1= sha256= sha384= sha512= md5: md5= h1: base64, /nix/store/".split()
)
"""Texts right before hashes and pictures."""
OCCURRENCES_MAX = 50


def is_hash_context(text: str, at: int) -> bool:
    """Return whether the text right before ``at`` marks a hash or a picture."""
    return text[max(0, at - 11) : at].lower().endswith(_INTRODUCED)


def is_known_not_secret(text: str, at: int) -> bool:
    """Return whether ``at`` is in a word that is known not to be a secret: an id, a hash, a public key, a picture."""
    before = text[max(0, at - WORD_MAX) : at]
    start = at - len(before) + len(before.rstrip(_ALNUM + "_-+/"))
    if at - start == WORD_MAX:
        return True  # far inside something that is not a word
    return text.startswith(_KNOWN + _PUBLIC, start) or is_hash_context(text, start)


def is_always_hash_context(text: str, word: str) -> bool:
    """Return whether every occurrence of ``word`` is marked as a hash; False if there are very many."""
    at = text.find(word)
    for _ in range(OCCURRENCES_MAX):
        if at < 0:
            return True
        if not is_hash_context(text, at):
            return False
        at = text.find(word, at + 1)
    return False


def find_secret_markers(words: str, text: str) -> Iterator[str]:
    """Yield the ``MARKERS`` in the words ``words`` whose companion texts occur in ``text``."""
    for marker in MARKERS:
        if marker in words and any(other in text for other in COMPANIONS.get(marker, ("",))):
            yield marker
