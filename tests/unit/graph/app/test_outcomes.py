"""The outcome of a session's change is shown with the session, and does not affect the learned graph."""

from pathlib import Path

from custody.core.wire.time import format_timestamp
from custody.graph.app.questions import ViewOptions, show_call_graph
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from tests.builders.trust import NS, TrustWorld


def test_a_session_shows_the_outcomes_of_its_change_and_the_last_is_current(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repository")
    session = "s-claude-code-None-None"
    for place in range(2):
        at = format_timestamp((world.at - 120 + place) * NS)
        world.tell("call", agent="claude-code", session=session, name=f"Tool{place}", at=at, ended_at=at)
    change = world.agent_wrote(12)
    before = show_call_graph(world.workspace, ViewOptions())
    assert show_call_graph(world.workspace, ViewOptions(session=session)).outcomes == []
    record_outcome(world.workspace, OutcomeRequest(change=change, outcome="merged", actor="ana"))
    world.later(hours=1)
    record_outcome(world.workspace, OutcomeRequest(change=change, outcome="reverted", actor="ana", reason="slow"))
    outcomes = show_call_graph(world.workspace, ViewOptions(session=session)).outcomes
    assert [(outcome.session, outcome.agent, outcome.told, outcome.commit) for outcome in outcomes] == [
        (session, "claude-code", "merged", world.head),
        (session, "claude-code", "reverted", world.head),
    ]
    after = show_call_graph(world.workspace, ViewOptions())
    assert (after.edges, after.nodes, after.outcomes) == (before.edges, before.nodes, [])
    world.tell("call", agent="claude-code", session="another", name="Tool0", at=format_timestamp((world.at - 60) * NS))
    assert show_call_graph(world.workspace, ViewOptions(session="another")).outcomes == []
