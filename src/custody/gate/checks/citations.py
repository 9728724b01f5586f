"""The check of citations: does what the change says rest on something?"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from custody.cite import CitationCode as CiteCode
from custody.cite import Finding
from custody.core.lines import Lines
from custody.gate.codes import ChangeSpot, Reason, ReasonCode, join_first
from custody.gate.model import GateEvidence, MissingEvidence
from custody.gate.rules import GateRules

SHOWN_MAX = 3
"""A reason names so many places; the audit names them all."""

_CODES = {
    **dict.fromkeys((CiteCode.NONE, CiteCode.COVERAGE), ReasonCode.CITE_UNCITED),
    **dict.fromkeys((CiteCode.UNREAD, CiteCode.LATE, CiteCode.SUMMARY, CiteCode.SUPPORT), ReasonCode.CITE_UNREAD),
    **dict.fromkeys(
        (CiteCode.NOFILE, CiteCode.NOSYMBOL, CiteCode.NOISSUE, CiteCode.NOPACKAGE), ReasonCode.CITE_MISSING
    ),
}
"""What the gate says about a finding; any other is a citation that does not hold."""


def citations(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """At most one reason of each code for a text, with the first places."""
    for text in seen.texts:
        if isinstance(text.lacks, MissingEvidence):
            spots = [ChangeSpot(text.name)] if text.is_file else []
            yield rules.reason(ReasonCode.CITE_UNSEEN, f"{text.name} {text.lacks.why}", text.lacks.remedy, spots)
            continue
        by_code = defaultdict[ReasonCode, list[Finding]](list)
        for lack in text.lacks:
            by_code[_CODES.get(lack.code, ReasonCode.CITE_BROKEN)].append(lack)
        for code, lacks in by_code.items():
            spots = [ChangeSpot(text.name, Lines(lack.line, lack.line)) for lack in lacks] if text.is_file else []
            yield rules.reason(code, f"{text.name}: {_describe_lacks(lacks)}", spots=spots)


def _describe_lacks(lacks: Sequence[Finding]) -> str:
    return join_first([f"line {lack.line}: {lack.message} ({lack.code.value})" for lack in lacks], SHOWN_MAX)
