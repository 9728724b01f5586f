"""Numbers, times and names as text, the same on every page."""

import shlex
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from markupsafe import Markup

from custody.core.agent_titles import get_agent_title
from custody.core.plural import count_noun
from custody.trust.wire import TrustLine

DIGEST_CHARACTERS = 10
MINUTE, HOUR, DAY = 60, 3_600, 86_400
JUST_NOW = 10
NS = 1_000_000_000


UNNAMED = "unknown"
"""The name of an agent that a record does not name."""


def format_agent_title(agent: str) -> str:
    """Return the display name of an agent.

    >>> format_agent_title("claude-code"), format_agent_title("unknown"), format_agent_title("robot")
    ('Claude Code', 'Unnamed agent', 'robot')
    """
    return "Unnamed agent" if agent == UNNAMED else get_agent_title(agent)


def capitalize_sentence(text: str) -> str:
    """Return a sentence with a capital at its start; a path or a name in code stays as it is.

    >>> capitalize_sentence("nothing shows who wrote it"), capitalize_sentence("docs/a.md: line 1")
    ('Nothing shows who wrote it', 'docs/a.md: line 1')
    """
    first = text.partition(" ")[0].rstrip(",;")
    return f"{text[:1].upper()}{text[1:]}" if first.isalpha() else text


def format_percent(part: float | None) -> str:
    """Return a share in percent; only exact values are shown as 0 or 100.

    >>> [format_percent(part) for part in (0.5, 0.004, 0.9999, 0, 1, None)]
    ['50 %', '0.4 %', '99.9 %', '0 %', '100 %', 'unknown']
    """
    if part is None:
        return "unknown"
    if part in (0, 1):
        return f"{part * 100:.0f} %"
    hundred = min(max(part * 100, 0.1), 99.9)
    return f"{hundred:.1f} %" if hundred < 10 or hundred > 99 else f"{hundred:.0f} %"


def format_page_timestamp(text: str | None) -> str:
    """Return an RFC 3339 timestamp in a readable form, to the second.

    >>> format_page_timestamp("2026-08-02T12:00:00.123456789Z"), format_page_timestamp(None)
    ('2026-08-02 12:00:00 UTC', 'unknown')
    """
    if text is None:
        return "unknown"
    day, _, rest = text.partition("T")
    return f"{day} {rest[:8]} UTC" if rest.endswith("Z") else text


def format_day(text: str | None) -> str:
    """Return the date of a timestamp."""
    return "unknown" if text is None else text[:10]


def shorten_digest(text: str | None) -> str:
    """Return the first characters of an id or a digest."""
    return "none" if text is None else text if len(text) <= DIGEST_CHARACTERS + 3 else f"{text[:DIGEST_CHARACTERS]}…"


def format_page_duration(began: str | None, ended: str | None) -> str:
    """Return the time between two timestamps.

    >>> format_page_duration("2026-08-02T12:00:00Z", "2026-08-02T12:00:01.5Z")
    '1.5 s'
    >>> format_page_duration("2026-08-02T12:00:00Z", None)
    'running'
    """
    if began is None or ended is None:
        return "running" if began is not None else "unknown"
    try:
        seconds = (_parse_page_timestamp(ended) - _parse_page_timestamp(began)).total_seconds()
    except ValueError:
        return "unknown"
    return format_seconds(seconds)


def format_seconds(seconds: float) -> str:
    """Return a duration in its two largest units.

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


def format_clock(ns: int) -> str:
    """Return the hour and minute of a time in UTC.

    >>> format_clock(1_769_860_920_000_000_000)
    '12:02'
    """
    minutes = ns // (MINUTE * NS) % (DAY // MINUTE)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def format_age(seconds: float) -> str:
    """Return how long ago something was, in its largest unit.

    >>> format_age(3), format_age(75), format_age(7260), format_age(90000)
    ('just now', '1 minute ago', '2 hours ago', '1 day ago')
    """
    for size, noun in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= size:
            return f"{count_noun(int(seconds // size), noun)} ago"
    return "just now" if seconds < JUST_NOW else f"{int(seconds)} seconds ago"


def _parse_page_timestamp(text: str) -> datetime:
    # datetime reads at most six digits of a second.
    head, dot, rest = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{rest[:6]:0<6}" if dot else head).replace(tzinfo=UTC)


# Text of records, made safe to show: invisible characters become visible, and long texts are cut.
# The templates escape HTML; this is about what is left after that.


TEXT_CHARACTERS_MAX = 2_000
"""Maximum characters shown of one text."""
_WHITESPACE = frozenset("\n\t")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Invisible characters that writing systems and emoji need."""


def escape_page_text(text: str, most: int = TEXT_CHARACTERS_MAX) -> str:
    r"""Return ``text`` with control characters written as their numbers, cut at ``most``.

    >>> escape_page_text("a\u202eb\x1b[31m")
    'a⟨202E⟩b⟨1B⟩[31m'
    >>> escape_page_text("x" * 5, most=3)
    'xxx… (5 characters)'
    """
    cut = text[:most]
    if not cut.isprintable():
        cut = "".join(
            character if _is_page_safe_character(character) else f"⟨{ord(character):02X}⟩" for character in cut
        )
    return cut if len(text) <= most else f"{cut}… ({len(text):,} characters)"


def _is_page_safe_character(character: str) -> bool:
    if character.isprintable() or character in _WHITESPACE or character in _JOINERS:
        return True
    return unicodedata.category(character) == "Zs"


def shorten_path_start(text: str, most: int = 60) -> str:
    """Return the end of an absolute path, whose start says little; other texts stay as they are.

    >>> shorten_path_start("/home/me/work/till/src/prices.py", 20), shorten_path_start("make test", 4)
    ('…/till/src/prices.py', 'make test')
    """
    if not text.startswith(("/", "~/")) or len(text) <= most or " " in text:
        return text
    end = text[1 - most :]
    return f"…{end[end.index('/') :]}" if "/" in end else f"…{end}"


def shorten_page_text(text: str, most: int = 80) -> str:
    """Return the start of a text, on one line."""
    cleaned = " ".join(escape_page_text(text, most * 4).split())
    return cleaned if len(cleaned) <= most else f"{cleaned[: most - 1]}…"


HOURS_A_DAY = 24
HUNK_DIGITS = 12
HUNKS_NAMED_MAX = 20


def describe_trust(line: TrustLine) -> str:
    """Return the trust in an agent in words: its score, its reviews, and what it may merge without review."""
    counts = f"{line.accepted:,} accepted, {line.modified:,} changed, {line.rejected:,} rejected"
    reviews = f"{count_noun(line.samples, 'review')}: {counts}" if line.samples else "no reviews yet"
    return f"trust {line.score:.2f} ({line.tier}), {reviews}; {_describe_merge_budget(line)}"


def _describe_merge_budget(line: TrustLine) -> str:
    if line.reviews_needed:
        return f"merges nothing without review before {count_noun(line.reviews_needed, 'more review')}"
    if line.decayed or not line.budget or not line.lines_max:
        return "merges nothing without review"
    is_day = line.budget_hours == HOURS_A_DAY
    period = "a day" if is_day else f"in {line.budget_hours:g} hours"
    return f"may merge {count_noun(line.budget, 'line')} {period} without review"


def make_decision_command(change: str, agent: str) -> str:
    """Return the command that records a decision about the lines of an agent in a change."""
    return shlex.join(("custody", "trust", "record", "--outcome", "merged", agent, change))


def make_read_command(change: str, hunks: Sequence[str]) -> str:
    """Return the command that marks hunks of a change as read."""
    if len(hunks) > HUNKS_NAMED_MAX:
        return shlex.join(("custody", "read", change, "--all"))
    named = (word for hunk in hunks for word in ("--hunk", _shorten_hunk(hunk)))
    return shlex.join(("custody", "read", change, *named))


def _shorten_hunk(hunk: str) -> str:
    """Return the first digits of a hunk; a repeated hunk has its number at the end, so it stays whole."""
    return hunk if "-" in hunk else hunk[:HUNK_DIGITS]


def escape_form_value(text: str) -> Markup:
    """Escape a text for a form field: every character by its number, so that it arrives unchanged."""
    return Markup("".join(f"&#{ord(character)};" for character in text))
