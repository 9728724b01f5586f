"""Files for pages: the tree of a commit to browse, blamed lines, documents with their citation findings."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.context import open_attribution
from custody.attribution.wire import BlameReport
from custody.cite.app.audit import cite_audit
from custody.cite.wire import CiteAuditReport, CiteFinding
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, TracedFile
from custody.git import FileAt, NoObject, NoWorkFile, Repository
from custody.ledger.queries import paths_in
from custody.server.app.questions import (
    NameNotFound,
    Note,
    line_explained,
    name_not_found,
    require_repository,
    require_tracked_file,
)
from custody.why.report import WhyReport
from custody.workspace.workspace import Workspace

EDITED = (FileEdit, TracedFile)
"""The views that say that an agent wrote in a file."""
FOLDER, FILE = "0", "1"
"""Folders stand before files."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file, or a folder with how many files are in it and how many of those agents wrote in."""

    path: str
    """As an address says it."""
    name: str
    """As it is shown, below the folder that is looked at."""
    is_folder: bool
    files: int
    edited: int

    @property
    def key(self) -> str:
        """Where it stands in the list."""
        return (FOLDER if self.is_folder else FILE) + self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilter:
    """Which files: of which folder, with what in their names, only those that agents wrote in; how many from where."""

    folder: str | None = None
    revision: str = "HEAD"
    part: str | None = None
    edited: bool = False
    after: str = ""
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileListing:
    """The entries of one page; ``more`` is where the next page begins, ``total`` counts those on every page."""

    folder: str | None
    shown: str | None
    commit: CommitSha
    entries: Sequence[FileEntry]
    total: int
    files: int
    edited: int
    more: str | None


def files_listed(workspace: Workspace, wish: FileFilter) -> FileListing:
    """The folder's entries: its own, or every file below it where names or agents are asked for."""
    repository = require_repository(workspace).repository
    commit = repository.resolve(wish.revision)
    folder = None if wish.folder is None else resolve_file(repository, commit, wish.folder)
    files = _files(repository, commit, folder)
    if folder is not None and (not files or files == [folder]):
        raise InputError(
            f"'{folder.display}' is no folder with files in {commit[:12]}", hint="choose one from the list above it"
        )
    edited = edited_files(workspace)
    start = 0 if folder is None else len(folder.raw) + 1
    if wish.part is None and not wish.edited:
        found = _children(files, edited, start)
    else:
        part = (wish.part or "").casefold()
        wanted = (path for path in files if not wish.edited or path in edited)
        found = [_file(path, edited, start) for path in wanted if part in _shown(path, start).casefold()]
    ordered = sorted(found, key=lambda entry: entry.key)
    rest = [entry for entry in ordered if entry.key > wish.after]
    return FileListing(
        folder=None if folder is None else format_path(folder),
        shown=None if folder is None else folder.display,
        commit=commit,
        entries=rest[: wish.most],
        total=len(ordered),
        files=len(files),
        edited=sum(path in edited for path in files),
        more=rest[wish.most - 1].key if len(rest) > wish.most else None,
    )


def edited_files(workspace: Workspace) -> frozenset[RepoPath]:
    """The files that agents are known to have written in, under the names that they had then."""
    with workspace.reading() as store:
        return frozenset(paths_in(store, EDITED))


def format_path(path: RepoPath) -> str:
    r"""A path as an address says it: as it is, or where that is no UTF-8, as it is shown.

    >>> format_path(RepoPath(b"a\xff")), format_path(RepoPath("ä".encode()))
    ('a\\xff', 'ä')
    """
    try:
        return path.raw.decode()
    except UnicodeDecodeError:
        return path.display


def resolve_file(repository: Repository, commit: CommitSha, said: str) -> RepoPath:
    """The file or folder that an address names: of that name, else the one in ``commit`` that is shown so."""
    path = RepoPath.of(said)
    if "\\" not in said:
        return path
    with repository.tree(commit) as entries:
        paths = [entry.path for entry in entries]
    if any(tree_path == path or tree_path.raw.startswith(path.raw + b"/") for tree_path in paths):
        return path
    deep = said.count("/") + 1
    for tree_path in paths:
        if tree_path.display == said or tree_path.display.startswith(f"{said}/"):
            return RepoPath(b"/".join(tree_path.raw.split(b"/")[:deep]))
    return path


def _files(repository: Repository, commit: CommitSha, folder: RepoPath | None) -> list[RepoPath]:
    with repository.tree(commit, [] if folder is None else [folder]) as entries:
        return [entry.path for entry in entries if entry.kind == "blob"]


def _children(files: Iterable[RepoPath], edited: frozenset[RepoPath], start: int) -> list[FileEntry]:
    """What is in a folder itself: its files, and the folders below it with what is in them."""
    folders: dict[bytes, tuple[int, int]] = {}
    found: list[FileEntry] = []
    for path in files:
        slash = path.raw.find(b"/", start)
        if slash < 0:
            found.append(_file(path, edited, start))
        else:
            count, by_agents = folders.get(path.raw[:slash], (0, 0))
            folders[path.raw[:slash]] = (count + 1, by_agents + (path in edited))
    for raw, (count, by_agents) in folders.items():
        below = RepoPath(raw)
        found.append(FileEntry(format_path(below), _shown(below, start), is_folder=True, files=count, edited=by_agents))
    return found


def _file(path: RepoPath, edited: frozenset[RepoPath], start: int) -> FileEntry:
    return FileEntry(format_path(path), _shown(path, start), is_folder=False, files=1, edited=int(path in edited))


def _shown(path: RepoPath, start: int) -> str:
    return RepoPath(path.raw[start:]).display


# Documents of the repository with what is wrong with their citations, each finding where it stands.


ENDINGS = (".md", ".markdown", ".mdx")
NAMED_MAX = 500
LISTED = "/sources lists the documents"
BYTES_MAX = 4 * 1024 * 1024
"""Of a document that is shown with its findings; 'custody cite audit' takes larger ones."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the last commit by path; ``more`` is how many are not named."""

    paths: list[str]
    more: int


@dataclass(frozen=True, slots=True)
class AuditedDocument:
    """A document's lines, its audit, and the findings of each line."""

    path: str
    lines: list[str]
    audit: CiteAuditReport
    found: dict[int, list[CiteFinding]]


def documents(workspace: Workspace, text: str | None) -> Documents:
    """The Markdown documents of the last commit, perhaps only those whose path has ``text`` in it."""
    here = require_repository(workspace)
    head = here.repository.head().commit
    if head is None:
        return Documents([], 0)
    wanted = (text or "").casefold()
    with here.repository.tree(head) as entries:
        named = sorted(
            format_path(entry.path)
            for entry in entries
            if entry.kind == "blob" and str(entry.path).lower().endswith(ENDINGS)
            if wanted in entry.path.display.casefold()
        )
    return Documents(named[:NAMED_MAX], max(0, len(named) - NAMED_MAX))


def audited(workspace: Workspace, file: str) -> AuditedDocument:
    """One Markdown document that git tracks, as it is on disk, with what is wrong with its citations.

    No link is followed.
    """
    here = require_repository(workspace)
    path = _resolve_document(here, file)
    if not str(path).lower().endswith(ENDINGS):
        raise NameNotFound(f"'{path.display}' is no Markdown document", hint=LISTED)
    with name_not_found(InputError, hint=LISTED):
        require_tracked_file(here, path)
    # Read through the door, which follows no symbolic link: what is shown is the repository's.
    found = here.repository.work_file(path, BYTES_MAX)
    if isinstance(found, NoWorkFile):
        raise NameNotFound(f"'{path.display}' cannot be shown: {found.reason}", hint=LISTED)
    audit = cite_audit(here, [str(path)])
    by_line: dict[int, list[CiteFinding]] = defaultdict(list)
    for finding in audit.findings:
        by_line[finding.line].append(finding)
    try:
        lines = found.content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"'{path.display}' is not UTF-8 text") from error
    return AuditedDocument(path.display, lines, audit, dict(by_line))


def _resolve_document(workspace: Workspace, file: str) -> RepoPath:
    """The document that an address names, which may say it as it is shown."""
    head = workspace.repository.head().commit
    return RepoPath.of(file) if head is None else resolve_file(workspace.repository, head, file)


# A file with who wrote each of its lines, as the pages show it: without the words of any conversation.


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
