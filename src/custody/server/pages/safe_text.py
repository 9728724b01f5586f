"""Text of records, made fit to be shown: what cannot be seen, turns lines around or has no end becomes visible.

Escaping is the templates' business; this is about what is left after it.
"""

import unicodedata

SIGNS_MAX = 2_000
"""Of one text; the rest is counted, not shown."""
_STAYS = frozenset("\n\t")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Signs that scripts and emoji are written with."""


def escape_control_characters(text: str, most: int = SIGNS_MAX) -> str:
    r"""``text`` without signs that act: each is written as its number. What is longer than ``most`` is cut.

    >>> escape_control_characters("a\u202eb\x1b[31m")
    'a⟨202E⟩b⟨1B⟩[31m'
    >>> escape_control_characters("x" * 5, most=3)
    'xxx… (5 signs)'
    """
    cut = text[:most]
    if not cut.isprintable():
        cut = "".join(sign if _harmless(sign) else f"⟨{ord(sign):02X}⟩" for sign in cut)
    return cut if len(text) <= most else f"{cut}… ({len(text):,} signs)"


def _harmless(sign: str) -> bool:
    if sign.isprintable() or sign in _STAYS or sign in _JOINERS:
        return True
    return unicodedata.category(sign) == "Zs"


def short(text: str, most: int = 80) -> str:
    """The beginning of a text, on one line."""
    cleaned = " ".join(escape_control_characters(text, most * 4).split())
    return cleaned if len(cleaned) <= most else f"{cleaned[: most - 1]}…"
