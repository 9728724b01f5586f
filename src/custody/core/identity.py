"""Comparison of names, accounts and email addresses: spelling variants of one identity are equal."""

import re
import unicodedata
from collections.abc import Iterable

from custody.core.patterns import lazy_pattern

_NAME_AND_EMAIL = lazy_pattern(r"(?P<name>.*?)\s*<(?P<email>[^<>]+)>\s*", re.DOTALL)
_INVISIBLE = "Cf"
"""The Unicode category of characters without a glyph, such as a zero-width space."""


def normalize_identity(name: str) -> str:
    """Return a name, account or email address in the form in which two are compared.

    >>> normalize_identity("  Ana  Ruiz "), normalize_identity("GitHub:ANA") == normalize_identity("github:ana")
    ('ana ruiz', True)
    >>> normalize_identity("a\\u200bna")
    'ana'
    """
    shown = "".join(character for character in name if unicodedata.category(character) != _INVISIBLE)
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold()).split())


def list_identities(names: Iterable[str | None]) -> frozenset[str]:
    """Return the normalized identities in some names; ``Name <email>`` is two.

    >>> sorted(list_identities(["Ana <ANA@example.com>", None, ""]))
    ['ana', 'ana@example.com']
    """
    parts: list[str] = []
    for name in filter(None, names):
        match = _NAME_AND_EMAIL.fullmatch(name)
        parts += (name,) if match is None else (match["name"], match["email"])
    return frozenset(normalized for part in parts if (normalized := normalize_identity(part)))


def is_same_identity(name: str | None, other: str | None) -> bool:
    """Return whether two names share an identity; an unknown one shares none.

    >>> is_same_identity("Claude-Code", "claude-code"), is_same_identity("Ana <a@b.example>", "A@B.example")
    (True, True)
    """
    return bool(list_identities((name,)) & list_identities((other,)))
