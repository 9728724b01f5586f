"""The check of duplicates: is the change already there?"""

from collections.abc import Iterator

from custody.dupes import Category, DuplicateVerdict
from custody.gate.codes import Reason, ReasonCode
from custody.gate.model import GateEvidence, MissingEvidence, SimilarChange
from custody.gate.rules import GateRules


def duplicates(seen: GateEvidence, rules: GateRules) -> Iterator[Reason]:
    """One reason for each change that should not land beside this one; nothing where nobody was to look."""
    if seen.twins is None:
        return
    if isinstance(seen.twins, MissingEvidence):
        yield rules.reason(ReasonCode.DUPE_UNSEEN, seen.twins.why, seen.twins.remedy)
        return
    for twin in seen.twins:
        yield rules.reason(_code(twin), f"{twin.name}: {twin.why}")


def _code(twin: SimilarChange) -> ReasonCode:
    if twin.says is DuplicateVerdict.COMPETING:
        return ReasonCode.DUPE_COMPETING
    return ReasonCode.DUPE_SAME if twin.category is Category.SAME_CHANGE else ReasonCode.DUPE_LIKELY
