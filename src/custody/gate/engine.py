"""From what was seen of a change to the verdict on it."""

from collections.abc import Callable, Iterable, Sequence

from custody.core.errors import InputError
from custody.gate.codes import Reason, ReasonCode, VerdictLevel
from custody.gate.model import GateEvidence, GateVerdict
from custody.gate.rules import GateRules

GateCheck = Callable[[GateEvidence, GateRules], Iterable[Reason]]
"""Says what it has to say about a change; nothing if all is well."""

_ORDER = tuple(ReasonCode)


def judge(seen: GateEvidence, checks: Sequence[GateCheck], rules: GateRules) -> GateVerdict:
    """The verdict of all ``checks`` together: as strict as the strictest reason, whatever their order."""
    if not checks:
        raise InputError("a change cannot be judged by no check at all", hint="name at least one check")
    reasons = sorted((reason for check in checks for reason in check(seen, rules)), key=_standing)
    return GateVerdict(reasons[0].level if reasons else VerdictLevel.APPROVE, tuple(reasons))


def _standing(reason: Reason) -> tuple[int, int, str]:
    """Reasons stand by strictness, then in the table's order, then by their words."""
    return -reason.level.strictness, _ORDER.index(reason.code), reason.sentence
