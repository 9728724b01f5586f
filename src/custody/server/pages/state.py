"""Health: checks, chains, gaps, agents and jobs."""

from custody.intake.install.agent_status import report_workspace_agents
from custody.server.page_data.health import read_health_page, verify_store_for_page
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.workspace.workspace import Workspace

FINDINGS_SHOWN = 100
BADGES = {"well": "pass", "note": "review", "ill": "block"}
STATE_NAMES = {"well": "ok", "note": "warning", "ill": "problem"}


def view_health(workspace: Workspace, _params: PageParams) -> PageView:
    """Show everything at a glance; verifying is a separate part."""
    fields = {"health": read_health_page(workspace), "badges": BADGES, "state_names": STATE_NAMES}
    return PageView(title="Health", template="state.html", fields=fields)


def view_verification(workspace: Workspace, _params: PageParams) -> PageView:
    """Show the result of verifying the store."""
    fields = {"verification": attempt_page_part(lambda: verify_store_for_page(workspace)), "shown": FINDINGS_SHOWN}
    return PageView(title="Verification", template="state_verify.html", fields=fields)


def view_agent_health(workspace: Workspace, _params: PageParams) -> PageView:
    """Show the last session of each agent and sessions to import; this reads every observation once."""
    return PageView(title="Agents", template="state_agents.html", fields={"agents": report_workspace_agents(workspace)})


PAGES = (
    Page(name="state", label="Health", view=view_health),
    Page(name="state-agents", view=view_agent_health, part=True, long=True),
    Page(name="state-verify", view=view_verification, part=True, long=True),
)
