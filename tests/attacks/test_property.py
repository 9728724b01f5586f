"""Records that one account can write never make a verdict milder under a team policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.attacks.authorship import NAMES, propose_unseen
from tests.attacks.decisions import SPELLINGS
from tests.attacks.ground import AGENTS_OWN, APP, GOOD, OLD, ROBOT, Ground, a_decision, an_event_of, put, signed
from tests.attacks.model import Setting
from tests.attacks.target import Target

EXAMPLES_MAX = 20
UNSEEN = "unseen"
BRANCHES = ("topic", "trusted", "large-0", UNSEEN)
AGENTS = st.one_of(st.sampled_from((ROBOT, GOOD)), st.sampled_from(("newcomer", *NAMES.values())))
ACTORS = st.one_of(st.sampled_from(("ana", "github:ana", "Whoever")), st.sampled_from(tuple(SPELLINGS.values())))


def make_edit(target: Target, draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw an edit by any agent, perhaps changed by a person."""
    judged = target.home.git("cat-file", "blob", f"{target.change.partition('..')[2]}:{APP}").decode()
    after = draw(st.sampled_from((judged, judged, OLD + judged[-400:])))
    proposed = draw(st.sampled_from(("", OLD, after, None)))
    agent = draw(AGENTS)
    facts = {"agent": agent, "session": draw(st.sampled_from((f"s-{agent}", f"s-{GOOD}", "s-new"))), "path": APP}
    more = {} if proposed is None else {"proposed": proposed}
    return an_event_of("edit", before=OLD, after=after, head=target.ground.base, **facts, **more)


def make_decision(target: Target, draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw a decision in favor of any agent, about any commit, in anybody's name."""
    commits = (None, "f" * 40, target.topic, target.ground.person, *target.ground.robots, *target.ground.good)
    facts = {
        "actor": draw(ACTORS),
        "decision": draw(st.sampled_from(("accepted", "accepted", "modified"))),
        "changed_lines": draw(st.sampled_from((1, 60, 5000))),
        "outcome": draw(st.sampled_from((None, "merged"))),
        "overrides": draw(st.sampled_from((None, "good-0", "no-0", target.topic))),
    }
    given_facts = {name: value for name, value in facts.items() if value is not None}
    event = a_decision(draw(AGENTS), draw(st.sampled_from(commits)), **given_facts)
    vouched = draw(st.sampled_from((None, "own key", "host")))
    if vouched == "own key":
        return signed(event, AGENTS_OWN, "ana")
    return event | {"witness": {"kind": "host", "by": "github:ana"}} if vouched == "host" else event


def make_link(target: Target, draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw a link from a session to the judged commit."""
    agent = draw(AGENTS)
    origin = draw(st.sampled_from(("hook", "git_operation", "content", "pull_request")))
    commit = target.change.partition("..")[2]
    return an_event_of("link", agent=agent, session=f"s-{agent}", commit=commit, origin=origin)


def make_session(_target: Target, draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw a session with a model and an operator."""
    agent = draw(AGENTS)
    model, operator = draw(st.sampled_from(("m-1", "m-2"))), draw(ACTORS)
    return an_event_of("session", agent=agent, session=f"s-{agent}", model=model, operator=operator)


MAKERS = (make_edit, make_decision, make_link, make_session)


@settings(
    max_examples=EXAMPLES_MAX,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking would judge hundreds of repositories
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_no_set_of_self_reported_records_makes_a_verdict_milder(
    ground_of: Callable[[Setting], Ground], tmp_path_factory: Any, data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("drawn")
    target = Target(ground_of(Setting.TEAM), folder)
    branch = data.draw(st.sampled_from(BRANCHES), "branch")
    propose_unseen(target) if branch == UNSEEN else target.judge_branch(branch)
    rejected = data.draw(
        st.lists(st.sampled_from([*target.ground.good, *target.ground.robots]), max_size=3), "rejected"
    )
    for number, commit in enumerate(rejected):
        agent = GOOD if commit in target.ground.good else ROBOT
        put(target.home.path, a_decision(agent, commit, id=f"no-{number}", decision="rejected", actor="ana"))
    before = target.judge()
    makers = data.draw(st.lists(st.sampled_from(MAKERS), min_size=2, max_size=8), "makers")
    copies = data.draw(st.sampled_from((1, 12)), "copies")
    for number, make in enumerate(makers):
        event = make(target, data.draw)
        put(target.home.path, *(event | {"id": f"drawn-{number}-{copy}"} for copy in range(copies)))
    after = target.judge()
    assert before.level != "error", f"the gate could not judge: {before}"
    assert not after.list_lifts(before), "\n".join(after.list_lifts(before))
