"""What a ``Retry-After`` asks for: seconds, or a date in one of the three forms that HTTP knows."""

import math
import re
from datetime import UTC, datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "|".join(_MONTHS)
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    re.compile(rf"[a-z]{{3}}, (?P<day>[0-9]{{2}}) (?P<month>{_MONTH}) (?P<year>[0-9]{{4}}) {_TIME} GMT", re.IGNORECASE),
    re.compile(
        rf"[a-z]{{6,9}}, (?P<day>[0-9]{{2}})-(?P<month>{_MONTH})-(?P<year>[0-9]{{2}}) {_TIME} GMT", re.IGNORECASE
    ),
    re.compile(rf"[a-z]{{3}} (?P<month>{_MONTH}) (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})", re.IGNORECASE),
)
_SECONDS = re.compile("[0-9]{1,10}", re.ASCII)
_CHARS_MAX = 64
_CENTURY = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def retry_after_seconds(value: str, now_ns: int) -> int | None:
    """How many whole seconds to wait; 0 for a date that has passed, None for what is neither seconds nor a date.

    >>> retry_after_seconds("120", 0), retry_after_seconds("soon", 0)
    (120, None)
    >>> retry_after_seconds("Thu, 01 Jan 1970 00:01:00 GMT", 0)
    60
    """
    said = value.strip()
    if len(said) > _CHARS_MAX:
        return None
    if _SECONDS.fullmatch(said):
        return int(said)
    now = _EPOCH + timedelta(microseconds=now_ns // 1000)
    moment = next((_moment(found, now) for form in _FORMS if (found := form.fullmatch(said))), None)
    return None if moment is None else max(0, math.ceil((moment - now).total_seconds()))


def _moment(found: re.Match[str], now: datetime) -> datetime | None:
    year = int(found["year"])
    if len(found["year"]) == 2:
        # As the standard says: a year that seems more than 50 years ahead is of the century before.
        year += now.year - now.year % _CENTURY
        year -= _CENTURY if year > now.year + _CENTURY // 2 else 0
    month = _MONTHS.index(found["month"].lower()) + 1
    try:
        hour, minute, second = (int(found[name]) for name in ("hour", "minute", "second"))
        return datetime(year, month, int(found["day"]), hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None  # the thirtieth of February: no date, so nothing was asked for
