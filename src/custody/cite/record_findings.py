"""What records add to an audit, and what they could not say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from custody.cite.codes import CitationCode
from custody.cite.subject import CheckFinding

READING_CODES = (CitationCode.UNREAD, CitationCode.LATE, CitationCode.SUMMARY)
"""What is told from how sources were read."""
RECORD_CODES = (
    *READING_CODES,
    CitationCode.SUPPORT,
    CitationCode.NOFILE,
    CitationCode.NOSYMBOL,
    CitationCode.NOISSUE,
    CitationCode.NOPACKAGE,
)
"""What is looked for only where there are records."""


@dataclass(frozen=True, slots=True)
class RecordFindings:
    """What records say of one report: findings, whose lines were judged, and why something was not looked for."""

    found: tuple[CheckFinding, ...] = ()
    sessions: tuple[str, ...] = ()
    lines: int = 0
    not_looked: Mapping[CitationCode, str] = field(default_factory=dict)

    @property
    def looked(self) -> list[CitationCode]:
        """What was looked for."""
        return [code for code in RECORD_CODES if code not in self.not_looked]


def nothing_recorded(why: str) -> RecordFindings:
    """That nothing was looked for, and why."""
    return RecordFindings(not_looked=dict.fromkeys(RECORD_CODES, why))
