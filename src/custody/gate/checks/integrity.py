"""The check of integrity: is what the answers rest on as it was written?"""

from collections.abc import Iterator

from custody.gate.codes import Reason, ReasonCode, join_first
from custody.gate.model import GateEvidence, MissingEvidence
from custody.gate.rules import GateRules

SHOWN_MAX = 3


def integrity(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """Nothing where nothing was ever recorded: then there is nothing that could be damaged."""
    if seen.recorded is None:
        return
    if isinstance(seen.recorded, MissingEvidence):
        yield rules.reason(ReasonCode.INTEG_UNSEEN, seen.recorded.why, seen.recorded.remedy)
        return
    damage = seen.recorded.damage
    if damage:
        named = join_first(damage, SHOWN_MAX)
        yield rules.reason(ReasonCode.INTEG_DAMAGE, f"the store is not as it was written: {named}")
