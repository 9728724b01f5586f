"""From what was seen of a change to the verdict on it."""

from collections.abc import Callable, Iterable, Sequence

from custody.core.errors import InputError
from custody.gate.codes import Code, Level, Reason
from custody.gate.model import Seen, Verdict
from custody.gate.rules import GateRules

Check = Callable[[Seen, GateRules], Iterable[Reason]]
"""Says what it has to say about a change; nothing if all is well."""

_ORDER = tuple(Code)


def judge(seen: Seen, checks: Sequence[Check], rules: GateRules) -> Verdict:
    """The verdict of all ``checks`` together: as strict as the strictest reason, whatever their order."""
    if not checks:
        raise InputError("a change cannot be judged by no check at all", hint="name at least one check")
    reasons = sorted((reason for check in checks for reason in check(seen, rules)), key=_standing)
    return Verdict(reasons[0].level if reasons else Level.APPROVE, tuple(reasons))


def _standing(reason: Reason) -> tuple[int, int, str]:
    """Reasons stand by strictness, then in the table's order, then by their words."""
    return -reason.level.strictness, _ORDER.index(reason.code), reason.sentence
