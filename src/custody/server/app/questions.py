"""Questions as a service is asked them: the reports of the verbs, within what a caller may see.

A repository answers only for the project that it belongs to. The words of conversations are left out unless the caller
may read them, and each read of them is noted before they are handed out.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from msgspec import structs

from custody.attribution.app.stats import stats
from custody.attribution.wire.stats import StatsReport
from custody.cite import SourceError, UnknownSource
from custody.cite.app.registry import cite_show
from custody.cite.wire.registry import CiteShowReport
from custody.core.errors import InputError, RulesError
from custody.core.paths import RepoPath
from custody.core.wire.report import SessionReport
from custody.dupes.app.change_name import UnknownChange, find_change
from custody.dupes.app.indexed_changes import check_indexed
from custody.dupes.app.show import dupes_show
from custody.dupes.wire.report import DupesCheckReport, DupesShowReport
from custody.graph.app.questions import ViewOptions, graph_show
from custody.graph.wire.report import GraphShowReport
from custody.ledger.sessions import log_session
from custody.trust import UnknownAgent
from custody.trust.app.show import trust_show, trust_why
from custody.trust.wire.report import TrustShowReport, TrustWhyReport
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
