"""Why: the chain from one line back to the prompt, with the agent's trust."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from custody.core.errors import InputError
from custody.runs.cli import describe_tests
from custody.server.page_data.files import can_show_disk_page, explain_line_for_page, read_context_lines
from custody.server.pages.blame import LINE_MAX, make_file_link_fields, read_file_place, view_missing_repository
from custody.server.pages.blame_lines import CLASSES
from custody.server.pages.code import render_code_line
from custody.server.pages.page import Page, PageParams, PageView
from custody.server.pages.phrases import format_agent_title
from custody.why.report import AnyLink, EndLink, LineLink, SessionLink, WhyReport
from custody.why.why import WHOLE
from custody.workspace.workspace import Workspace, has_workspace_repository

TAKES = {
    "file": "The file, relative to the repository root.",
    "line": "The line number.",
    "rev": "The revision; HEAD by default.",
    "disk": "1 for the file on disk.",
}
STYLES = ("diff.css", "why.css")
LABELS = {
    "line": "The line",
    "commit": "Committed",
    "call": "Wrote",
    "subagent": "Subagent",
    "prompt": "Prompt",
    "sources": "Read",
    "tests": "Tested",
    "session": "Session",
    "standing": "Agent",
    "change": "Change",
    "end": "Missing",
}
SIDE = ("session", "standing", "change")
"""Links beside the chain."""
ORDER = ("line", "prompt", "sources", "call", "subagent", "tests", "commit", "end", *SIDE)
"""The links as a person tells them: what was asked, read, written and committed."""


class ChainBox(Struct, frozen=True):
    """One link as it is drawn, with its label."""

    number: int
    kind: str
    label: str
    link: AnyLink


def view_why(workspace: Workspace, params: PageParams) -> PageView:
    """Show the chain of a line; without a line, a form."""
    if not has_workspace_repository(workspace):
        return view_missing_repository(workspace, "Why")
    file = params.text("file")
    if file is None or params.text("line") is None:
        return _view_why_form(workspace, file, params.text("rev"))
    line, place = params.number("line", 1, least=1, most=LINE_MAX), read_file_place(params, file)
    try:
        report = explain_line_for_page(workspace, place, line, note=params.note)
    except InputError as error:
        return _view_why_problem(workspace, params, file, error)
    fields = {
        **make_file_link_fields(workspace, params, file),
        "report": report,
        "steps": make_chain_boxes(report.chain),
        "describe_tests": describe_tests,
        "session": next((link for link in report.chain if isinstance(link, SessionLink)), None),
        "is_complete": report.ends == WHOLE,
        "may_read": params.note is not None,
        "classes": CLASSES,
        "summary": _summarize_why_page(report),
        "side": SIDE,
        "context": [
            (number, render_code_line(text)) for number, text in read_context_lines(workspace, place, report.path, line)
        ],
    }
    return PageView(
        title=f"{report.path}:{report.line}", template="why.html", fields=fields, scripts=("why.js",), styles=STYLES
    )


def view_why_card(workspace: Workspace, params: PageParams) -> PageView:
    """Show what was asked, read and tested before a line was written: a part of the card of a line."""
    if not has_workspace_repository(workspace):
        return view_missing_repository(workspace, "Why")
    file = params.require_text("file")
    line = params.number("line", 1, least=1, most=LINE_MAX)
    report = explain_line_for_page(workspace, read_file_place(params, file), line, note=params.note)
    links = {str(link.__struct_config__.tag): link for link in report.chain}
    fields = {"links": links, "describe_tests": describe_tests, "may_read": params.note is not None}
    return PageView(title="Why", template="why_card.html", fields=fields)


def make_chain_boxes(chain: Sequence[AnyLink]) -> list[ChainBox]:
    """Return the links in the order of ``ORDER``, without the one that only says that the chain is complete."""
    boxes: list[ChainBox] = []
    for link in chain:
        if isinstance(link, EndLink) and link.why == WHOLE:
            continue
        kind = str(link.__struct_config__.tag)
        boxes.append(ChainBox(len(boxes) + 1, kind, LABELS[kind], link))
    return sorted(boxes, key=lambda box: (ORDER.index(box.kind), box.number))


def _summarize_why_page(report: WhyReport) -> str:
    """Return who wrote the line, in one sentence."""
    (line,) = (link for link in report.chain if isinstance(link, LineLink))
    attribution = line.attribution
    if attribution.kind == "none":
        return "Unknown author: no evidence either way."
    title = "An agent" if attribution.agent is None else format_agent_title(attribution.agent)
    if attribution.kind == "person":
        return f"A person wrote this line, changing what {title} had written."
    part = "" if attribution.kind == "agent" else f"{attribution.share:.0%} of "
    certainty = "" if attribution.tier is None else f": {attribution.certainty}"
    return f"{title} wrote {part}this line{certainty}."


def _view_why_form(workspace: Workspace, file: str | None, rev: str | None) -> PageView:
    fields: dict[str, Any] = {
        "file": file,
        "rev": rev,
        "disk": None,
        "crumbs": [],
        "has_disk": can_show_disk_page(workspace),
    }
    return PageView(title="Why", template="why_form.html", fields=fields)


def _view_why_problem(workspace: Workspace, params: PageParams, file: str, error: InputError) -> PageView:
    fields = {**make_file_link_fields(workspace, params, file), "problem": error.message, "remedy": error.hint}
    return PageView(title=f"{file}:{params.text('line')}", template="blame_none.html", fields=fields, is_missing=True)


PAGES = (
    Page(name="why", section="blame", view=view_why, takes=TAKES, long=True),
    Page(name="why-card", view=view_why_card, takes=TAKES, part=True, long=True),
)
