"""Questions as a service is asked them: the reports of the verbs, within what a caller may see.

A repository answers only for the project that it belongs to. The words of conversations are left out unless the caller
may read them, and each read of them is noted before they are handed out.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from msgspec import structs

from custody.attribution import Segment, TraceAttribution
from custody.attribution.app.blame_document import SegmentOrigin, blame_segments
from custody.attribution.app.stats import stats
from custody.attribution.wire import StatsReport
from custody.capture.claims.traces import moment
from custody.cite import SourceError, UnknownSource
from custody.cite.app.registry import cite_show
from custody.cite.wire import CiteShowReport
from custody.core.errors import InputError, RulesError
from custody.core.ids import CommitSha, ContentHash
from custody.core.paths import Lines, RepoPath
from custody.core.wire.report import SessionReport
from custody.core.wire.time import checked_ns, ns_from
from custody.dupes.app.indexed_changes import check_indexed
from custody.dupes.app.select import UnknownChange, find_change, find_indexed_change
from custody.dupes.app.show import dupes_show
from custody.dupes.wire import DupesCheckReport, DupesShowReport
from custody.graph.app.questions import ViewOptions, graph_show
from custody.graph.wire.report import GraphShowReport
from custody.ledger.queries import session_rows
from custody.ledger.sessions import log_session
from custody.server.wire.service import BlameAnswer, BlameBody, BlamedSegment, SegmentAnswer
from custody.store import Store
from custody.trust import UnknownAgent
from custody.trust.app.decisions import agents_in, read_settled_decisions
from custody.trust.app.show import trust_show, trust_why
from custody.trust.wire import TrustShowReport, TrustWhyReport
from custody.why.report import AnyLink, LineLink, PromptLink, WhyReport
from custody.why.why import why
from custody.workspace.workspace import Workspace, has_repository

Note = Callable[[str], None]
"""Keeps that words of a conversation are read; it is told which."""


class NameNotFound(InputError):
    """Nothing has the name that was asked for."""


@contextmanager
def name_not_found(*errors: type[InputError], hint: str | None = None) -> Iterator[None]:
    """Turn these errors into a ``NameNotFound``, with this hint or their own; invalid rules stay what they are."""
    try:
        yield
    except RulesError:
        raise
    except errors as error:
        raise NameNotFound(error.message, hint=hint or error.hint) from error


def require_repository(workspace: Workspace) -> Workspace:
    """The workspace at the root of its repository; an ``InputError`` where that is not here."""
    if not has_repository(workspace):
        raise InputError(
            f"this service has no repository of the project '{workspace.project}'",
            hint="ask a service that runs in it, or use the verb there",
        )
    root = workspace.repository.work_tree
    return workspace if root is None or root == workspace.folder else replace(workspace, folder=root)


# --- trust ------------------------------------------------------------------------------------------------------------


def agent_shown(workspace: Workspace, agent: str, *, limit: int) -> TrustShowReport:
    """Where an agent stands, with the newest decisions about it."""
    with name_not_found(UnknownAgent, hint="/api/v1/trust lists every agent"):
        return trust_show(workspace, agent, limit=limit)


def agent_explained(workspace: Workspace, agent: str, *, at: str | None) -> TrustWhyReport:
    """How an agent came to its score."""
    with name_not_found(UnknownAgent, hint="/api/v1/trust lists every agent"):
        return trust_why(workspace, agent, at=at)


# --- changes ----------------------------------------------------------------------------------------------------------


def change_checked(workspace: Workspace, name: str, *, limit: int) -> DupesCheckReport:
    """What an indexed change is like: by a name, a pull request's number, or digits of its head."""
    here = require_repository(workspace)
    with name_not_found(UnknownChange, hint="/api/v1/changes lists them"):
        row = find_change(workspace, name)
    return check_indexed(here, row, limit=limit)


def evidence_shown(workspace: Workspace, name: str) -> DupesShowReport:
    """What a suggestion rests on, by its id or the head of the change that was checked."""
    here = require_repository(workspace)
    with name_not_found(InputError, hint="the answers of /api/v1/duplicates name their evidence"):
        return dupes_show(here, name)


# --- sources ----------------------------------------------------------------------------------------------------------


def source_shown(workspace: Workspace, source_id: str, *, note: Note | None) -> CiteShowReport:
    """Everything about one source; the passages that were kept of it only with a ``note``."""
    with name_not_found(SourceError, UnknownSource, hint="/api/v1/sources lists them"):
        found = cite_show(workspace, source_id)
    if note is None:
        return structs.replace(found, excerpts=[structs.replace(excerpt, text=None) for excerpt in found.excerpts])
    if any(excerpt.text is not None for excerpt in found.excerpts):
        note(f"excerpts of source {found.source.id}")
    return found


# --- sessions ---------------------------------------------------------------------------------------------------------


def session_shown(workspace: Workspace, session: str, *, agent: str | None, note: Note | None) -> SessionReport:
    """What happened in a session; what was asked in it only with a ``note``."""
    return hide_session_text(log_session(workspace, session, agent=agent), note=note)


def hide_session_text(found: SessionReport, *, note: Note | None) -> SessionReport:
    """A session as whoever asks may see it."""
    if note is None:
        return structs.replace(found, prompts=[structs.replace(prompt, text=None) for prompt in found.prompts])
    if any(prompt.text is not None for prompt in found.prompts):
        note(f"conversation {found.session.agent} {found.session.session}")
    return found


def session_calls(workspace: Workspace, look: ViewOptions) -> GraphShowReport:
    """The calls of a session or an execution, by its id or the beginning of it."""
    with name_not_found(InputError, hint="/api/v1/conversations lists sessions"):
        return graph_show(workspace, look)


# --- lines ------------------------------------------------------------------------------------------------------------


def require_tracked_file(here: Workspace, path: RepoPath) -> None:
    """See to it that a service may show a file as it is on disk: only what git tracks; else an ``InputError``.

    What lies in the work tree beside the repository's own files, such as secrets that git is told to ignore, is for
    whoever sits there. A file that is not there and one that is not tracked are the same to whoever asks.
    """
    if here.repository.work_tree is not None and path not in here.repository.tracked([path]):
        raise InputError(
            f"git does not track '{path.display}', so it is not shown from here as it is on disk",
            hint="where the file is, 'custody blame FILE' shows it on the command line",
        )


def line_explained(workspace: Workspace, file: str, line: int, *, revision: str | None, note: Note | None) -> WhyReport:
    """Why a line of a file is there; what was asked only with a ``note``. On disk only what git tracks is shown."""
    here = require_repository(workspace)
    path = RepoPath.of(file)
    if revision is None:
        require_tracked_file(here, path)
    found = why(here, str(path), line, revision=revision)
    if note is None:
        return structs.replace(found, chain=[_hide_link_text(link) for link in found.chain])
    for link in found.chain:
        if isinstance(link, LineLink) and link.attribution.conversation_summary is not None:
            note(f"conversation {link.attribution.agent} {link.attribution.session_id}")
        if isinstance(link, PromptLink) and link.text is not None:
            note(f"prompt {link.id} before {found.path}:{found.line}")
    return found


def lines_counted(
    workspace: Workspace, path: str | None, *, revision: str | None, agent: str | None = None
) -> StatsReport:
    """Whose the lines of a file, a folder or the whole repository are."""
    here = require_repository(workspace)
    # A path is read as one of the repository: it never leads out of it.
    return stats(here, None if path is None else str(RepoPath.of(path)), revision=revision, agent=agent)


def _hide_link_text(link: AnyLink) -> AnyLink:
    """A link without what was asked; the first words of a session stand beside the line itself."""
    if isinstance(link, PromptLink):
        return structs.replace(link, text=None)
    if isinstance(link, LineLink):
        return structs.replace(link, attribution=structs.replace(link.attribution, conversation_summary=None))
    return link


# Blame as document 000 asks a service for it: the request's segments in, an answer in the document's names out.


_NS = 1_000_000_000
_NO_HASH = ContentHash("")
"""Matches nothing."""


def answer_blame(workspace: Workspace, asked: BlameBody, *, with_text: bool) -> BlameAnswer:
    """Which trace wrote each segment, neighbours with the same trace and tier as one; texts only ``with_text``."""
    path = RepoPath.of(asked.file_path)
    segments = (_segment(path, segment) for segment in asked.blame_data)
    origins = blame_segments(workspace, segments, with_prompt=with_text)
    return BlameAnswer(file_path=asked.file_path, attributions=[_report_segment(origin) for origin in origins])


def _segment(path: RepoPath, said: BlamedSegment) -> Segment:
    if said.end_line < said.start_line:
        raise InputError(f"lines {said.start_line} to {said.end_line} are no stretch")
    return Segment(
        path,
        Lines(said.start_line, said.end_line),
        None if said.commit_sha is None else CommitSha(said.commit_sha),
        None if said.parent_sha is None else CommitSha(said.parent_sha),
        _at_ns(said.timestamp),
        _NO_HASH if said.content_hash is None else ContentHash(said.content_hash.lower()),
    )


def _at_ns(said: str | int | float | None) -> int | None:
    """When a commit was authored: RFC 3339, or seconds since 1970."""
    if said is None:
        return None
    if isinstance(said, str):
        return ns_from(moment(said))
    return checked_ns(int(said * _NS))


def _report_segment(origin: SegmentOrigin) -> SegmentAnswer:
    """An answer in the document's names."""
    finding, trace = origin.finding, origin.trace
    if not isinstance(finding, TraceAttribution):
        return _nobody(origin.lines, finding.reason)
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


def _nobody(lines: Lines, why: str) -> SegmentAnswer:
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


# What a name that somebody types is in the work tree around them, or among what is recorded.


def in_work_tree(workspace: Workspace, name: str) -> str | None:
    """The path of a file or folder from the repository's root, with a slash behind a folder's; None for neither."""
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


def among_records(workspace: Workspace, name: str) -> tuple[str, str, str] | None:
    """The page of a change, an agent or a session of this name, and what to ask there; None where there is none."""
    if not name.isprintable():
        return None
    with workspace.reading() as store:
        if _is_change(store, name):
            return "change", "name", name
        with read_settled_decisions(store):
            if name in agents_in(store):
                return "agent", "name", name
        return ("session", "id", name) if _is_session(store, name) else None


def _is_change(store: Store, name: str) -> bool:
    try:
        find_indexed_change(store, name)
    except InputError:
        return False
    return True


def _is_session(store: Store, name: str) -> bool:
    """Whether a session is called so, or begins so: of several, the page says which."""
    return bool(session_rows(store, limit=1, named=name) or session_rows(store, limit=1, starting=name))
