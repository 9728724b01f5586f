"""The answers of the tools: reports as plain values, without what an agent must not learn and within bounds."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from custody.attribution.wire import Attribution
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines
from custody.core.wire.canonical import Json
from custody.core.wire.report import SessionLine
from custody.dupes.app.change_reader import ChangeRef
from custody.dupes.app.check import dupes_preview
from custody.dupes.wire import DupesCheckReport
from custody.gate.wire.report import ReasonReport
from custody.ledger.sessions import list_session_log, show_session_log
from custody.review.app.review import ReviewRequest, review_change
from custody.review.wire import HunkReport, ReviewReport
from custody.search.app import SearchRequest, search_sessions
from custody.search.wire import FoundSession
from custody.why.report import (
    CallLink,
    ChainCommit,
    ChangeLink,
    EndLink,
    LineLink,
    PromptLink,
    SessionLink,
    SourcesLink,
    TestsLink,
    WhyReport,
)
from custody.why.warm import WarmWorkspace
from custody.workspace.workspace import Workspace

BLOCKS_MAX = 200
HUNKS_MAX = 50
PROMPTS_MAX = 20
CALLS_MAX = 50
FILES_MAX = 20
SESSIONS_MAX = 50
PLACES_MAX = 10
DRAFT_FILES_MAX = 50
DRAFT_BYTES_MAX = 2_000_000
SECRET_REASONS = ("TRUST-", "GRAPH-", "ATTR-SHARE")
"""Reasons about trust, budgets, audits, unusual calls and shares: an agent that knew them could write around them."""
NOT_SHOWN = "some checks, such as trust and audits, are not shown: a person may have to read the change anyway"


def answer_why(warm: WarmWorkspace, file: str, line: int) -> Json:
    """Return why a line is there: author, prompt, calls, commits, session, and what is missing."""
    report: WhyReport = warm.explain_line(file, line)
    links: list[Json] = [shown for link in report.chain if (shown := _show_link(link)) is not None]
    return {"path": report.path, "line": report.line, "chain": links[:BLOCKS_MAX], "notes": [*report.notes]}


def _show_link(link: object) -> Json | None:
    match link:
        case LineLink():
            return {"what": "line", "text": link.text, **_show_author(link.attribution)}
        case ChainCommit():
            return {
                "what": "commit",
                "commit": link.commit,
                "author": link.author,
                "at": link.at,
                "subject": link.subject,
            }
        case CallLink():
            return {"what": "call", "name": link.name, "started": link.started, "status": link.status}
        case TestsLink():
            return {"what": "tests", "state": link.tests.state}
        case PromptLink():
            return {"what": "prompt", "at": link.at, "text": link.text}
        case SourcesLink():
            sources: list[Json] = [{"locator": source.locator, "reading": source.reading} for source in link.sources]
            return {"what": "sources", "sources": sources, "more": link.more}
        case SessionLink():
            return {"what": "session", "session": link.session, "agent": link.agent, "operator": link.operator}
        case ChangeLink():
            return {"what": "change", "head": link.head, "title": link.title}
        case EndLink():
            return {"what": "end", "why": link.why}
        case _:
            return None


def _show_author(block: Attribution) -> dict[str, Json]:
    return {
        "kind": block.kind,
        "agent": block.agent,
        "model": block.model_id,
        "certainty": block.certainty,
        "session": block.session_id,
        "prompt": block.conversation_summary,
    }


def answer_blame(warm: WarmWorkspace, file: str, first: int, last: int | None) -> Json:
    """Return the authors of a file's lines, by blocks."""
    ranges = (Lines(first, last),) if last is not None else ()
    if last is not None and last < first:
        raise InputError(f"invalid line range {first},{last}", hint="the last line is not before the first")
    report = warm.blame(file, None, ranges).report
    blocks = [block for block in report.attributions if block.end_line >= first]
    shown: list[Json] = [
        {"first": block.start_line, "last": block.end_line, **_show_author(block)} for block in blocks[:BLOCKS_MAX]
    ]
    return {"path": report.path, "blocks": shown, "more": max(len(blocks) - BLOCKS_MAX, 0), "notes": [*report.notes]}


def answer_review(workspace: Workspace, change: str | None) -> Json:
    """Return what a person would read in a change, without trust, risk and budgets."""
    report = review_change(workspace, ReviewRequest(change=change))
    shown: list[Json] = [_show_hunk(hunk) for hunk in sorted(report.hunks, key=lambda hunk: hunk.path)[:HUNKS_MAX]]
    return {
        "base": report.base,
        "head": report.head,
        "added": msgspec.to_builtins(report.added),
        **_show_reasons(report),
        "hunks": shown,
        "more": max(len(report.hunks) - HUNKS_MAX, 0),
        "note": NOT_SHOWN,
    }


def _show_hunk(hunk: HunkReport) -> Json:
    """Return a hunk in the order of paths: the reading order follows the risk."""
    return {
        "path": hunk.path,
        "first": None if hunk.lines is None else hunk.lines.start,
        "last": None if hunk.lines is None else hunk.lines.end,
        "added": hunk.added,
        "removed": hunk.removed,
        "authors": [{"kind": author.kind, "agent": author.agent, "lines": author.lines} for author in hunk.authors],
        "prompt": hunk.prompt.text,
    }


def answer_next(workspace: Workspace) -> Json:
    """Return what to do about the uncommitted work before a person reads it, most severe first."""
    report = review_change(workspace, ReviewRequest(cards_max=0))
    return {**_show_reasons(report), "note": NOT_SHOWN}


def _show_reasons(report: ReviewReport) -> dict[str, Json]:
    reasons = [reason for reason in report.reasons if not reason.code.startswith(SECRET_REASONS)]
    level = next(
        (level for level in ("block", "review") if any(reason.level == level for reason in reasons)), "approve"
    )
    order = sorted(reasons, key=lambda reason: (reason.level != "block", reason.code))
    return {"verdict": level, "reasons": [_show_reason(reason) for reason in order]}


def _show_reason(reason: ReasonReport) -> Json:
    """Return a reason without its sentence, which names thresholds."""
    places: list[Json] = [
        {"path": place.path, "first": place.start_line, "last": place.end_line} for place in reason.places[:PLACES_MAX]
    ]
    more = max(len(reason.places) - PLACES_MAX, 0)
    return {"code": reason.code, "level": reason.level, "remedy": reason.remedy, "places": places, "more": more}


def answer_duplicates(workspace: Workspace, files: Mapping[str, str], title: str) -> Json:
    """Return the changes that already do what a draft does; those that are only related are left out."""
    if not files or len(files) > DRAFT_FILES_MAX or sum(map(len, files.values())) > DRAFT_BYTES_MAX:
        limits = f"pass 1 to {DRAFT_FILES_MAX} files of at most {DRAFT_BYTES_MAX:,} characters together"
        raise InputError("cannot check this draft", hint=limits)
    repository = workspace.repository
    contents = {
        repository.path(name, workspace.folder): text.encode("utf-8", "surrogatepass") for name, text in files.items()
    }
    with repository.with_draft(contents, title) as draft:
        here = msgspec.structs.replace(workspace, resources=None)
        here.__dict__["repository"] = draft.repository
        base = repository.head().commit
        asked = ChangeRef(
            base=base or CommitSha(""),
            head=draft.commit,
            commits=(draft.commit,),
            title=title,
            opened_ns=workspace.now_ns(),
        )
        report = dupes_preview(here, asked)
    found = list(_list_duplicates(report))
    return {"duplicates": found, "compared_changes": report.changes, "note": _describe_comparison(report, found)}


def _list_duplicates(report: DupesCheckReport) -> Iterable[Json]:
    for suggestion in report.suggestions:
        evidence = suggestion.evidence
        if evidence.says == "duplicate":
            yield {
                "title": evidence.other.title,
                "head": evidence.other.head,
                "name": evidence.other.name,
                "category": evidence.category,
                "relations": [{"relation": relation.relation, "why": relation.why} for relation in evidence.relations],
                "files": [] if evidence.overlap is None else [*evidence.overlap.files.some[:FILES_MAX]],
            }


def _describe_comparison(report: DupesCheckReport, found: Sequence[Json]) -> str:
    if not report.changes:
        return "not checked: no change is indexed here; a person can run 'custody dupes index'"
    return "somebody already did this: tell the user before you write it" if found else "no duplicate was found"


def answer_sessions(workspace: Workspace, words: str, limit: int) -> Json:
    """Return the sessions with these words in a prompt, command, file or commit; without words, the latest ones."""
    if words.strip():
        found = search_sessions(workspace, SearchRequest(words=words, limit=limit))
        return {"sessions": [_show_found_session(session) for session in found.sessions], "total": found.total}
    report = list_session_log(workspace, limit=limit, with_prompts=True)
    return {"sessions": [_show_session(line) for line in report.sessions], "total": report.total}


def _show_found_session(session: FoundSession) -> Json:
    commits: list[Json] = [{"commit": commit.commit, "subject": commit.subject} for commit in session.commits]
    return {
        "session": session.session,
        "agent": session.agent,
        "at": session.at,
        "kind": session.kind,
        "text": session.text,
        "commits": commits,
    }


def answer_session(workspace: Workspace, name: str) -> Json:
    """Return the prompts and the calls of one session."""
    report = show_session_log(workspace, name)
    prompts: list[Json] = [{"at": prompt.at, "text": prompt.text} for prompt in report.prompts[:PROMPTS_MAX]]
    calls: list[Json] = [
        {"name": call.name, "started": call.started, "status": call.status, "files": [*call.files[:FILES_MAX]]}
        for call in report.calls[:CALLS_MAX]
    ]
    return {
        "session": _show_session(report.session),
        "prompts": prompts,
        "more_prompts": max(len(report.prompts) - PROMPTS_MAX, 0),
        "calls": calls,
        "more_calls": max(len(report.calls) - CALLS_MAX, 0),
    }


def _show_session(line: SessionLine) -> Json:
    return {
        "session": line.session,
        "agent": line.agent,
        "model": line.model,
        "started": line.started,
        "last": line.last,
        "prompt": line.prompt,
        "prompts": line.prompts,
        "calls": line.calls,
        "files": [*line.files[:FILES_MAX]],
        "more_files": max(len(line.files) - FILES_MAX, 0),
    }
