"""Times as people scan them: relative for a day, then the date in the reader's zone."""

from datetime import UTC, datetime, timedelta, tzinfo

from custody.core.plural import count_noun

RELATIVE_MAX = timedelta(hours=24)


def format_when(at: str, now_ns: int, zone: tzinfo | None = None) -> str:
    """Return an ISO 8601 time as ``5 minutes ago`` within 24 hours, and as a date before that.

    ``zone`` is the reader's: this machine's without one.

    >>> noon = 1_772_539_200 * 10**9  # 2026-03-03T12:00:00Z
    >>> format_when("2026-03-03T11:55:00Z", noon, UTC), format_when("2026-03-03T09:00:00Z", noon, UTC)
    ('5 minutes ago', '3 hours ago')
    >>> format_when("2026-03-02T09:00:00.5Z", noon, UTC), format_when("2026-03-03T11:59:50Z", noon, UTC)
    ('2026-03-02', 'just now')
    """
    time = parse_time(at)
    age = datetime.fromtimestamp(now_ns / 10**9, UTC) - time
    if timedelta(0) <= age <= RELATIVE_MAX:
        minutes = int(age.total_seconds() // 60)
        if minutes < 1:
            return "just now"
        return f"{count_noun(minutes, 'minute') if minutes < 60 else count_noun(minutes // 60, 'hour')} ago"
    return time.astimezone(zone).date().isoformat()


def format_time(at: str, zone: tzinfo | None = None) -> str:
    """Return an ISO 8601 time as ``2026-03-03 14:00`` in the reader's zone.

    >>> format_time("2026-03-03T09:10:58Z", UTC)
    '2026-03-03 09:10'
    """
    return f"{parse_time(at).astimezone(zone):%Y-%m-%d %H:%M}"


def format_clock_time(at: str, zone: tzinfo | None = None) -> str:
    """Return the time of day of an ISO 8601 time as ``14:00:05`` in the reader's zone.

    >>> format_clock_time("2026-03-03T09:10:58.5Z", UTC)
    '09:10:58'
    """
    return f"{parse_time(at).astimezone(zone):%H:%M:%S}"


def format_duration(start: str, end: str) -> str:
    """Return how long something took: ``48 min``, ``2 h 05 min``; under a minute ``1 min``.

    >>> format_duration("2026-03-03T09:00:00Z", "2026-03-03T09:48:10Z")
    '48 min'
    >>> format_duration("2026-03-03T09:00:00Z", "2026-03-03T11:05:00Z")
    '2 h 05 min'
    """
    minutes = max(1, int((parse_time(end) - parse_time(start)).total_seconds() // 60))
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return count_noun(hours // 24, "day")
    return f"{hours} h {rest:02} min" if hours else f"{minutes} min"


def parse_time(at: str) -> datetime:
    """Return an ISO 8601 time of a report; digits below a microsecond are dropped."""
    whole, dot, fraction = at.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}{dot}{fraction[:6]}").replace(tzinfo=UTC)
