"""What became of the change that a session wrote is told with the session, and changes nothing that was learnt."""

from pathlib import Path

from custody.core.wire.time import text_from
from custody.graph.app.questions import ViewOptions, graph_show
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from tests.builders.trust import NS, TrustWorld


def test_a_session_tells_what_became_of_its_change_and_the_last_word_stands(tmp_path: Path) -> None:
    world = TrustWorld(tmp_path / "repository")
    session = "s-robot-None-None"
    for place in range(2):
        at = text_from((world.at - 120 + place) * NS)
        world.tell("call", agent="robot", session=session, name=f"Tool{place}", at=at, ended_at=at)
    change = world.agent_wrote(12)
    before = graph_show(world.workspace, ViewOptions())
    assert graph_show(world.workspace, ViewOptions(session=session)).outcomes == []
    record_outcome(world.workspace, OutcomeRequest(change=change, outcome="merged", actor="ana"))
    world.later(hours=1)
    record_outcome(world.workspace, OutcomeRequest(change=change, outcome="reverted", actor="ana", reason="slow"))
    told = graph_show(world.workspace, ViewOptions(session=session)).outcomes
    assert [(one.session, one.agent, one.told, one.commit) for one in told] == [
        (session, "robot", "merged", world.head),
        (session, "robot", "reverted", world.head),
    ]
    after = graph_show(world.workspace, ViewOptions())
    assert (after.edges, after.nodes, after.outcomes) == (before.edges, before.nodes, [])
    world.tell("call", agent="robot", session="another", name="Tool0", at=text_from((world.at - 60) * NS))
    assert graph_show(world.workspace, ViewOptions(session="another")).outcomes == []
