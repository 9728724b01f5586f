"""What a word of a sentence must look like to be a password, and which random words are public ids."""

from __future__ import annotations

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
    """Return whether a word of a sentence is no ordinary word: letters with digits, signs, or mixed capitals.

    >>> [is_password_like(word) for word in ("Sommer2024!", "8-stellig", "erforderlich", "base64", "p@ssWorter")]
    [True, False, False, False, True]
    """
    word = value.rstrip("!?")
    if not LENGTH_MIN <= len(value) <= LENGTH_MAX or not word or word.lower().startswith(_NOT_PASSWORDS):
        return False
    if any(character in value for character in "()[]{}<>|\\/\"") or "::" in value or ".." in value:
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
    """Return whether a part of a word has both, or a sign is beside them: not "8-stellig", "v1.2" or "page_3"."""
    if not _SYMBOLS.isdisjoint(word) and "=" not in word:
        return True
    for sign in "-_.:,'":
        word = word.replace(sign, " ")
    parts = word.split()
    return any(len(part) >= 5 and not part.isdigit() and any(map(part.__contains__, _DIGITS)) for part in parts)


def _has_odd_capitals(word: str) -> bool:
    """Return whether capitals stand where no language and no name of a program has them: "xKqLpWvZ"."""
    if word.islower() or word.isupper() or word.istitle():
        return False
    runs = "".join([" " if character.isupper() else character for character in word]).split()
    return sum([len(run) + 1 for run in runs if len(run) > 2]) * 2 < len(word)


# ---------------------------------------------------------------------------------------------------------------------
# Public ids that look random.

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


def is_document_id(text: str, start: int) -> bool:
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
