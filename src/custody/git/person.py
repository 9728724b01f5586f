"""Who and when, as a commit says it: claims in bytes, never checked."""

import re
from dataclasses import dataclass

from custody.git.chunk_reader import rubbish

_MOMENT = re.compile(rb"(-?\d{1,20}) ([+-]\d{1,12})")


@dataclass(frozen=True, slots=True)
class ZonedTime:
    """Seconds since 1970 in UTC and the zone that the writer's clock showed, as ``+0530``."""

    seconds: int
    zone: str


@dataclass(frozen=True, slots=True)
class Person:
    """A name and an address; ``at`` is None when the commit's line is damaged.

    Bytes: UTF-8 as far as the commit tells the truth about its encoding.
    """

    name: bytes
    email: bytes
    at: ZonedTime | None


def moment(raw: bytes) -> ZonedTime:
    """Read git's raw date.

    >>> moment(b"1700000000 +0530")
    ZonedTime(seconds=1700000000, zone='+0530')
    """
    match = _MOMENT.fullmatch(raw)
    if not match:
        raise rubbish("seconds and zone are expected", raw)
    return ZonedTime(int(match[1]), match[2].decode("ascii"))
