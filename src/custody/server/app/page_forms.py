"""What the forms of pages record: decisions about a change, and hunks that were read.

Both go through the functions of the commands ``custody trust record`` and ``custody read``.
"""

from typing import Literal, get_args

from msgspec import Struct

from custody.core.errors import InputError
from custody.people.reads import ReadRequest, record_reads
from custody.people.wire import ReadReport
from custody.server.app.questions import require_project_repository
from custody.trust.app.outcomes import OutcomeRequest, record_outcome
from custody.trust.wire import OutcomeWord, TrustOutcomeReport
from custody.workspace.workspace import Workspace

DecisionName = Literal["accepted", "modified", "rejected"]
DECISION_NAMES: tuple[DecisionName, ...] = get_args(DecisionName)
OUTCOMES: dict[DecisionName, OutcomeWord] = {"accepted": "merged", "modified": "changed", "rejected": "closed"}
"""The outcome that records each decision about a whole change."""
REASON_CHARACTERS_MAX = 1000


class PageDecision(Struct, frozen=True, kw_only=True):
    """A decision from a page about the lines of one agent in ``BASE..HEAD``."""

    change: str
    agent: str
    decision: str
    reason: str
    actor: str


def record_page_decision(workspace: Workspace, sent: PageDecision) -> TrustOutcomeReport:
    """Record a decision; the same one again changes nothing, and another one corrects it."""
    here = require_project_repository(workspace)
    decision = next((name for name in DECISION_NAMES if name == sent.decision), None)
    if decision is None:
        raise InputError("choose accepted, modified or rejected", hint="go back and choose one")
    if ".." not in sent.change:
        raise InputError("a decision needs a change", hint="open the page of a change")
    reason = " ".join(sent.reason.split())
    if not reason and decision != "accepted":
        raise InputError(f"'{decision}' needs a reason", hint="go back and write one")
    if len(reason) > REASON_CHARACTERS_MAX:
        raise InputError(
            f"the reason has {len(reason):,} characters", hint=f"write at most {REASON_CHARACTERS_MAX:,} characters"
        )
    request = OutcomeRequest(
        change=sent.change,
        outcome=OUTCOMES[decision],
        agent=sent.agent,
        actor=sent.actor,
        reason=reason or f"{decision} on the review page",
    )
    report = record_outcome(here, request)
    if not report.agents:
        raise InputError(f"no lines of '{sent.agent}' in this change", hint="'custody blame' shows who wrote them")
    return report


def record_page_read(workspace: Workspace, change: str, hunks: list[str], paths: list[str], actor: str) -> ReadReport:
    """Record that the reader of a page read hunks of a change."""
    request = ReadRequest(change=change, hunks=hunks, paths=paths, person=actor, via="page")
    return record_reads(require_project_repository(workspace), request)
