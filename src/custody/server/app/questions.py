"""Answers of the service: the reports of the commands, limited to what a caller may see.

A repository answers only for its own project. Text of conversations is left out unless the caller may read it, and
every access is logged before the text is returned.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import structs
from msgspec.structs import replace

from custody.attribution import Segment, TraceAttribution
from custody.attribution.app.blame_document import SegmentOrigin, blame_segments
from custody.attribution.app.stats import compute_line_stats
from custody.attribution.wire import StatsReport
from custody.capture.claims.traces import normalize_foreign_timestamp
from custody.cite import SourceError, UnknownSource
from custody.cite.app.registry import cite_show
from custody.cite.wire import CiteShowReport
from custody.core.errors import InputError, RulesError
from custody.core.ids import CommitSha, ContentHash
from custody.core.paths import Lines, RepoPath
from custody.core.wire.report import SessionReport
from custody.core.wire.time import check_timestamp_ns, parse_timestamp
from custody.dupes.app.indexed_changes import check_indexed_change
from custody.dupes.app.select import UnknownChange, find_change_by_name, find_indexed_change
from custody.dupes.app.show import dupes_show
from custody.dupes.wire import DupesCheckReport, DupesShowReport
from custody.graph.app.questions import ViewOptions, show_call_graph
from custody.graph.wire.report import GraphShowReport
from custody.ledger.queries import list_session_rows
from custody.ledger.sessions import show_session_log
from custody.server.wire.service import BlameAnswer, BlameBody, BlamedSegment, SegmentAnswer
from custody.store import Store
from custody.trust import UnknownAgent
from custody.trust.app.decisions import list_agents_with_decisions, read_settled_decisions
from custody.trust.app.show import trust_show, trust_why
from custody.trust.wire import TrustShowReport, TrustWhyReport
from custody.why.report import AnyLink, LineLink, PromptLink, WhyReport
from custody.why.why import why
from custody.workspace.workspace import Workspace, has_workspace_repository

Note = Callable[[str], None]
"""Logs that text of a conversation is read; the argument names it."""


class NameNotFound(InputError):
    """An unknown name; the answer is 404."""


@contextmanager
def map_errors_to_404(*errors: type[InputError], hint: str | None = None) -> Iterator[None]:
    """Turn these errors into a ``NameNotFound``, with this hint or their own; invalid rules stay as they are."""
    try:
        yield
    except RulesError:
        raise
    except errors as error:
        raise NameNotFound(error.message, hint=hint or error.hint) from error


def require_project_repository(workspace: Workspace) -> Workspace:
    """Return the workspace at the root of its repository; an ``InputError`` without one."""
    if not has_workspace_repository(workspace):
        raise InputError(
            f"this service has no repository of the project '{workspace.project}'",
            hint="run the command in the repository",
        )
    root = workspace.repository.work_tree
    return workspace if root is None or root == workspace.folder else replace(workspace, folder=root)


# --- trust ------------------------------------------------------------------------------------------------------------


def answer_agent_request(workspace: Workspace, agent: str, *, limit: int) -> TrustShowReport:
    """Return the score of an agent, with the newest decisions about it."""
    with map_errors_to_404(UnknownAgent, hint="/api/v1/trust lists every agent"):
        return trust_show(workspace, agent, limit=limit)


def answer_score_request(workspace: Workspace, agent: str, *, at: str | None) -> TrustWhyReport:
    """Return the history of an agent's score."""
    with map_errors_to_404(UnknownAgent, hint="/api/v1/trust lists every agent"):
        return trust_why(workspace, agent, at=at)


# --- changes ----------------------------------------------------------------------------------------------------------


def answer_duplicates_request(workspace: Workspace, name: str, *, limit: int) -> DupesCheckReport:
    """Return the duplicates of an indexed change, by name, pull request number or first digits of its head."""
    here = require_project_repository(workspace)
    with map_errors_to_404(UnknownChange, hint="/api/v1/changes lists them"):
        row = find_change_by_name(workspace, name)
    return check_indexed_change(here, row, limit=limit)


def answer_evidence_request(workspace: Workspace, name: str) -> DupesShowReport:
    """Return the evidence of a suggestion, by its id or the head of the checked change."""
    here = require_project_repository(workspace)
    with map_errors_to_404(InputError, hint="the answers of /api/v1/duplicates name their evidence"):
        return dupes_show(here, name)


# --- sources ----------------------------------------------------------------------------------------------------------


def answer_source_request(workspace: Workspace, source_id: str, *, note: Note | None) -> CiteShowReport:
    """Return one source; its stored passages only with a ``note``."""
    with map_errors_to_404(SourceError, UnknownSource, hint="/api/v1/sources lists them"):
        report = cite_show(workspace, source_id)
    if note is None:
        return structs.replace(report, excerpts=[structs.replace(excerpt, text=None) for excerpt in report.excerpts])
    if any(excerpt.text is not None for excerpt in report.excerpts):
        note(f"excerpts of source {report.source.id}")
    return report


# --- sessions ---------------------------------------------------------------------------------------------------------


def answer_session_request(
    workspace: Workspace, session: str, *, agent: str | None, note: Note | None
) -> SessionReport:
    """Return a session; its prompts only with a ``note``."""
    return hide_prompts_from_caller(show_session_log(workspace, session, agent=agent), note=note)


def hide_prompts_from_caller(report: SessionReport, *, note: Note | None) -> SessionReport:
    """Return a session as the caller may see it."""
    if note is None:
        return structs.replace(
            report,
            session=structs.replace(report.session, prompt=None),
            prompts=[structs.replace(prompt, text=None) for prompt in report.prompts],
        )
    if any(prompt.text is not None for prompt in report.prompts):
        note(f"conversation {report.session.agent} {report.session.session}")
    return report


def answer_calls_request(workspace: Workspace, options: ViewOptions) -> GraphShowReport:
    """Return the calls of a session or an execution, by its id or the start of it."""
    with map_errors_to_404(InputError, hint="/api/v1/conversations lists sessions"):
        return show_call_graph(workspace, options)


# --- lines ------------------------------------------------------------------------------------------------------------


def require_servable_file(here: Workspace, path: RepoPath) -> None:
    """Check that git tracks a file; else an ``InputError``, the same for a missing and for an untracked file.

    Untracked files in the work tree may be secrets, so a service never shows them.
    """
    if here.repository.work_tree is not None and path not in here.repository.list_tracked_files([path]):
        raise InputError(
            f"cannot show '{path.display}' on disk: git does not track it",
            hint="run 'custody blame FILE' in the repository",
        )


def answer_why_request(
    workspace: Workspace, file: str, line: int, *, revision: str | None, note: Note | None
) -> WhyReport:
    """Explain a line; the prompt only with a ``note``. On disk, only tracked files are shown."""
    here = require_project_repository(workspace)
    path = RepoPath.of(file)
    if revision is None:
        require_servable_file(here, path)
    report = why(here, str(path), line, revision=revision)
    if note is None:
        return structs.replace(report, chain=[_hide_link_from_caller(link) for link in report.chain])
    for link in report.chain:
        if isinstance(link, LineLink) and link.attribution.conversation_summary is not None:
            note(f"conversation {link.attribution.agent} {link.attribution.session_id}")
        if isinstance(link, PromptLink) and link.text is not None:
            note(f"prompt {link.id} before {report.path}:{report.line}")
    return report


def answer_stats_request(
    workspace: Workspace, path: str | None, *, revision: str | None, agent: str | None = None
) -> StatsReport:
    """Count the lines of a file, a folder or the whole repository by author."""
    here = require_project_repository(workspace)
    # RepoPath never leads out of the repository.
    return compute_line_stats(here, None if path is None else str(RepoPath.of(path)), revision=revision, agent=agent)


def _hide_link_from_caller(link: AnyLink) -> AnyLink:
    """Return a link without the prompt and without the summary of the conversation."""
    if isinstance(link, PromptLink):
        return structs.replace(link, text=None)
    if isinstance(link, LineLink):
        return structs.replace(link, attribution=structs.replace(link.attribution, conversation_summary=None))
    return link


# Blame in the request and answer shapes of document 000.


_NS = 1_000_000_000
_NO_HASH = ContentHash("")
"""Matches nothing."""


def answer_blame_request(workspace: Workspace, request: BlameBody, *, with_text: bool) -> BlameAnswer:
    """Return the trace that wrote each segment; adjacent ones with the same trace and tier are merged."""
    path = RepoPath.of(request.file_path)
    segments = (_segment_from_request(path, segment) for segment in request.blame_data)
    origins = blame_segments(workspace, segments, with_prompt=with_text)
    return BlameAnswer(file_path=request.file_path, attributions=[_segment_to_answer(origin) for origin in origins])


def _segment_from_request(path: RepoPath, segment: BlamedSegment) -> Segment:
    if segment.end_line < segment.start_line:
        raise InputError(f"invalid line range {segment.start_line},{segment.end_line}")
    return Segment(
        path,
        Lines(segment.start_line, segment.end_line),
        None if segment.commit_sha is None else CommitSha(segment.commit_sha),
        None if segment.parent_sha is None else CommitSha(segment.parent_sha),
        _parse_request_timestamp(segment.timestamp),
        _NO_HASH if segment.content_hash is None else ContentHash(segment.content_hash.lower()),
    )


def _parse_request_timestamp(value: str | int | float | None) -> int | None:
    """Parse the author time of a commit: RFC 3339, or seconds since 1970."""
    if value is None:
        return None
    if isinstance(value, str):
        return parse_timestamp(normalize_foreign_timestamp(value))
    return check_timestamp_ns(int(value * _NS))


def _segment_to_answer(origin: SegmentOrigin) -> SegmentAnswer:
    """Return an attribution in the field names of document 000."""
    finding, trace = origin.finding, origin.trace
    if not isinstance(finding, TraceAttribution):
        return _make_unknown_segment_answer(origin.lines, finding.reason)
    return SegmentAnswer(
        start_line=origin.lines.first,
        end_line=origin.lines.last,
        tier=finding.tier,
        confidence=finding.confidence,
        trace_id=finding.candidate.trace.id,
        agent=finding.candidate.trace.agent,
        model_id=None if trace is None else trace.model,
        conversation_url=None if trace is None else trace.conversation,
        conversation_content=origin.prompt,
        grade=finding.candidate.grade.value,
        signals=[signal.name for signal in finding.evidence.signals],
        reason=None,
    )


def _make_unknown_segment_answer(lines: Lines, why: str) -> SegmentAnswer:
    return SegmentAnswer(
        start_line=lines.first,
        end_line=lines.last,
        tier=None,
        confidence=0.0,
        trace_id=None,
        agent=None,
        model_id=None,
        conversation_url=None,
        conversation_content=None,
        grade=None,
        signals=[],
        reason=why,
    )


# Names that a user typed, looked up in the work tree and among the records.


def find_page_file(workspace: Workspace, name: str) -> str | None:
    """Return the path of a file or folder from the root, with a slash behind a folder; None for neither."""
    try:
        root = workspace.repository.work_tree
    except InputError:
        return None  # a team's database, outside of any repository
    place = workspace.folder / name
    if root is None or "\0" in name or not place.exists():
        return None
    below = os.path.relpath(os.path.abspath(place), os.path.abspath(root))
    if below == os.curdir or below.startswith(os.pardir):
        return None
    return f"{below}/" if place.is_dir() else below


def find_record_page(workspace: Workspace, name: str) -> tuple[str, str, str] | None:
    """Return the page, parameter and value for a change, an agent or a session of this name; None if there is none."""
    if not name.isprintable():
        return None
    with workspace.reading() as store:
        if _has_change_page(store, name):
            return "change", "name", name
        with read_settled_decisions(store):
            if name in list_agents_with_decisions(store):
                return "agent", "name", name
        return ("session", "id", name) if _has_session_page(store, name) else None


def _has_change_page(store: Store, name: str) -> bool:
    try:
        find_indexed_change(store, name)
    except InputError:
        return False
    return True


def _has_session_page(store: Store, name: str) -> bool:
    """Return whether a session has this id, or an id that starts with it."""
    return bool(list_session_rows(store, limit=1, named=name) or list_session_rows(store, limit=1, starting=name))
