"""The check of the policy: does the change edit the rules by which it is judged?"""

from collections.abc import Iterator

from custody.gate.codes import Reason, ReasonCode, join_first
from custody.gate.model import GateEvidence
from custody.gate.rules import GateRules

SHOWN_MAX = 5


def policy(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason, with the first of the rules that would be others."""
    if seen.policy:
        yield rules.reason(ReasonCode.POLICY_CHANGED, f"the change sets rules: {join_first(seen.policy, SHOWN_MAX)}")
