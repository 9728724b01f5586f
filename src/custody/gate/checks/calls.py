"""The check of calls: did an agent do something unusual before it changed a risky file?"""

from collections.abc import Iterator

from custody.gate.codes import ChangeSpot, Reason, ReasonCode
from custody.gate.model import GateEvidence, MissingEvidence
from custody.gate.rules import GateRules


def calls(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason for each risky file before whose change unusual calls were made; nothing where nobody was to look."""
    if seen.befores is None:
        return
    if isinstance(seen.befores, MissingEvidence):
        yield rules.reason(ReasonCode.GRAPH_UNSEEN, seen.befores.why, seen.befores.remedy)
        return
    for before in seen.befores:
        if before.chance < rules.call_chance_min:
            named = ", ".join(before.calls)
            sentence = f"before '{before.path}' was changed, session {before.session} called {named}"
            chance = f"calls like these have a chance of {before.chance:.2%}"
            yield rules.reason(ReasonCode.GRAPH_UNUSUAL, f"{sentence}; {chance}", spots=[ChangeSpot(before.path)])
