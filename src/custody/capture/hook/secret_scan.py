"""A quick look at an event: may there be anything in it that must not be kept?

Bytes and built-ins only, because every event pays for this. What is asked here is asked in the same words when a secret
is taken out (``redact`` uses these very functions), so that nothing which a rule would take out gets past:

- a literal that only secrets have (``ghp_``, ``-----BEGIN``, ``://user:pass@``),
- a long word that nobody would make up (``random_parts``); git ids, UUIDs, agents' own ids and integrity hashes pass,
- a value beside a name that says what it is (``named_values``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # the module for it takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 20
OVERLAP_BYTES = 8192
"""Large events are looked at piece by piece; the pieces overlap by more than any name and value may take."""

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_LETTERS = _LOWER + _LOWER.upper()
_ALNUM = _LETTERS + _DIGITS
_HEX = _DIGITS + "abcdefABCDEF"
_HEX_LOW = _DIGITS + "abcdef-"
_DIGIT_SET = frozenset(_DIGITS)
_SPLITTING = frozenset(".~$\0")
"""Signs of words between which parts of them stand for themselves."""

# ---------------------------------------------------------------------------------------------------------------------
# Words that nobody would make up.

WORD_MIN = 20
WORD_MAX = 199
"""Longer words without a name are pictures, fonts and other data."""
CORE_MIN = 16
ODD_MIN = 0.5
ODD_MIXED_MIN = 0.45
"""Share of odd pairs from which a word is random; lower when it mixes capitals, small letters and digits."""
ODD_WORD_MAX = 0.35
"""Below this share of odd pairs a part of a word is a word of its own."""
SIGNS_MIN = 10
"""Different letters and digits that a random word has at least."""
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
"""Pairs that say nothing: those that make up six of seven pairs in names and prose (of random letters two of seven),
two digits, the same letter twice, the alphabet in order."""
_ORDINARY = frozenset(map(tuple, _PAIRS))

_KNOWN = tuple(
    "toolu_ tooluse_ srvtoolu_ msg_ prt_ ses_ call_ req_ resp_ run_ thread_ asst_ chatcmpl- rs_ fc_"
    " sha1- sha256- sha384- sha512-".split()
)
"""How agents' own ids and integrity hashes begin."""
_PUBLIC = ("AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "_ZN", "_R", "iVBORw0KGgo", "R0lGOD", "xn--", "XN--")
"""How public keys, compilers' names, pictures and encoded host names begin."""
_NEVER_RANDOM = _KNOWN + _PUBLIC
_KEYLIKE = frozenset("sk rk key pat tok live secret apikey".split())
"""First parts of a word that make hexadecimal digits a key."""
_UUID_KEYS = frozenset("sdk pat access sk secret".split())
"""First parts of a word that make a UUID a key."""


def odd_pairs(word: str) -> int:
    """How many neighbours in ``word`` are seldom neighbours in names and prose."""
    low = word.lower()
    # No loop in Python: this is asked of every long word of every event.
    return max(0, len(low) - 1) - sum(map(_ORDINARY.__contains__, zip(low, low[1:])))  # noqa: B905, RUF007 - itertools is one more import


def is_odd(word: str, share: float) -> bool:
    """Whether at least ``share`` of the neighbours in ``word`` are odd."""
    return odd_pairs(word) >= share * max(1, len(word) - 1)


JUDGED_MAX = 100_000
_judged: dict[str, list[tuple[int, int]]] = {}
_odd: dict[str, int] = {}


def forget() -> None:
    """Drop what is remembered of words: they may be secrets, and are wanted only until their event is redacted."""
    _judged.clear()
    _odd.clear()
    _strengths.clear()


def random_parts(word: str) -> list[tuple[int, int]]:
    """Where in ``word`` (of letters, digits and ``_-+/.~$``) there are parts that nobody would make up."""
    found = _judged.get(word)
    if found is None:
        if len(_judged) >= JUDGED_MAX:
            forget()
        found = _judged[word] = _random_parts(word)
    return found


def _random_parts(word: str) -> list[tuple[int, int]]:
    # Hexadecimal digits alone are ids and digests, and by far the most of what is long and odd.
    if len(word) < WORD_MIN or not word.strip(_HEX + "-") or word.startswith(_NEVER_RANDOM):
        return []
    found = []
    at = 0
    pieces = word.replace("$", ".").replace("~", ".").split(".")
    for number, piece in enumerate(pieces):
        if len(piece) >= WORD_MIN and not (piece.islower() and _DIGIT_SET.isdisjoint(piece)):
            if _is_other_half(piece, pieces[number - 1] if number else ""):
                found.append((at - len(pieces[number - 1]) - 1, at + len(piece)))
            else:
                found += [(at + start, at + end) for start, end in _random_segments(piece)]
        at += len(piece) + 1
    return found


def _is_other_half(piece: str, before: str) -> bool:
    """Whether ``piece`` is the hexadecimal half of a token whose first half is no word."""
    is_hex = len(before) >= HALF_MIN and len(piece) >= HEX_MIN and not piece.strip(_HEX) and not piece.isalpha()
    return is_hex and not (before.islower() or before.isupper()) and is_odd(before, ODD_MIXED_MIN)


def _random_segments(piece: str) -> list[tuple[int, int]]:
    segments = piece.split("/")
    names = [segment for segment in segments if len(segment) > 2]
    if len(segments) == 1 or not any(map(_is_wordlike, names)):
        return [(_lead(piece), len(piece))] if _is_random(piece) else []
    if len(piece) > WORD_MAX and sum(map(_is_wordlike, names)) * 2 < len(names):
        return []
    found = []
    at = 0
    for segment in segments:  # a path: each of its names for itself
        if len(segment) >= WORD_MIN and _is_random(segment):
            found.append((at + _lead(segment), at + len(segment)))
        at += len(segment) + 1
    return found


def _lead(piece: str) -> int:
    return len(piece) - len(piece.lstrip("+-/"))


def _is_random(piece: str) -> bool:
    """Whether what is left of ``piece`` without its plain words is random."""
    if not WORD_MIN <= len(piece) <= WORD_MAX or piece.startswith(_NEVER_RANDOM):
        return False
    parts = _parts(piece)
    if _is_service_id(piece, parts):
        return True
    core = ""
    pairs = odd = 0
    for part in parts:
        count = _odd.get(part)
        if count is None:
            count = _odd_in(part)
        if count > ODD_WORD_MAX * (len(part) - 1):
            core += part
            pairs += len(part) - 1
            odd += count
    if _has_uuid(parts):
        return parts[0] in _UUID_KEYS and len(parts) < 8
    if not core.strip(_HEX):
        return _is_marked_hex(piece, parts)
    if len(core) < CORE_MIN or len(set(core.lower())) < SIGNS_MIN or core[:2] == "0x":
        return False
    if core.islower() or core.isupper():
        return odd >= ODD_MIN * pairs
    return odd >= (ODD_MIN if _is_without_digits(core) else ODD_MIXED_MIN) * pairs and not _is_camel(core)


def _parts(piece: str) -> list[str]:
    for sign in "-+/":
        if sign in piece:
            piece = piece.replace(sign, "_")
    return [part for part in piece.split("_") if part]


def _is_plain(part: str) -> bool:
    """A number, a short word, or a short word with a number at its beginning or its end."""
    if len(part) < 4 or part.isdigit():
        return True
    if len(part) >= 12:
        return False
    letters = part.strip(_DIGITS)
    return letters.isalpha() and (letters.islower() or letters.isupper() or letters.istitle())


def _odd_in(part: str) -> int:
    """How many odd pairs a part has; a plain one none at all."""
    count = _odd[part] = -1 if _is_plain(part) else odd_pairs(part)
    return count


def _is_wordlike(segment: str) -> bool:
    for part in _parts(segment):
        count = _odd.get(part)
        if count is None:
            count = _odd_in(part)
        if count >= 0 and (len(part) <= 5 or count >= ODD_WORD_MAX * (len(part) - 1)):
            return False
    return True


def _is_camel(word: str) -> bool:
    """Whether most of ``word`` is words of three letters and more, each with its capital."""
    small = "".join([sign if sign in _LOWER else " " for sign in word]).split()
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
    """Two capitals and 32 hexadecimal digits, or 32 of them and where the service stands (``-us12``)."""
    if len(piece) == HEX_MIN + 2 and not piece[2:].strip(_HEX):
        return piece[:2].isupper() and piece[2:].islower() and bool(piece[:2].strip(_HEX))
    return (
        len(parts) == 2 and len(parts[0]) == HEX_MIN and not parts[0].strip(_HEX) and parts[1].rstrip(_DIGITS) == "us"
    )


def _is_marked_hex(piece: str, parts: list[str]) -> bool:
    """Hexadecimal digits are ids and digests, unless what stands before them says that they are a key."""
    digits = parts[-1] if parts else ""
    if len(parts) < 2 or len(digits) < HEX_MIN or digits.strip(_HEX) or digits.isalpha():
        return False
    if parts[0].lower() in _KEYLIKE:
        return True
    return len(digits) not in DIGEST_LENGTHS and len(parts) == 2 and len(parts[0]) <= 8 and "_" in piece


# ---------------------------------------------------------------------------------------------------------------------
# Names that say what their value is.

NONE, WEAK, SECRET, PASSWORD, PHRASE = range(5)
"""How much a name says: nothing; perhaps a secret, if the value is random; a secret; a password; a pass phrase."""

NAME_MAX = 80
VALUE_MAX = 4096
GAP_MAX = 60
"""Signs between a name and its value at most: closing quotes, spaces, a type."""
LENGTH_MIN = (1 << 30, WORD_MIN, 8, 4, 8)
"""Signs of a value at least, by what its name says."""
SHORT_MAX = 200
VALUE_ODD_MIN = 0.3
DIGITS_ODD_MIN = 0.2
"""Share of odd pairs of a value beside a telling name: with two digits in it, with more."""
BARE_ODD_MIN = 0.5

KEYWORDS = ("pass", "pw", "secret", "token", "key", "auth", "cred", "mnemonic", "bearer", "basic", "sig=", "signature=")
"""One of these is in every name that says something."""

_SAYS = (
    (("passphrase", "mnemonic"), PHRASE),
    (("password", "passwd", "passcode", "passwort", "pwd", "dbpass", "userpass", "keypass", "storepass"), PASSWORD),
    (("secret", "token", "authorization"), SECRET),
    (("credential", "cred"), WEAK),
)
"""How the telling word of a name ends, and what it says."""
_SAYS_ALONE = {
    "pass": PASSWORD,
    "pw": PASSWORD,
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
"""What may follow the telling word while the name still names the secret itself."""
_OTHER_TAILS = frozenset(
    "id ids type types name names count counts limit url uri endpoint field fields label placeholder hint"
    " length len min"
    " max policy regex pattern path file dir expiry expires expiration ttl reset error errors message validator"
    " validators kind class index pos start end manager provider service store version required enabled prompt input"
    " bucket budget usage arn ref algorithm alg method format size rotation changed at age list stdin selector attempts"
    " rule rules strength vault scope scopes".split()
)
"""What may follow the telling word when the name then names something else."""

_NAME = _ALNUM + "_-."
_BACK = "\\\0"
"""A backslash; where an escaped one stood in JSON, a zero byte."""
_QUOTES = "\"'`"
_CLOSING = _QUOTES + _BACK + "])*"
_QUOTED_BY = frozenset(_QUOTES)
_PREFIXES = "bBrRuUfF@$"
"""Letters that some languages put before a quote."""
_BLANK = " \t"
_BARE_ENDS = _QUOTES + "<>" + _BACK
_BARE_ENDS_INLINE = ",;&|)}]"
_ALL_BARE_ENDS = frozenset(_BARE_ENDS + _BARE_ENDS_INLINE)
_LINE_LEADS = frozenset(("", "export", "env", "arg", "set", "setx", "const", "let", "var", "val", "login", "$env:"))
_LINE_SIGNS = " \t\"'+-*>|.:$→│" + _DIGITS
_LINE_SIGNS_AS_BYTES = "→│".encode().decode("latin-1")
"""The signs that are not ASCII, as the wire sees them."""
_SAYING = frozenset(("is", "was", "to", "as", "be"))

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
"""References, addresses (which are looked at for themselves) and patterns."""
_CODE_ROOTS = frozenset(
    "self this cls args opts options config cfg settings request req res response params props ctx context data"
    " form user"
    " os process env var local module secrets vars inputs github each node state event session client app flask django"
    " std string object auth account payload body input conf kwargs row record model result".split()
)


def split_name_words(name: str) -> list[str]:
    """The words of a name in any fashion, in lower case, without the digits at their ends."""
    spaced = name
    if not name.islower() and not name.isupper():
        spaced = name[:1]
        for sign in name[1:]:
            spaced += " " + sign if sign.isupper() and spaced[-1].islower() else sign
    return [
        word.strip(_DIGITS) for word in spaced.lower().replace("_", " ").replace("-", " ").replace(".", " ").split()
    ]


_strengths: dict[str, int] = {}


def strength(name: str) -> int:
    """How much ``name`` says about the value beside it.

    >>> [strength(name) for name in ("DB_PASSWORD", "clientSecret", "cacheKey", "token_count", "tokenizer")]
    [3, 2, 1, 1, 0]
    """
    says = _strengths.get(name)
    if says is None:
        says = _strengths[name] = _strength(name)
    return says


def _strength(name: str) -> int:
    words = split_name_words(name)
    for at in range(len(words) - 1, -1, -1):
        says = _says(words[at], words[at - 1] if at else "", name)
        if says:
            tail = [word for word in words[at + 1 :] if word and word not in _SAME_TAILS]
            if not tail:
                return says
            if tail[0] in _OTHER_TAILS or tail[-1] in _OTHER_TAILS:
                return WEAK
            return max(WEAK, says - 1)
    return NONE


def _says(word: str, before: str, name: str) -> int:
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]  # of many
    for endings, says in _SAYS:
        if word.endswith(endings):
            return says
    if word.endswith("key"):
        before = word[:-3] or before
        is_strong = before.endswith(_STRONG_KEYS) or (name.isupper() and before and not before.endswith(_PLAIN_KEYS))
        return SECRET if is_strong else WEAK
    if word == "auth" and name.strip("_") == "auth":
        return SECRET
    return _SAYS_ALONE.get(word, NONE)


def named_values(text: str, low: str) -> Iterator[tuple[int, int, int]]:
    """Where ``text`` has a value, worth hiding, beside a name that says what it is, and how much it says; some twice.

    ``low`` is ``text`` as ``lower_ascii`` gives it.
    """
    for keyword in KEYWORDS:
        at = low.find(keyword)
        while at >= 0:
            start, end = _name_around(text, at)
            name = text[start:end]
            found = _value_beside(text, start, end) if strength(name) else None
            if found is not None:
                for first, last, form in _each(text, found):
                    says = _says_in(strength(name), form, text[start - 1 : start])
                    if is_worth_hiding(text[first:last], says, form, name):
                        yield first, last, says
            at = low.find(keyword, max(end, at + 1))


def lower_ascii(text: str) -> str:
    """``text`` in lower case, sign for sign, and no letter of ASCII where there was none."""
    # Two signs become ASCII letters, one of them two signs; the wire, which sees bytes, knows neither.
    return text.lower() if text.isascii() else text.replace("\u0130", "?").replace("\u212a", "?").lower()


QUOTED, BARE, ENV, CALLED, SPACED, LISTED = "quoted", "bare", "env", "called", "spaced", "listed"
"""How a value stands beside its name: in quotes; without; as in an environment file; in a call; after a space only;
in a
list of texts."""
PHRASED = "phrased"
"""The rest of a line without quotes, of words only."""
LISTED_MAX = 100
PHRASE_MIN = 4
PHRASE_QUOTED_MIN = 3
PHRASE_MAX = 24
"""Words of a pass phrase."""
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
"""Words of sentences, of forms and of what is written about passwords: with one of these it is no pass phrase."""


def _each(text: str, span: tuple[int, int, str]) -> Iterator[tuple[int, int, str]]:
    """The value that was found; of a list, every text in it."""
    first, last, form = span
    if form != LISTED:
        yield after_scheme(text, first, last, form)
        return
    for _ in range(LISTED_MAX):
        quoted_value = _quoted(text, _skip(text, first, ", \t\r\n", GAP_MAX), QUOTED)
        if quoted_value is None:
            return
        yield after_scheme(text, *quoted_value)
        first = _skip(text, quoted_value[1], _QUOTES + _BACK, 4)


def value_of(name: str, value: str) -> tuple[int, int, int] | None:
    """Which part of ``value`` is to be hidden because it is called ``name``, and how much the name says."""
    first, last, form = after_scheme(value, 0, len(value), QUOTED)
    says = strength(name[-NAME_MAX:])
    return (first, last, says) if is_worth_hiding(value[first:last], says, form, name) else None


def _says_in(says: int, form: str, before: str) -> int:
    """What a name says in this form of assignment: less in a call, more in an address."""
    if before == "/":
        return min(says, WEAK)  # a file of that name
    if before and before in "?&" and says == WEAK:
        return SECRET
    if form == CALLED:
        return min(says, max(WEAK, says - 1))
    return min(says, SECRET) if form == SPACED else says


def _name_around(text: str, at: int) -> tuple[int, int]:
    """The whole name that has a keyword at ``at``."""
    before = text[max(0, at - NAME_MAX) : at]
    after = text[at : at + NAME_MAX]
    start = at - len(before) + len(before.rstrip(_NAME))
    if start < at and start and text[start - 1] in _BACK and text[start] in "nrtbf":
        start += 1  # the end of an escaped line or column, not a letter
    return start, at + len(after) - len(after.lstrip(_NAME))


_SCHEMES = frozenset("bearer basic token apikey digest key negotiate sso-key".split())


def after_scheme(text: str, first: int, last: int, form: str) -> tuple[int, int, str]:
    """Past the word that says how a header's value is meant."""
    word, space, _ = text[first:last].partition(" ")
    if word.lower() not in _SCHEMES:
        return first, last, form
    if space:
        return _skip(text, first + len(word), _BLANK, 4), last, form
    return _bare(text, _skip(text, last, _BLANK, 4), is_line=False) or (first, last, form)


def _value_beside(text: str, start: int, end: int) -> tuple[int, int, str] | None:
    """The value that belongs to the name from ``start`` to ``end``: where it stands, and in which form."""
    after = text[end : end + 4]
    closed = end + len(after) - len(after.lstrip(_CLOSING))
    at = _skip(text, closed, _BLANK, 40)
    sign = text[at : at + 1]
    if not sign:
        return None
    if sign in "=:?+|!-u" and not (at > closed and text[start:end].lower() == "pass"):
        operator = _operator(text, at)
        if operator:
            found = _assigned(text, start, at + operator, text[at : at + operator])
            return _as_phrase(text, start, end, found) or found
    if sign == ">":
        return _element(text, start, at) if at == end and text[start - 1 : start] == "<" else None
    if sign == "(":
        return _quoted(text, _skip(text, at + 1, _BLANK, 4), CALLED) if at == end else None
    if sign == "," and closed > end:
        return _paired(text, closed) or _quoted(text, _skip(text, at + 1, _BLANK + "\r\n", 20), CALLED)
    return _paired(text, closed) or (_spaced(text, start, at) if at > closed else None)


def _skip(text: str, at: int, signs: str, most: int) -> int:
    if text[at : at + 1] not in signs:
        return at
    part = text[at : at + most]
    return at + len(part) - len(part.lstrip(signs))


def _operator(text: str, at: int) -> int:
    """The length of the operator at ``at`` that assigns, compares or introduces; 0 when there is none."""
    if text[at] == "u":
        return 5 if text[at : at + 5].lower() == "u003d" and text[at - 1] in _BACK else 0
    part = text[at : at + 3]
    signs = part[: len(part) - len(part.lstrip("=:>?+|!-"))]
    if "=" in signs or signs in (":", "?:", "|"):
        return len(signs)
    return 1 if signs[:1] == ":" and signs[:2] != "::" else 0


def _assigned(text: str, start: int, at: int, operator: str) -> tuple[int, int, str] | None:
    at = _skip(text, at, _BLANK, 40)
    if ":" in operator:
        at = _after_type(text, at)
    found = _quoted(text, at, QUOTED)
    if found is not None:
        return found
    if text[at : at + 1] == "[":
        return at + 1, at + 1, LISTED
    is_line = _leads_line(text, start)
    found = _bare(text, at, is_line)
    if found is not None and is_line and operator == "=" and text[at - 1] == "=":
        return found[0], found[1], ENV
    return found


def _as_phrase(text: str, start: int, end: int, found: tuple[int, int, str] | None) -> tuple[int, int, str] | None:
    """The rest of the line instead of the word that was found, if it is a pass phrase beside a name that says so."""
    if found is None or text[found[1] : found[1] + 1] != " " or found[2] not in (BARE, ENV):
        return None
    if strength(text[start:end]) < PASSWORD or not _leads_text(text, start):
        return None
    line = text[found[0] : found[0] + SHORT_MAX].partition("\n")[0]
    for sign in _BARE_ENDS:
        line = line.partition(sign)[0]
    line = line.rstrip(" \t\r")
    # Without quotes prose looks much like this, so that capitals are too many.
    return (found[0], found[0] + len(line), PHRASED) if line.islower() and _is_phrase(line, PHRASE_MIN) else None


def _leads_text(text: str, start: int) -> bool:
    """Whether the name at ``start`` is the first thing on its line or in its quotes."""
    before = text[max(0, start - 40) : start]
    first = max(before.rfind("\n"), before.rfind('"')) + 1
    if not first and start > 40:
        return False
    return before[first:].strip(_LINE_SIGNS + _LINE_SIGNS_AS_BYTES).lower() in _LINE_LEADS


def _is_phrase(value: str, least: int) -> bool:
    """Whether ``value`` is words with a space between them, and no sentence."""
    words = [word.strip(_DIGITS + "!?-") for word in value.lower().split(" ")]
    return (
        least <= len([word for word in words if len(word) > 1]) <= PHRASE_MAX
        and _PUNCTUATION.isdisjoint("".join(words))
        and _PROSE.isdisjoint(words)
    )


def _is_remark(value: str) -> bool:
    """Whether ``value`` is a few words of prose, as a form says them beside its field."""
    words = value.lower().split(" ")
    return len(words) < PHRASE_MIN and not _PROSE.isdisjoint(words)


def _after_type(text: str, at: int) -> int:
    """Past a type and its ``=``, if that is what stands between a name and a value in quotes."""
    equals = text.find("=", at, at + GAP_MAX)
    if equals < 0:
        return at
    value = _skip(text, equals + 1, _BLANK, 8)
    quote = _skip(text, value, _PREFIXES + _BACK, 4)
    between = text[at:equals]
    if text[quote : quote + 1] not in _QUOTED_BY or any(sign in between for sign in "\n\"'`(,"):
        return at
    return value


def _quoted(text: str, at: int, form: str) -> tuple[int, int, str] | None:
    """A value in quotes at ``at``; how deeply its quotes are escaped tells where it ends."""
    at = _skip(text, at, _PREFIXES, 2)
    opened = _skip(text, at, _BACK, 4)
    quote = text[opened : opened + 1]
    if quote not in _QUOTED_BY:
        return None
    first = opened + 1
    if text[first : first + 2] == quote * 2:
        first, quote = first + 2, quote * 3
    line = text.find("\n", first, first + VALUE_MAX) if len(quote) == 1 else -1
    most = line if line >= 0 else first + VALUE_MAX
    last = text.find(quote, first, most)
    while last >= 0 and _escapes(text, first, last) > opened - at:
        last = text.find(quote, last + 1, most)
    if last < 0:
        return first, min(most, len(text)), form  # never closed: the rest of the line
    return first, max(first, last - min(opened - at, _escapes(text, first, last))), form


def _escapes(text: str, first: int, last: int) -> int:
    part = text[max(first, last - 8) : last]
    return len(part) - len(part.rstrip(_BACK))


def _bare(text: str, at: int, is_line: bool) -> tuple[int, int, str] | None:
    """A value without quotes: as far as it can go in this place."""
    if not text[at : at + 1].strip():
        return None
    word = text[at : at + SHORT_MAX].split(None, 1)[0]
    if len(word) == SHORT_MAX:
        word = text[at : at + VALUE_MAX].split(None, 1)[0]
    if not _ALL_BARE_ENDS.isdisjoint(word):
        for sign in _BARE_ENDS if is_line else _BARE_ENDS + _BARE_ENDS_INLINE:
            word = word.partition(sign)[0]
    if is_line:
        word = word.rstrip(",;)}]")
    return (at, at + len(word), BARE) if word else None


def _leads_line(text: str, start: int) -> bool:
    """Whether the name at ``start`` is the first thing on its line, as in files of settings."""
    line = text.rfind("\n", max(0, start - 40), start) + 1
    if not line and start > 40:
        return False
    return text[line:start].strip(_LINE_SIGNS).lower() in _LINE_LEADS


def _element(text: str, start: int, at: int) -> tuple[int, int, str] | None:
    last = text.find("<", at + 1, at + 1 + VALUE_MAX)
    return (at + 1, last, QUOTED) if last > at and text[last + 1 : last + 2] == "/" else None


def _paired(text: str, at: int) -> tuple[int, int, str] | None:
    """A value called ``value`` right after a thing that has the name."""
    value = _skip(text, at, " \t\r\n,;-\"'" + _BACK, GAP_MAX)
    if value == at or text[value : value + 5].lower() != "value":
        return None
    closed = _skip(text, value + 5, _CLOSING + _BLANK, 8)
    if text[closed : closed + 1] not in (":", "="):
        return None
    at = _skip(text, closed + 1, _BLANK, 8)
    return _quoted(text, at, QUOTED) or _bare(text, at, is_line=False)


def _spaced(text: str, start: int, at: int) -> tuple[int, int, str] | None:
    """A value with nothing but a space before it: after a flag, in quotes, after "is", or last on its line."""
    if text[start : start + 1] == "-":
        return None if text[at] == "-" else _quoted(text, at, QUOTED) or _bare(text, at, is_line=False)
    word = text[start:at].strip(_BLANK).lower()
    if word in ("bearer", "basic"):
        return _bare(text, at, is_line=False)
    if word.endswith(("pass", "key", "auth")) and "_" not in word:
        return None  # words of prose
    found = _quoted(text, at, QUOTED)
    if found is not None:
        is_closed = text[found[1] : found[1] + 1] not in ("", "\n")
        return found if is_closed and text[start - 1 : start] not in _QUOTED_BY else None
    typed = _after_type(text, at)
    if typed != at:
        return _quoted(text, _skip(text, typed, _BLANK, 8), QUOTED)
    found = _bare(text, at, is_line=False)
    if found is not None and text[at : found[1]].lower() in _SAYING:
        at = _skip(text, found[1], _BLANK + ":=", 4)
        return _quoted(text, at, SPACED) or _bare(text, at, is_line=False)
    if found is None or text[found[1] : found[1] + 1] not in ("", "\n", "\r", "\\", "\0", '"', "'"):
        return None
    is_entry = _leads_line(text, start) or "login" in text[max(0, start - GAP_MAX) : start]
    if is_entry and not _is_without_digits(text[found[0] : found[1]]):
        return found
    return found[0], found[1], SPACED


def is_worth_hiding(value: str, says: int, form: str, name: str) -> bool:
    """Whether ``value`` may be a secret, beside a name that says so much; what is plainly none stays."""
    if value.count(" ") < 7 and "mnemonic" in name.lower():
        return False
    if len(value) < LENGTH_MIN[says]:
        return False
    if says <= SECRET and " " in value:
        return form == QUOTED and _is_phrase_of_secret(value, name)
    if is_placeholder(value, form not in (BARE, ENV, PHRASED), name):
        return False
    if says <= SECRET:
        return has_random(value) or (says == SECRET and _is_strange(value))
    if form in (QUOTED, CALLED):
        if value.count(" ") < 2 or (says == PHRASE and not _is_remark(value)):
            return True
        return form == QUOTED and _is_phrase(value, PHRASE_QUOTED_MIN)
    if form in (ENV, PHRASED):
        return True
    return _is_strange(value) or not _is_name(value) or (value.isdigit() and len(value) > 5)


def _is_phrase_of_secret(value: str, name: str) -> bool:
    """Whether words in quotes are called a secret, and not a token or a key, which have no spaces in them."""
    is_secret = split_name_words(name)[-1:] == ["secret"]
    return is_secret and _is_phrase(value, PHRASE_MIN) and not is_placeholder(value, True, name)


def _is_strange(value: str) -> bool:
    """Letters and digits that do not make words, or letters alone that make none at all."""
    if not value.strip(_DIGITS + ".:-/"):
        return False
    parts = value.translate(_VALUE_AS_SPACES).split()
    if any(len(part) >= CORE_MIN and not part.strip(_HEX) and not part.isdigit() for part in parts) or _has_uuid(parts):
        return True
    digits = sum([value.count(digit) for digit in _DIGITS])
    if digits < 2:
        return any(len(part) >= 8 and is_odd(part, _odd_min(part)) for part in parts)
    if digits > 3 and not value.strip(_ALNUM + "_-"):
        return True
    return odd_share(value) >= (VALUE_ODD_MIN if digits == 2 else DIGITS_ODD_MIN)


def _odd_min(part: str) -> float:
    """Letters alone must be odd; in capitals and small letters that make no words, a little less."""
    return BARE_ODD_MIN if part.islower() or part.isupper() or part.istitle() or _is_camel(part) else ODD_WORD_MAX


def has_random(value: str) -> bool:
    """Whether any word in ``value`` has a random part."""
    return len(value) >= WORD_MIN and any(
        random_parts(word) for word in split_tokens(value.encode("utf-8", "surrogatepass"))
    )


def odd_share(value: str) -> float:
    """The share of odd pairs in the parts of ``value``; the signs between its parts do not count."""
    parts = value.translate(_VALUE_AS_SPACES).split()
    pairs = sum([len(part) - 1 for part in parts])
    return sum([odd_pairs(part) for part in parts]) / max(1, pairs)


_VALUE_AS_SPACES = {ord(sign): " " for sign in "-_+/.:@%=,;$~ "}


def _is_name(value: str) -> bool:
    return not value.strip(_LETTERS + "_-.") or not value.strip(_DIGITS + ".,")


def is_placeholder(value: str, is_quoted: bool, name: str) -> bool:
    """Whether ``value`` plainly is no secret: a reference, a type, a call, a stand-in."""
    low = value.strip(" \t,;:)").lower()
    if not low or low in _PLACEHOLDERS or low.startswith(_PLACEHOLDER_STARTS) or len(set(low)) < 3:
        return True
    if not is_quoted and _is_code(value, low):
        return True
    if any(sign in low for sign in _NOT_SECRET) or low.endswith(("here", "here>")):
        return True
    if " " in low and any(word in low for word in _TELLING):
        return True  # what a form says beside its field
    if low[0] in "$%" and not low.strip("$%" + _ALNUM + "_"):
        return True  # a variable of a shell
    if low[0] + low[-1] in ("{}", "[]", "<>", "()", "%s"):
        return True
    if (low[0] in "/~." and "/" in low) or low[1:3] == ":\\":
        return not has_random(value)  # a path
    return split_name_words(value) == split_name_words(name)


def _is_code(value: str, low: str) -> bool:
    if low[0] in "${[(@&*!|>%#<=" or "(" in low or "[" in low or "::" in low:
        return True
    root, dot, _ = low.partition(".")
    if dot and root in _CODE_ROOTS:
        return True
    is_identifier = not low.strip(_LOWER + _DIGITS + "_.-")
    return is_identifier and any(word in low for word in _TELLING) and not has_random(value)


_TELLING = ("pass", "pwd", "secret", "token", "key", "auth", "cred")

# ---------------------------------------------------------------------------------------------------------------------
# Addresses with a password, or with a token for a user.

USERINFO_MAX = 256
_AUTHORITY_ENDS = _QUOTES + "/?#<>,;(){}" + _BACK


def address_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where ``text`` has the password or the token of an address."""
    at = text.find("://")
    while at >= 0:
        first = at + 3
        words = text[first : first + USERINFO_MAX].split(None, 1)
        authority = words[0] if words and text[first : first + 1].strip() else ""
        for sign in _AUTHORITY_ENDS:
            authority = authority.partition(sign)[0]
        user, has_user, _ = authority.rpartition("@")
        if has_user:
            yield from _userinfo(first, user)
        at = text.find("://", first)


def _userinfo(first: int, user: str) -> Iterator[tuple[int, int]]:
    name, colon, password = user.partition(":")
    if random_parts(name) or (len(name) >= HEX_MIN and not name.strip(_HEX)):
        yield first, first + len(name)
    if colon and len(password) > 2 and not is_placeholder(password, True, "password"):
        yield first + len(name) + 1, first + len(user)


# ---------------------------------------------------------------------------------------------------------------------
# The wire.

LONG_MIN = 16
"""Shorter words hold no token that could be known by its beginning."""

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
"""How tokens that are known by their shape begin, or what is in the middle of them; all of one long word."""

HEAD = 3
_APART = {ord(sign): " " for sign in "_-+/.~$\0\n"}
_LINE_END_LETTERS = "nrtbf"
_ANYWHERE = ("Q~", "T3BlbkFJ")
"""What need not stand apart from the letters and digits before it."""


def _head(token: str) -> str:
    """What must stand for itself where ``token`` is, or begin what does; nothing where it may stand anywhere."""
    if token in _ANYWHERE:
        return ""
    first, *others = token.translate(_APART).split(" ")
    inner = [run for run in others[:-1] if run]
    if inner:
        return inner[0]
    return first if first and others else (first or others[0])[:HEAD]


_HEADS = [(_head(token), token) for token in TOKENS]
"""So that few of the many tokens are looked for in a text: those whose head is one of its words."""

SIGNS = (
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
)
"""Words, in lower case, without which no rule about several words holds."""
_TOGETHER = {
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
    "kind": ("kind: Secret", 'kind": "Secret"', 'kind":"Secret"'),
}
"""What must stand somewhere beside such a word."""

_WORDLY = (_ALNUM + "_-+/.~$\0").encode()
_AS_WORDS = bytes([byte if byte in _WORDLY else 0 if byte == 92 else 32 for byte in range(256)])
ODD = b"\x01q7\x01"
"""Stands for an escaped sign as part of a value: odd enough for every rule, and too short for a word of its own."""
_ESCAPED = {b"\\n": b"\n", b'\\"': b'"', b"\\t": b"\t", b"\\r": b"\r", b"\\/": b"/"}
"""What the common escapes of JSON mean."""


def trips(data: bytes) -> bool:
    """Whether JSON text may hold anything that must not be kept; when in doubt, it may."""
    found = any(_look(data[max(0, at - OVERLAP_BYTES) : at + CHUNK_BYTES]) for at in range(0, len(data), CHUNK_BYTES))
    if not found:
        forget()
    return found


def _look(data: bytes) -> bool:
    if b"\\u" in data and _look_plain(unescaped(data, ODD)):
        return True  # a sign beyond ASCII may be part of a value, or stand between two words: both are looked at
    return _look_plain(unescaped(data) if b"\\" in data else data)


def _look_plain(data: bytes) -> bool:
    words = split_tokens(data)
    longer = filter_long_words(words)
    if tokens_in(longer):
        return True
    text = data.decode("utf-8", "surrogateescape")  # as redaction sees it: half of a sign may look like a blank
    if any(find_random_words(longer, text)):
        return True
    low = lower_ascii(text)
    return (
        any(signs_in(" ".join(words).lower(), text))
        or (b"://" in data and b"@" in data and any(address_secrets(text)))
        or any(named_values(text, low))
    )


def split_tokens(data: bytes) -> set[str]:
    """What stands between blanks, quotes, brackets and all but the signs that tokens are made of."""
    return set(data.translate(_AS_WORDS).decode("latin-1").split())


def unescaped(data: bytes, odd: bytes = b" ") -> bytes:
    """JSON text without its escapes; ``odd`` stands for escaped signs that are not printable ASCII.

    What was an escaped backslash is a zero byte, so that nothing is undone twice.
    """
    data = data.replace(b"\\\\", b"\0")
    for escape, plain in _ESCAPED.items():
        data = data.replace(escape, plain)
    first, *parts = data.split(b"\\")
    return b"".join([first, *(_unicode(part, odd) if part[:1] == b"u" else b"\0" + part for part in parts)])


def _unicode(part: bytes, odd: bytes) -> bytes:
    try:
        code = int(part[1:5], 16)
    except ValueError:  # no JSON
        return b"\0" + part
    plain = b"\0" if code == 92 else bytes((code,)) if 32 <= code < 127 else odd
    return plain + part[5:]


def filter_long_words(words: set[str]) -> list[str]:
    """Those that could be tokens: long, with a digit or a capital in them."""
    longer = [word for word in words if len(word) >= LONG_MIN and not (word.islower() and _DIGIT_SET.isdisjoint(word))]
    # Ids and hashes are most of what is left of many texts; no rule takes one out.
    return [
        word
        for word in longer
        if word.strip(_HEX_LOW) and not (word.startswith(_NEVER_RANDOM) and _SPLITTING.isdisjoint(word))
    ]


def tokens_in(words: list[str]) -> list[str]:
    """Which of ``TOKENS`` may begin, or be, where they must in ``words``; some that do not, never one too few."""
    joined = "\n".join(words)
    if not joined:
        return []
    parts = set(joined.translate(_APART).split())
    if "\0" in joined:
        parts.update([part[1:] for part in parts if part[0] in _LINE_END_LETTERS])
    heads = parts.union([part[:HEAD] for part in parts], ("",))
    return [token for head, token in _HEADS if head in heads and token in joined]


def find_random_words(words: list[str], text: str) -> Iterator[str]:
    """The words with random parts, unless something right before says that they are hashes or pictures."""
    for word in words:
        if len(word) >= WORD_MIN:
            for piece in pieces_of(word):
                if random_parts(piece) and not is_introduced_everywhere(text, piece):
                    yield piece


def pieces_of(word: str) -> Iterator[str]:
    """A word as it is; after an escaped backslash also without the letter that may belong to it."""
    first, *others = word.split("\0")
    yield first
    for piece in others:
        yield piece
        yield piece[1:]


_INTRODUCED = tuple(
    "sha1: sha256: sha384: sha512: sha1= sha256= sha384= sha512= md5: md5= h1: base64, /nix/store/".split()
)
"""What stands right before hashes and pictures."""
LOOKS_MAX = 50


def is_introduced(text: str, at: int) -> bool:
    """Whether what stands right before ``at`` says that a hash or a picture follows."""
    return text[max(0, at - 11) : at].lower().endswith(_INTRODUCED)


def is_known(text: str, at: int) -> bool:
    """Whether ``at`` is in a word that is known to be no secret: an id, a hash, a public key, a picture."""
    before = text[max(0, at - WORD_MAX) : at]
    start = at - len(before) + len(before.rstrip(_ALNUM + "_-+/"))
    if at - start == WORD_MAX:
        return True  # far inside of something that is no word
    return text.startswith(_KNOWN + _PUBLIC, start) or is_introduced(text, start)


def is_introduced_everywhere(text: str, word: str) -> bool:
    """Whether all the places of ``word`` are introduced; with very many of them, none is believed."""
    at = text.find(word)
    for _ in range(LOOKS_MAX):
        if at < 0:
            return True
        if not is_introduced(text, at):
            return False
        at = text.find(word, at + 1)
    return False


def signs_in(said: str, text: str) -> Iterator[str]:
    """Which of ``SIGNS`` are in the words ``said``, with what must stand beside them in ``text``."""
    for sign in SIGNS:
        if sign in said and any(other in text for other in _TOGETHER.get(sign, ("",))):
            yield sign
