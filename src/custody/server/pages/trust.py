"""Trust: every agent with where it stands, and one with the account of its score."""

from collections.abc import Sequence

from markupsafe import Markup

from custody.server.page_data.trust import agent_account, agent_chance, agent_recent, read_agent_page
from custody.server.pages.attempt import attempt_question
from custody.server.pages.page import Page, PageParams, PageView
from custody.trust.app.account import agents_listed
from custody.workspace.workspace import Workspace

# A small curve that stands in a line of a table: no axis, no script; what it shows is said in words.


WIDTH, HEIGHT = 120, 28
EDGE = 3


def spark(values: Sequence[float], words: str) -> Markup:
    """Values from 0 to 1, from left to right, over a line that marks the middle."""
    step = (WIDTH - 2 * EDGE) / max(len(values) - 1, 1)
    at = [(EDGE + n * step, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value) for n, value in enumerate(values)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    last = Markup('<circle class="s0" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(*at[-1]) if at else Markup("")
    head = Markup('<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, words)
    middle = Markup('<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/>').format(WIDTH, HEIGHT / 2, HEIGHT / 2)
    return head + middle + Markup('<polyline class="line s0" points="{}"/>').format(points) + last + Markup("</svg>")


AGENTS_SHOWN = 60
STEPS_SHOWN = 50
PLACE_MAX = 999_999_999
NAMED = "the agent's name"
AT = "a past moment, such as 2026-01-31T12:00:00Z; without it, now"


def trust(workspace: Workspace, asked: PageParams) -> PageView:
    """Every agent about which anything was decided."""
    found = agents_listed(workspace, after=asked.text("after"), limit=AGENTS_SHOWN)
    return PageView(title="Trust", template="trust.html", fields={"found": found, "spark": spark})


def agent_curve(workspace: Workspace, asked: PageParams) -> PageView:
    """The small curve of one agent."""
    name = asked.needed("name")
    recent = attempt_question(lambda: agent_recent(workspace, name))
    return PageView(title="Curve", template="agent_curve.html", fields={"recent": recent, "spark": spark})


def agent(workspace: Workspace, asked: PageParams) -> PageView:
    """One agent: where it stands, what it may land, and how it came there."""
    name, at = asked.needed("name"), _moment(asked)
    seen = read_agent_page(workspace, name, at=at)
    fields = {"name": name, "field": _exactly(name), "past": at, "seen": seen, "before": asked.text("before")}
    return PageView(title=name, template="agent.html", fields=fields)


def account(workspace: Workspace, asked: PageParams) -> PageView:
    """The account of an agent's score, which takes its time where much was decided."""
    name, at = asked.needed("name"), _moment(asked)
    before = asked.number("before", 0, least=0, most=PLACE_MAX) or None
    found = attempt_question(lambda: agent_account(workspace, name, at=at, before=before, limit=STEPS_SHOWN))
    fields = {"name": name, "past": at, "before": before, "found": found}
    return PageView(title="Account", template="agent_account.html", fields=fields)


def chance(workspace: Workspace, asked: PageParams) -> PageView:
    """The chance of an agent's next change, from everything that was decided about everybody."""
    name, at = asked.needed("name"), _moment(asked)
    found = attempt_question(lambda: agent_chance(workspace, asked.memory.estimators, name, at=at))
    return PageView(title="Chance", template="agent_chance.html", fields={"found": found})


def _exactly(text: str) -> Markup:
    """A text for the field of a form, as it is: each sign by its number, so that nothing in it acts."""
    return Markup("".join(f"&#{ord(sign)};" for sign in text))


def _moment(asked: PageParams) -> str | None:
    """The past moment that is asked about; a browser's field for a moment says neither seconds nor zone."""
    text = asked.text("at")
    if text is None or text.endswith("Z") or len(text) not in (len("2026-01-31"), len("2026-01-31T12:00")):
        return text
    return f"{text}T00:00:00Z" if "T" not in text else f"{text}:00Z"


PAGES = (
    Page(name="trust", label="Trust", view=trust, takes={"after": "list agents whose names follow this one"}),
    Page(
        name="agent",
        section="trust",
        view=agent,
        takes={"name": NAMED, "at": AT, "before": "list records before this place"},
    ),
    Page(name="agent-curve", view=agent_curve, takes={"name": NAMED}, part=True, long=True),
    Page(
        name="agent-account",
        view=account,
        takes={"name": NAMED, "at": AT, "before": "list records before this place"},
        part=True,
        long=True,
    ),
    Page(name="agent-chance", view=chance, takes={"name": NAMED, "at": AT}, part=True, long=True),
)
