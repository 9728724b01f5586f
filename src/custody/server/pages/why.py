"""Why: the chain behind one line, drawn from the line back to what was asked and who stands behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custody.attribution.wire import TIER_WORDS
from custody.core.errors import InputError
from custody.server.page_data.files import has_disk, place_explained
from custody.server.pages.blame import LINE_MAX, locate, nowhere, place_of
from custody.server.pages.blame_lines import CLASSES
from custody.server.pages.page import Page, PageParams, PageView
from custody.why.report import AnyLink, EndLink, LineLink, SessionLink, WhyReport
from custody.why.why import WHOLE
from custody.workspace.workspace import Workspace, has_repository

TAKES = {
    "file": "The file, from the repository's root.",
    "line": "The line's number.",
    "rev": "As of which commit; HEAD where it is not said.",
    "disk": "With 1: the file as it is on disk.",
}
LABELS = {
    "line": "The line",
    "commit": "Commit",
    "call": "Call of a tool",
    "subagent": "Subagent",
    "prompt": "What was asked",
    "sources": "Sources read before",
    "session": "Session",
    "standing": "Standing of the agent",
    "change": "The change",
    "end": "Missing",
}
HANGING = frozenset(("sources", "standing", "change"))
"""Links that are no part of the line's own path: they hang beside it."""


@dataclass(frozen=True, slots=True)
class ChainBox:
    """One link as it is drawn: what kind it is, its name in the picture, and whether it hangs beside the path."""

    number: int
    kind: str
    label: str
    link: AnyLink
    hangs: bool


def why(workspace: Workspace, asked: PageParams) -> PageView:
    """The chain of a line; without one, a form that asks for it."""
    if not has_repository(workspace):
        return nowhere(workspace, "Why")
    file = asked.text("file")
    if file is None or asked.text("line") is None:
        return _asking(workspace, file, asked.text("rev"))
    line, place = asked.number("line", 1, least=1, most=LINE_MAX), place_of(asked, file)
    try:
        report = place_explained(workspace, place, line, note=asked.note)
    except InputError as error:
        return _refused(workspace, asked, file, error)
    fields = {
        **locate(workspace, asked, file),
        "report": report,
        "steps": steps(report.chain),
        "session": next((link for link in report.chain if isinstance(link, SessionLink)), None),
        "whole": report.ends == WHOLE,
        "may_read": asked.note is not None,
        "classes": CLASSES,
        "tiers": TIER_WORDS,
        "summary": _summary(report),
    }
    return PageView(title=f"{report.path}:{report.line}", template="why.html", fields=fields)


def steps(chain: Sequence[AnyLink]) -> list[ChainBox]:
    """The links in order; that nothing is missing is said elsewhere."""
    found: list[ChainBox] = []
    for link in chain:
        if isinstance(link, EndLink) and link.why == WHOLE:
            continue
        kind = str(link.__struct_config__.tag)
        found.append(ChainBox(len(found) + 1, kind, LABELS[kind], link, kind in HANGING))
    return found


def _summary(report: WhyReport) -> str:
    """Whose the line is, in one sentence."""
    (line,) = (link for link in report.chain if isinstance(link, LineLink))
    attribution = line.attribution
    if attribution.kind == "none":
        return "Nothing shows who wrote this line, which never means that a person did."
    if attribution.kind == "person":
        return f"A person wrote this line, who changed what {attribution.agent} had written."
    whose = (
        f"{attribution.agent} wrote"
        if attribution.kind == "agent"
        else f"{attribution.share:.0%} of this line is what {attribution.agent} wrote"
    )
    rest = " this line" if attribution.kind == "agent" else ""
    sure = "" if attribution.tier is None else f": {TIER_WORDS[attribution.tier - 1]}"
    return f"{whose}{rest}{sure}."


def _asking(workspace: Workspace, file: str | None, rev: str | None) -> PageView:
    fields: dict[str, Any] = {"file": file, "rev": rev, "disk": None, "crumbs": [], "has_disk": has_disk(workspace)}
    return PageView(title="Why", template="why_form.html", fields=fields)


def _refused(workspace: Workspace, asked: PageParams, file: str, error: InputError) -> PageView:
    fields = {**locate(workspace, asked, file), "problem": error.message, "remedy": error.hint}
    return PageView(title=f"{file}:{asked.text('line')}", template="blame_none.html", fields=fields, nothing=True)


PAGES = (Page(name="why", label="Why", view=why, takes=TAKES, long=True),)
