"""What agents called before they changed risky files, and how usual that is, for the gate."""

import math
from collections.abc import Iterator, Mapping, Sequence

from custody.attribution.model import Grade
from custody.attribution.wire.blame import Attribution
from custody.core.glob import matches
from custody.core.ids import CallId
from custody.gate.model import Before, Unseen
from custody.gate.rules import GateRules
from custody.graph.app.learn import Unit, all_units, imported_units, units_of
from custody.graph.app.session_spans import call_span
from custody.graph.calls import Call
from custody.graph.prediction import NextModel, Session
from custody.graph.rules import GraphRules
from custody.ledger.claim import is_claim, trusted_chains
from custody.store import Store

READ_IT = "have a person read these files"
Edited = Mapping[str, Sequence[Attribution]]
"""By path, who wrote the added lines."""


def befores_of(store: Store, edited: Edited, gate: GateRules, rules: GraphRules) -> tuple[Before, ...] | Unseen:
    """What was called before each risky file of a change was changed; each session and file once."""
    risky = {path: told for path, told in edited.items() if any(matches(one, path) for one in gate.risky_paths)}
    written = [(path, one) for path, told in risky.items() for one in told if one.kind in ("agent", "mixed")]
    asked: dict[tuple[str, str, str, bool], None] = {}
    for path, one in written:
        if one.session_id is None or one.tool_call_id is None:
            return Unseen(f"nothing shows by which call '{path}' was changed", READ_IT)
        asked[path, one.session_id, one.tool_call_id, one.grade == Grade.CLAIMED.value] = None
    if not asked:
        return ()
    units = sorted(units_of(store, all_units(store)), key=lambda unit: (unit.first_ns, unit.name))
    sessions = {session for _, session, _, _ in asked}
    taught = _recorded(store, [unit for unit in units if unit.id not in sessions])
    others = [calls for unit in taught for calls in unit.calls(rules)]
    known = sum(map(len, others))
    if known < gate.calls_learnt_min:
        least = f"gate.calls_learnt_min is {gate.calls_learnt_min}"
        return Unseen(f"only {known} call(s) of other sessions are known, and {least}", READ_IT)
    model = NextModel(rules)
    model.fit(others)
    found: dict[tuple[str, str], Before] = {}
    for path, session, call, is_claimed in asked:
        own = _own(store, [unit for unit in units if unit.id == session], is_claimed=is_claimed)
        told_by = (_before(model, unit, CallId(call), gate, rules) for unit in own)
        before = next((one for one in told_by if one is not None), None)
        if before is None:
            return Unseen(f"the call by which '{path}' was changed is not among those of its session", READ_IT)
        told = Before(path, session, *before)
        if (path, session) not in found or told.chance < found[path, session].chance:
            found[path, session] = told
    return tuple(found.values())


def _recorded(store: Store, units: Sequence[Unit]) -> Iterator[Unit]:
    """These units as far as they were recorded here: what is usual is not taught by a file that anybody may write."""
    brought, owned = imported_units(store), store.tables.owned()
    doubtful = [unit.name for unit in units if unit.name in brought]
    recorded = {unit.name: unit for unit in units_of(store, doubtful, lambda record: not is_claim(record, owned))}
    yield from (recorded.get(unit.name, unit) for unit in units)


def _own(store: Store, units: Sequence[Unit], *, is_claimed: bool) -> list[Unit]:
    """The units of one session, sessions first; of an edit that is more than a claim, without what is claimed of it."""
    chains = trusted_chains(store)
    names = [unit.name for unit in units]
    own = units if is_claimed else units_of(store, names, lambda record: not is_claim(record, chains))
    return sorted(own, key=lambda unit: unit.name, reverse=True)


def _before(
    model: NextModel, unit: Unit, edit: CallId, gate: GateRules, rules: GraphRules
) -> tuple[float, tuple[str, ...]] | None:
    """The chance of the calls up to an edit, and their names; None if the edit is not among the session's calls."""
    so_far = Session()
    told: list[tuple[float, Call]] = []
    for call, is_edit in _until(unit, edit, rules):
        told.append((model.chance(so_far, call), call))
        so_far.see(call, rules.next_cache_decay)
        if is_edit:
            last = told[-gate.calls_before - 1 : -1] or told[-1:]
            mean = math.exp(math.fsum(math.log(max(chance, 1e-12)) for chance, _ in last) / len(last))
            return mean, tuple(one.name for _, one in last)
    return None


def _until(unit: Unit, edit: CallId, rules: GraphRules) -> Iterator[tuple[Call, bool]]:
    """The calls of a session in order, each with whether it is the edit."""
    wanted = call_span(edit)
    for calls in unit.calls(rules):
        yield from ((call, call.span == wanted) for call in calls)
