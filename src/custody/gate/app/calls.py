"""What agents called before they changed risky files, and how usual that is, for the gate."""

from collections.abc import Mapping, Sequence

from custody.attribution import Grade
from custody.attribution.app.answers import LineAnswer
from custody.config import EffectiveRules
from custody.core.ids import CallId, SessionId
from custody.core.paths import matches
from custody.gate.model import CallsBeforeEdit, MissingEvidence
from custody.gate.rules import GateRules
from custody.graph.app.call_chances import CallChances
from custody.store import Store

READ_IT = "have a person read these files"
CALLS_BEFORE = 5
"""Calls before a change that are judged: with more, the mean hides a single unusual call."""
EditAnswers = Mapping[str, Sequence[LineAnswer]]
"""By path, who wrote the added lines."""


def befores_of(
    store: Store, edited: EditAnswers, effective: EffectiveRules
) -> tuple[CallsBeforeEdit, ...] | MissingEvidence:
    """What was called before each risky file of a change was changed; each session and file once."""
    rules = effective.of(GateRules)
    risky = [path for path in edited if any(matches(pattern, path) for pattern in rules.risky_paths)]
    written = [(path, answer) for path in risky for answer in edited[path] if answer.owner.is_agent]
    asked: dict[tuple[str, SessionId, str, bool], None] = {}
    for path, answer in written:
        if answer.trace is None or answer.call is None:
            return MissingEvidence(f"nothing shows by which call '{path}' was changed", READ_IT)
        asked[path, answer.trace.session, answer.call, answer.grade is Grade.CLAIMED] = None
    if not asked:
        return ()
    chances = CallChances(store, {session for _, session, _, _ in asked})
    if chances.known_calls < rules.calls_learnt_min:
        least = f"gate.calls_learnt_min is {rules.calls_learnt_min}"
        return MissingEvidence(f"only {chances.known_calls} call(s) of other sessions are known, and {least}", READ_IT)
    befores: dict[tuple[str, str], CallsBeforeEdit] = {}
    for path, session, call, is_claimed in asked:
        run = chances.find_run_before(session, CallId(call), CALLS_BEFORE, is_claimed=is_claimed)
        if run is None:
            return MissingEvidence(f"the call by which '{path}' was changed is not among those of its session", READ_IT)
        if (path, session) not in befores or run.chance < befores[path, session].chance:
            befores[path, session] = CallsBeforeEdit(path, session, run.chance, run.names)
    return tuple(befores.values())
