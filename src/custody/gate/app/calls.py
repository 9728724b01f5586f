"""What agents called before they changed risky files, and how usual that is, for the gate."""

from collections.abc import Mapping, Sequence

from custody.attribution import Grade
from custody.attribution.wire.blame import Attribution
from custody.config import EffectiveRules
from custody.core.glob import matches
from custody.core.ids import CallId
from custody.gate.model import CallsBeforeEdit, MissingEvidence
from custody.gate.rules import GateRules
from custody.graph.app.call_chances import CallChances
from custody.store import Store

READ_IT = "have a person read these files"
EditAttributions = Mapping[str, Sequence[Attribution]]
"""By path, who wrote the added lines."""


def befores_of(
    store: Store, edited: EditAttributions, effective: EffectiveRules
) -> tuple[CallsBeforeEdit, ...] | MissingEvidence:
    """What was called before each risky file of a change was changed; each session and file once."""
    rules = effective.of(GateRules)
    risky = {
        path: attributions
        for path, attributions in edited.items()
        if any(matches(risky_path, path) for risky_path in rules.risky_paths)
    }
    written = [
        (path, attribution)
        for path, attributions in risky.items()
        for attribution in attributions
        if attribution.kind in ("agent", "mixed")
    ]
    asked: dict[tuple[str, str, str, bool], None] = {}
    for path, attribution in written:
        if attribution.session_id is None or attribution.tool_call_id is None:
            return MissingEvidence(f"nothing shows by which call '{path}' was changed", READ_IT)
        asked[path, attribution.session_id, attribution.tool_call_id, attribution.grade == Grade.CLAIMED.value] = None
    if not asked:
        return ()
    chances = CallChances(store, {session for _, session, _, _ in asked})
    if chances.known_calls < rules.calls_learnt_min:
        least = f"gate.calls_learnt_min is {rules.calls_learnt_min}"
        return MissingEvidence(f"only {chances.known_calls} call(s) of other sessions are known, and {least}", READ_IT)
    befores: dict[tuple[str, str], CallsBeforeEdit] = {}
    for path, session, call, is_claimed in asked:
        run = chances.find_run_before(session, CallId(call), rules.calls_before, is_claimed=is_claimed)
        if run is None:
            return MissingEvidence(f"the call by which '{path}' was changed is not among those of its session", READ_IT)
        if (path, session) not in befores or run.chance < befores[path, session].chance:
            befores[path, session] = CallsBeforeEdit(path, session, run.chance, run.names)
    return tuple(befores.values())
