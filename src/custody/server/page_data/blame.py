"""A file with who wrote each of its lines, as the pages show it: without the words of any conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.context import open_attribution
from custody.attribution.wire.blame import BlameReport
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import FileAt, NoObject, Repository
from custody.server.app.questions import Note, line_explained, require_repository, require_tracked_file
from custody.server.page_data.files import format_path, resolve_file
from custody.why.report import WhyReport
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """A file as an address names it: of a commit, or (``revision`` is None) as it is on disk, where git tracks it."""

    file: str
    revision: str | None = "HEAD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamePageFile:
    """The report on a file, and its lines; ``file`` is how an address names it."""

    file: str
    report: BlameReport
    texts: Sequence[str]


def file_blamed(workspace: Workspace, place: FilePlace) -> BlamePageFile:
    """Every line of a file in order, each with who wrote it and on what evidence."""
    here = require_repository(workspace)
    path, commit = _found(here.repository, place)
    if commit is None:
        require_tracked_file(here, path)
    with open_attribution(here) as evidence:
        blamed = BlameReporter(evidence).blamed(path, commit, ())
        evidence.save()
    silent = [structs.replace(attribution, conversation_summary=None) for attribution in blamed.report.attributions]
    return BlamePageFile(
        file=format_path(path), report=structs.replace(blamed.report, attributions=silent), texts=blamed.texts
    )


def place_explained(workspace: Workspace, place: FilePlace, line: int, *, note: Note | None) -> WhyReport:
    """Why a line is there; what was asked only with a ``note``."""
    here = require_repository(workspace)
    path, commit = _found(here.repository, place)
    return line_explained(here, str(path), line, revision=commit, note=note)


def has_disk(workspace: Workspace) -> bool:
    """Whether files can be looked at as they are on disk: not in a bare repository."""
    return require_repository(workspace).repository.work_tree is not None


def _found(repository: Repository, place: FilePlace) -> tuple[RepoPath, CommitSha | None]:
    if place.revision is None:
        return RepoPath.of(place.file), None
    if place.revision == "HEAD" and repository.head().commit is None:
        raise InputError("nothing is committed here yet", hint="lines have authors from the first commit on")
    commit = repository.resolve(place.revision)
    path = resolve_file(repository, commit, place.file)
    (found,) = repository.look_up([FileAt(commit, path)])
    if isinstance(found, NoObject):
        raise InputError(
            f"cannot find '{path.display}' in {commit[:12]}: it is {found.reason}",
            hint="it may have had another name then, or not be committed: choose a file from the list",
        )
    return path, commit
