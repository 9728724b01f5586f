"""What records add to an audit, and what they could not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from custody.cite.codes import Code
from custody.cite.subject import Found

READING_CODES = (Code.UNREAD, Code.LATE, Code.SUMMARY)
"""What is told from how sources were read."""
RECORD_CODES = (*READING_CODES, Code.SUPPORT, Code.NOFILE, Code.NOSYMBOL, Code.NOISSUE, Code.NOPACKAGE)
"""What is looked for only where there are records."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What records say of one report: findings, whose lines were judged, and why something was not looked for."""

    found: tuple[Found, ...] = ()
    sessions: tuple[str, ...] = ()
    lines: int = 0
    not_looked: Mapping[Code, str] = field(default_factory=dict)

    @property
    def looked(self) -> list[Code]:
        """What was looked for."""
        return [code for code in RECORD_CODES if code not in self.not_looked]


def nothing_recorded(why: str) -> Recorded:
    """That nothing was looked for, and why."""
    return Recorded(not_looked=dict.fromkeys(RECORD_CODES, why))
