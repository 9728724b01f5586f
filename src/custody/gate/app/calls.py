"""Evidence for the gate about the calls that agents made before they changed risky files."""

from collections.abc import Collection, Mapping, Sequence

from custody.attribution import Grade
from custody.attribution.app.answers import LineAnswer
from custody.config import EffectiveRules
from custody.core.ids import CallId, SessionId, StoreId
from custody.core.paths import matches_path_pattern
from custody.core.plural import count_noun
from custody.gate.model import CallsBeforeEdit, MissingEvidence
from custody.gate.rules import GateRules
from custody.graph.app.call_chances import CallChances
from custody.store import Store

READ_IT = "have a person read these files"
CALLS_BEFORE = 5
"""Calls before an edit that are judged: with more, the mean hides a single unusual call."""
EditAnswers = Mapping[str, Sequence[LineAnswer]]
"""Who wrote the added lines, by path."""


def gather_risky_call_evidence(
    store: Store, edited: EditAnswers, effective: EffectiveRules, believed: Collection[StoreId]
) -> tuple[CallsBeforeEdit, ...] | MissingEvidence:
    """Return the calls before the edits of risky files, one entry for each session and file.

    What is usual is learned from the ``believed`` chains.
    """
    rules = effective.of(GateRules)
    risky = [path for path in edited if any(matches_path_pattern(pattern, path) for pattern in rules.risky_paths)]
    written = [(path, answer) for path in risky for answer in edited[path] if answer.owner.is_agent]
    calls_of_lines: dict[tuple[str, SessionId, str, bool], None] = {}
    for path, answer in written:
        if answer.trace is None or answer.call is None:
            return MissingEvidence(f"nothing shows which call changed '{path}'", READ_IT)
        calls_of_lines[path, answer.trace.session, answer.call, answer.grade is Grade.CLAIMED] = None
    if not calls_of_lines:
        return ()
    chances = CallChances(store, {session for _, session, _, _ in calls_of_lines}, believed)
    if chances.known_calls < rules.calls_learnt_min:
        known = count_noun(chances.known_calls, "call")
        least = f"gate.calls_learnt_min = {rules.calls_learnt_min}"
        return MissingEvidence(f"only {known} of other sessions recorded ({least})", READ_IT)
    calls: dict[tuple[str, str], CallsBeforeEdit] = {}
    for path, session, call, is_claimed in calls_of_lines:
        run = chances.find_run_before(session, CallId(call), CALLS_BEFORE, is_claimed=is_claimed)
        if run is None:
            return MissingEvidence(f"cannot find the call that changed '{path}' in its session", READ_IT)
        if (path, session) not in calls or run.chance < calls[path, session].chance:
            calls[path, session] = CallsBeforeEdit(path, session, run.chance, run.names)
    return tuple(calls.values())
