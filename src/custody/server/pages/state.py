"""Health: what is recorded and whether it is whole, what could not be recorded, which agents are, which jobs wait."""

from custody.intake.install.agent_status import agents_heard
from custody.server.page_data.health import read_health_page, verified_now
from custody.server.pages.attempt import attempt_question
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace

FINDINGS_SHOWN = 100
BADGES = {"well": "pass", "note": "review", "ill": "block"}
SAID = {"well": "well", "note": "to know", "ill": "wrong"}


def state(workspace: Workspace, _asked: PageParams) -> PageView:
    """Everything at a glance; verifying is asked for."""
    fields = {"seen": read_health_page(workspace), "badges": BADGES, "said": SAID}
    return PageView(title="Health", template="state.html", fields=fields)


def state_verify(workspace: Workspace, _asked: PageParams) -> PageView:
    """What verifying finds."""
    found = attempt_question(lambda: verified_now(workspace))
    return PageView(title="Verified", template="state_verify.html", fields={"found": found, "shown": FINDINGS_SHOWN})


def state_agents(workspace: Workspace, _asked: PageParams) -> PageView:
    """When each agent was last heard, and what lies on disk of it: this looks at every observation once."""
    return PageView(title="Agents", template="state_agents.html", fields={"agents": agents_heard(workspace)})


PAGES = (
    Page(name="state", label="Health", view=state),
    Page(name="state-agents", view=state_agents, part=True, long=True),
    Page(name="state-verify", view=state_verify, part=True, long=True),
)
