"""The check of duplicates: is the change already there?"""

from collections.abc import Iterator

from custody.dupes import Category, Says
from custody.gate.codes import Code, Reason
from custody.gate.model import Seen, Twin, Unseen
from custody.gate.rules import GateRules


def duplicates(seen: Seen, rules: GateRules) -> Iterator[Reason]:
    """One reason for each change that should not land beside this one; nothing where nobody was to look."""
    if seen.twins is None:
        return
    if isinstance(seen.twins, Unseen):
        yield rules.reason(Code.DUPE_UNSEEN, seen.twins.why, seen.twins.remedy)
        return
    for twin in seen.twins:
        yield rules.reason(_code(twin), f"{twin.name}: {twin.why}")


def _code(twin: Twin) -> Code:
    if twin.says is Says.COMPETING:
        return Code.DUPE_COMPETING
    return Code.DUPE_SAME if twin.category is Category.SAME_CHANGE else Code.DUPE_LIKELY
