"""Numbers, moments and names in words, as every page says them."""

import unicodedata
from datetime import UTC, datetime

DIGEST_SIGNS = 10
MINUTE, HOUR, DAY = 60, 3_600, 86_400


def count(number: int, text: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "line"), count(12_000, "line"), count(2, "entry", "entries")
    ('1 line', '12,000 lines', '2 entries')
    """
    return f"{number:,} {text if number == 1 else many or text + 's'}"


def percent(part: float | None) -> str:
    """A share: one digit where it is small, never a rounded 0 or 100 that is not one.

    >>> percent(0.5), percent(0.004), percent(0.9999), percent(0), percent(1), percent(None)
    ('50 %', '0.4 %', '99.9 %', '0 %', '100 %', 'unknown')
    """
    if part is None:
        return "unknown"
    if part in (0, 1):
        return f"{part * 100:.0f} %"
    hundred = min(max(part * 100, 0.1), 99.9)
    return f"{hundred:.1f} %" if hundred < 10 or hundred > 99 else f"{hundred:.0f} %"


def moment(text: str | None) -> str:
    """A moment as RFC 3339 has it, to the second and in words.

    >>> moment("2026-08-02T12:00:00.123456789Z"), moment(None)
    ('2026-08-02 12:00:00 UTC', 'unknown')
    """
    if text is None:
        return "unknown"
    day, _, rest = text.partition("T")
    return f"{day} {rest[:8]} UTC" if rest.endswith("Z") else text


def day(text: str | None) -> str:
    """The day of a moment."""
    return "unknown" if text is None else text[:10]


def digest(text: str | None) -> str:
    """The first digits of an id or a digest, enough to tell it."""
    return "none" if text is None else text if len(text) <= DIGEST_SIGNS + 3 else f"{text[:DIGEST_SIGNS]}…"


def lasted(began: str | None, ended: str | None) -> str:
    """How long something took.

    >>> lasted("2026-08-02T12:00:00Z", "2026-08-02T12:00:01.5Z"), lasted("2026-08-02T12:00:00Z", None)
    ('1.5 s', 'not over')
    """
    if began is None or ended is None:
        return "not over" if began is not None else "unknown"
    try:
        seconds = (_read(ended) - _read(began)).total_seconds()
    except ValueError:
        return "unknown"
    return format_seconds(seconds)


def format_seconds(seconds: float) -> str:
    """A stretch of time in the two largest units that tell it.

    >>> format_seconds(0.02), format_seconds(75), format_seconds(7260), format_seconds(90000)
    ('20 ms', '1 min 15 s', '2 h 1 min', '1 d 1 h')
    """
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.3g} s"
    whole = int(seconds)
    if seconds < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if seconds < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def _read(text: str) -> datetime:
    # Nine digits of a second are more than datetime reads.
    head, dot, rest = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{rest[:6]:0<6}" if dot else head).replace(tzinfo=UTC)


# Text of records, made fit to be shown: what cannot be seen, turns lines around or has no end becomes visible.
# Escaping is the templates' business; this is about what is left after it.


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
