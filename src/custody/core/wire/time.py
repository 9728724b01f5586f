"""Timestamps: RFC 3339 text outside, nanoseconds since 1970 inside."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern

_SHAPE = lazy_pattern(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|z|[+-]\d\d:\d\d)", re.ASCII)
_AGO = lazy_pattern(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([hdw])", re.ASCII)
_DAY = lazy_pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_HOURS = {"h": 1, "d": 24, "w": 168}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_CLOCK = _EPOCH.replace(tzinfo=None)
_EPOCH_DAY = _EPOCH.toordinal()
_NS = 1_000_000_000
_NS_MAX = 2**63 - 1


@lru_cache(maxsize=4096)  # the checks of a batch's events, their records and then their views parse the same ones
def parse_timestamp(text: str) -> int:
    """Parse an RFC 3339 timestamp with a zone into nanoseconds since 1970.

    >>> parse_timestamp("1970-01-01T01:00:00.5+01:00")
    500000000
    """
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InputError(f"invalid timestamp '{text[:60]}'", hint="use RFC 3339 with a zone: 2026-01-31T12:00:00Z")
    day, clock, fraction, zone = shape.groups()
    try:
        seconds = _parse_clock_seconds(day, clock) - _parse_zone_seconds(zone)
    except ValueError as error:
        raise InputError(f"invalid timestamp '{text[:60]}': {error}") from error
    return check_timestamp_ns(seconds * _NS + int((fraction or "0").ljust(9, "0")))


def parse_start_time(text: str, now_ns: int) -> int:
    """Parse a past time: ``30d``, ``12h``, ``2w``, a date or a timestamp; an ``InputError`` for a future time.

    >>> parse_start_time("1.5h", 7_200_000_000_000), parse_start_time("1970-01-01", 1)
    (1800000000000, 0)
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now_ns - round(float(ago[1]) * _HOURS[ago[2]] * 3600 * _NS)
    try:
        start_ns = parse_timestamp(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    except InputError as error:
        raise InputError(
            f"invalid start '{text[:60]}'", hint="pass 30d, 12h, 2w, 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error
    if start_ns > now_ns:
        raise InputError(f"'{text}' is in the future", hint="pass a past time")
    return start_ns


def format_timestamp(ns: int) -> str:
    """Format nanoseconds since 1970 as RFC 3339 in UTC, without trailing zeros.

    >>> format_timestamp(1_500_000_000)
    '1970-01-01T00:00:01.5Z'
    """
    seconds, rest = divmod(ns, _NS)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{_format_clock_seconds(seconds)}{fraction}Z"


@lru_cache(maxsize=1024)  # a program starts many spans in one second
def _format_clock_seconds(seconds: int) -> str:
    return (_EPOCH_CLOCK + timedelta(seconds=seconds)).isoformat()


def check_timestamp_ns(ns: int) -> int:
    """Return ``ns``; raise an ``InputError`` if a store cannot hold it."""
    if not -_NS_MAX <= ns <= _NS_MAX:
        raise InputError("the timestamp is outside the years 1678 to 2261")
    return ns


@lru_cache(maxsize=1024)
def _parse_clock_seconds(day: str, clock: str) -> int:
    time = datetime.fromisoformat(f"{day}T{clock}")
    days = time.toordinal() - _EPOCH_DAY
    return ((days * 24 + time.hour) * 60 + time.minute) * 60 + time.second


def _parse_zone_seconds(text: str) -> int:
    if text in "Zz":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"invalid zone '{text}'")
    seconds = (hours * 60 + minutes) * 60
    return -seconds if text[0] == "-" else seconds
