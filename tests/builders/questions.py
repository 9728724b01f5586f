"""A project with an answer to every query: a repository with changes, or a team's database without a repository."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from custody.cite.app.registry import cite_add
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.server.app.intake import Intake, commit_request_arrivals
from custody.workspace.workspace import Workspace
from tests.builders.events import an_event
from tests.builders.lines import NS, an_edit_event, moment
from tests.builders.repo import NOON, Built, a_repository

NOW_NS = (NOON + 20_000) * NS
SECRET = "please hide the zebra"
"""The prompt; shown only to tokens with its scope."""
MARK = "gnu"
"""Occurs in names and titles of this project only."""

APP = b"".join(b"def step_%d(state, options):\n    return state.advance(%d, options)\n\n\n" % (n, n) for n in range(12))
RETRY = APP.replace(
    b"return state.advance(3, options)",
    b"for attempt in range(options.retry_limit):\n        state = state.advance(3, options)\n    return state",
)
WITH_LOG = RETRY.replace(b"    return state\n", b"    options.logger.info('gave up')\n    return state\n", 1)
LINE = RETRY.decode().splitlines().index("        state = state.advance(3, options)") + 1
"""A line that the agent wrote."""
REPORT = "# Report\n\nIt is so [1]. It is not [7].\n\n## Sources\n\n[1] A page: https://example.org/a\n"


def what_happened() -> list[dict[str, Any]]:
    """Return the events of two agents, one with a slash in its name."""
    spans = [
        an_event("span", id=f"x:{n}:whole", at=moment(n), execution=f"run-{MARK}", span=str(n), phase="whole")
        for n in range(3)
    ]
    events = [
        an_event("session", session=f"s1-{MARK}", model="maker/model-1", at=moment(1)),
        an_event("prompt", id="p1", session=f"s1-{MARK}", text=SECRET, at=moment(2)),
        *(
            an_event("call", id=f"c{n}", session=f"s1-{MARK}", name=("Read", "Edit")[n % 2], at=moment(n))
            for n in (3, 4)
        ),
        an_event("source_read", id="r1", session=f"s1-{MARK}", title=f"A {MARK} page", at=moment(4)),
        an_event("source", id="q2", url=f"https://example.org/{MARK}", title=f"Another {MARK}", at=moment(5)),
        *(
            an_event("decision", id=f"d{n}", changed_lines=9, reason=f"fine {MARK}", at=moment(50 + n))
            for n in range(3)
        ),
        an_event("decision", id="slash", agent=f"{MARK}/robot", at=moment(60)),
    ]
    made: list[dict[str, Any]] = [json.loads(event) for event in (*events, *spans)]
    return [
        one | {"ended_at": one["at"], "status": "ok", "parent": None} if one["kind"] == "span" else one for one in made
    ]


def told(workspace: Workspace, events: list[dict[str, Any]]) -> Workspace:
    """Return the workspace with these events in its store, and a source with a passage that was read."""
    intake = Intake(workspace)
    arrivals = [arrival for event in events for arrival in intake.event(event)]  # type: ignore[union-attr]
    with workspace.writing() as store:
        commit_request_arrivals(store, arrivals)
    cite_add(workspace, {"url": "https://example.org/c", "title": f"A third {MARK}"}, who="ana")
    return workspace


def a_project(folder: Path) -> tuple[Workspace, Built]:
    """Return a repository with a line by an agent, similar proposals, an index, and a fixed clock."""
    built = a_repository(folder)
    root = built.commit({b"src/app.py": APP}, at=NOON - 100)
    edit = an_edit_event("src/app.py", APP.decode(), RETRY.decode(), at=4, head=root, session=f"s1-{MARK}", call="c4")
    built.commit({b"src/app.py": RETRY}, root, message=f"Retry {MARK}".encode(), at=NOON + 60)
    built.commit({b"src/app.py": RETRY}, root, message=b"Retry", at=NOON + 70, ref="refs/pull/1/head")
    built.commit({b"src/app.py": WITH_LOG}, root, message=b"Retry, told", at=NOON + 80, ref="refs/pull/2/head")
    built.checkout()
    workspace = a_still(Workspace(folder))
    told(workspace, [*what_happened(), json.loads(edit)])
    dupes_index(workspace, IndexRequest(workers=1))
    return workspace, built


def a_still(workspace: Workspace) -> Workspace:
    """Return the same workspace with a fixed clock, so that two answers are equal."""
    return replace(workspace, now_ns=lambda: NOW_NS)
