"""Trust: the scores of all agents, and one agent with the history of its score."""

from collections.abc import Sequence

from markupsafe import Markup

from custody.server.page_data.trust import (
    estimate_acceptance_for_page,
    list_agent_page_scores,
    read_agent_account_page,
    read_agent_page,
)
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.server.pages.phrases import escape_form_value
from custody.trust.app.account import list_trust_agents
from custody.workspace.workspace import Workspace

WIDTH, HEIGHT = 120, 28
EDGE = 3


def render_sparkline_svg(values: Sequence[float], label: str) -> Markup:
    """Return values from 0 to 1 as a small curve over a middle line; ``label`` describes it in words."""
    step = (WIDTH - 2 * EDGE) / max(len(values) - 1, 1)
    at = [(EDGE + n * step, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value) for n, value in enumerate(values)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    last = Markup('<circle class="s0" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(*at[-1]) if at else Markup("")
    head = Markup('<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, label)
    middle = Markup('<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/>').format(WIDTH, HEIGHT / 2, HEIGHT / 2)
    return head + middle + Markup('<polyline class="line s0" points="{}"/>').format(points) + last + Markup("</svg>")


AGENTS_SHOWN = 60
STEPS_SHOWN = 50
PLACE_MAX = 999_999_999
NAME = "the name of the agent"
AT = "a past time, such as 2026-01-31T12:00:00Z; now by default"
BEFORE = "list records before this one"


def view_trust(workspace: Workspace, params: PageParams) -> PageView:
    """Show every agent with reviews."""
    scores = list_trust_agents(workspace, after=params.text("after"), limit=AGENTS_SHOWN)
    return PageView(title="Trust", template="trust.html", fields={"scores": scores, "spark": render_sparkline_svg})


def view_agent_curve(workspace: Workspace, params: PageParams) -> PageView:
    """Show the small curve of one agent."""
    name = params.require_text("name")
    recent = attempt_page_part(lambda: list_agent_page_scores(workspace, name))
    return PageView(
        title="Curve", template="agent_curve.html", fields={"recent": recent, "spark": render_sparkline_svg}
    )


def view_agent(workspace: Workspace, params: PageParams) -> PageView:
    """Show one agent: its score, what it may merge without review, and its reviews."""
    name, at = params.require_text("name"), _read_past_timestamp(params)
    agent = read_agent_page(workspace, name, at=at)
    fields = {
        "name": name,
        "field": escape_form_value(name),
        "past": at,
        "agent": agent,
        "before": params.text("before"),
    }
    return PageView(title=name, template="agent.html", fields=fields)


def view_agent_account(workspace: Workspace, params: PageParams) -> PageView:
    """Show the history of an agent's score, which takes long with many reviews."""
    name, at = params.require_text("name"), _read_past_timestamp(params)
    before = params.number("before", 0, least=0, most=PLACE_MAX) or None
    account = attempt_page_part(
        lambda: read_agent_account_page(workspace, name, at=at, before=before, limit=STEPS_SHOWN)
    )
    fields = {"name": name, "past": at, "before": before, "account": account}
    return PageView(title="History of the score", template="agent_account.html", fields=fields)


def view_acceptance_probability(workspace: Workspace, params: PageParams) -> PageView:
    """Show the acceptance probability of an agent's next change, from the reviews of all agents."""
    name, at = params.require_text("name"), _read_past_timestamp(params)
    estimate = attempt_page_part(lambda: estimate_acceptance_for_page(workspace, params.memory.estimators, name, at=at))
    return PageView(title="Acceptance probability", template="agent_chance.html", fields={"estimate": estimate})


def _read_past_timestamp(params: PageParams) -> str | None:
    """Return the past time; a browser's date field sends neither seconds nor zone."""
    text = params.text("at")
    if text is None or text.endswith("Z") or len(text) not in (len("2026-01-31"), len("2026-01-31T12:00")):
        return text
    return f"{text}T00:00:00Z" if "T" not in text else f"{text}:00Z"


PAGES = (
    Page(name="trust", label="Agents", view=view_trust, takes={"after": "list the agents after this name"}),
    Page(
        name="agent",
        section="trust",
        view=view_agent,
        takes={"name": NAME, "at": AT, "before": BEFORE},
    ),
    Page(name="agent-curve", view=view_agent_curve, takes={"name": NAME}, part=True, long=True),
    Page(
        name="agent-account",
        view=view_agent_account,
        takes={"name": NAME, "at": AT, "before": BEFORE},
        part=True,
        long=True,
    ),
    Page(name="agent-chance", view=view_acceptance_probability, takes={"name": NAME, "at": AT}, part=True, long=True),
)
