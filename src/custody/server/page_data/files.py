"""Files for pages: the tree of a commit, blamed lines, documents with their citation findings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field, structs

from custody.attribution.app.blame import BlameReporter
from custody.attribution.app.context import open_attribution
from custody.attribution.wire import BlameReport
from custody.cite.app.audit import cite_audit
from custody.cite.wire import CiteAuditReport, CiteFinding
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, TracedFile
from custody.git import FileAt, NoObject, NoWorkFile, Repository, Walk
from custody.ledger.queries import list_recorded_paths
from custody.server.app.questions import (
    NameNotFound,
    Note,
    answer_why_request,
    map_errors_to_404,
    require_project_repository,
    require_servable_file,
)
from custody.terminal.syntax import CodeLine, color_code_lines
from custody.why.report import WhyReport
from custody.workspace.workspace import Workspace

EDITED = (FileEdit, TracedFile)
"""The views that record an edit by an agent."""
FOLDER, FILE = "0", "1"
"""Folders are listed before files."""


class FileEntry(Struct, frozen=True):
    """A file, or a folder with the number of its files and of those that agents edited."""

    path: str
    """As in a URL."""
    name: str
    """As shown, relative to the listed folder."""
    is_folder: bool
    files: int
    edited: int

    @property
    def key(self) -> str:
        """The sort key."""
        return (FOLDER if self.is_folder else FILE) + self.name


class FileFilter(Struct, frozen=True, kw_only=True):
    """The files to list: a folder, a part of the name, only edited ones, and the page."""

    folder: str | None = None
    revision: str = "HEAD"
    part: str | None = None
    edited: bool = False
    after: str = ""
    most: int


class FileListing(Struct, frozen=True, kw_only=True):
    """The entries of one page; ``more`` is the cursor of the next page, ``total`` counts all pages."""

    folder: str | None
    shown: str | None
    commit: CommitSha
    entries: Sequence[FileEntry]
    total: int
    files: int
    edited: int
    more: str | None


def read_file_list_page(workspace: Workspace, query: FileFilter) -> FileListing:
    """Return the entries of a folder; with a name or edit filter, every file below it."""
    repository = require_project_repository(workspace).repository
    commit = repository.resolve(query.revision)
    folder = None if query.folder is None else path_from_url_param(repository, commit, query.folder)
    files = _list_page_folder_files(repository, commit, folder)
    if folder is not None and (not files or files == [folder]):
        raise InputError(f"cannot find folder '{folder.display}' in {commit[:12]}", hint="choose one from the list")
    edited = list_edited_files_for_page(workspace)
    start = 0 if folder is None else len(folder.raw) + 1
    if query.part is None and not query.edited:
        entries = _make_folder_page_entries(files, edited, start)
    else:
        part = (query.part or "").casefold()
        candidates = (path for path in files if not query.edited or path in edited)
        entries = [
            _make_file_page_entry(path, edited, start)
            for path in candidates
            if part in _format_page_file_name(path, start).casefold()
        ]
    ordered = sorted(entries, key=lambda entry: entry.key)
    rest = [entry for entry in ordered if entry.key > query.after]
    return FileListing(
        folder=None if folder is None else path_to_url_param(folder),
        shown=None if folder is None else folder.display,
        commit=commit,
        entries=rest[: query.most],
        total=len(ordered),
        files=len(files),
        edited=sum(path in edited for path in files),
        more=rest[query.most - 1].key if len(rest) > query.most else None,
    )


def list_edited_files_for_page(workspace: Workspace) -> frozenset[RepoPath]:
    """Return the files that agents edited, under their names at that time."""
    with workspace.reading() as store:
        return frozenset(list_recorded_paths(store, EDITED))


def path_to_url_param(path: RepoPath) -> str:
    r"""Return a path for a URL: unchanged, or in display form if it is not UTF-8.

    >>> path_to_url_param(RepoPath(b"a\xff")), path_to_url_param(RepoPath("ä".encode()))
    ('a\\xff', 'ä')
    """
    try:
        return path.raw.decode()
    except UnicodeDecodeError:
        return path.display


def path_from_url_param(repository: Repository, commit: CommitSha, text: str) -> RepoPath:
    """Return the file or folder with this name, else the one in ``commit`` with this display form."""
    path = RepoPath.of(text)
    if "\\" not in text:
        return path
    with repository.tree(commit) as entries:
        paths = [entry.path for entry in entries]
    if any(tree_path == path or tree_path.raw.startswith(path.raw + b"/") for tree_path in paths):
        return path
    depth = text.count("/") + 1
    for tree_path in paths:
        if tree_path.display == text or tree_path.display.startswith(f"{text}/"):
            return RepoPath(b"/".join(tree_path.raw.split(b"/")[:depth]))
    return path


def _list_page_folder_files(repository: Repository, commit: CommitSha, folder: RepoPath | None) -> list[RepoPath]:
    with repository.tree(commit, [] if folder is None else [folder]) as entries:
        return [entry.path for entry in entries if entry.kind == "blob"]


def _make_folder_page_entries(files: Iterable[RepoPath], edited: frozenset[RepoPath], start: int) -> list[FileEntry]:
    """Return the files of a folder and its subfolders with their counts."""
    folders: dict[bytes, tuple[int, int]] = {}
    entries: list[FileEntry] = []
    for path in files:
        slash = path.raw.find(b"/", start)
        if slash < 0:
            entries.append(_make_file_page_entry(path, edited, start))
        else:
            count, by_agents = folders.get(path.raw[:slash], (0, 0))
            folders[path.raw[:slash]] = (count + 1, by_agents + (path in edited))
    for raw, (count, by_agents) in folders.items():
        below = RepoPath(raw)
        entries.append(
            FileEntry(
                path_to_url_param(below),
                _format_page_file_name(below, start),
                is_folder=True,
                files=count,
                edited=by_agents,
            )
        )
    return entries


def _make_file_page_entry(path: RepoPath, edited: frozenset[RepoPath], start: int) -> FileEntry:
    return FileEntry(
        path_to_url_param(path),
        _format_page_file_name(path, start),
        is_folder=False,
        files=1,
        edited=int(path in edited),
    )


def _format_page_file_name(path: RepoPath, start: int) -> str:
    return RepoPath(path.raw[start:]).display


ENDINGS = (".md", ".markdown", ".mdx")
LISTED_MAX = 500
CONTEXT_LINES = 4
COMMITS_MAX = 400
"""Commits of a file whose messages a page shows."""
DOCUMENTS_HINT = "/sources lists the documents"
BYTES_MAX = 4 * 1024 * 1024
"""Maximum size of a document on a page; 'custody cite audit' reads larger ones."""


class Documents(Struct, frozen=True):
    """The documents of the last commit by path; ``more`` counts those that are not listed."""

    paths: list[str]
    more: int


class AuditedDocument(Struct, frozen=True):
    """A document with its audit and the findings of each line."""

    path: str
    lines: list[str]
    audit: CiteAuditReport
    findings_by_line: dict[int, list[CiteFinding]]


def read_document_list_page(workspace: Workspace, text: str | None) -> Documents:
    """Return the Markdown documents of the last commit whose path contains ``text``."""
    here = require_project_repository(workspace)
    head = here.repository.head().commit
    if head is None:
        return Documents([], 0)
    part = (text or "").casefold()
    with here.repository.tree(head) as entries:
        paths = sorted(
            path_to_url_param(entry.path)
            for entry in entries
            if entry.kind == "blob" and str(entry.path).lower().endswith(ENDINGS)
            if part in entry.path.display.casefold()
        )
    return Documents(paths[:LISTED_MAX], max(0, len(paths) - LISTED_MAX))


def audit_document_for_page(workspace: Workspace, file: str) -> AuditedDocument:
    """Return a tracked Markdown document on disk with its citation findings; no link is followed."""
    here = require_project_repository(workspace)
    path = _document_from_url_param(here, file)
    if not str(path).lower().endswith(ENDINGS):
        raise NameNotFound(f"'{path.display}' is not a Markdown document", hint=DOCUMENTS_HINT)
    with map_errors_to_404(InputError, hint=DOCUMENTS_HINT):
        require_servable_file(here, path)
    # The git adapter follows no symbolic link out of the repository.
    file_content = here.repository.work_file(path, BYTES_MAX)
    if isinstance(file_content, NoWorkFile):
        raise NameNotFound(f"cannot show '{path.display}': {file_content.reason}", hint=DOCUMENTS_HINT)
    audit = cite_audit(here, [str(path)])
    by_line: dict[int, list[CiteFinding]] = defaultdict(list)
    for finding in audit.findings:
        by_line[finding.line].append(finding)
    try:
        lines = file_content.content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"'{path.display}' is not UTF-8 text") from error
    return AuditedDocument(path.display, lines, audit, dict(by_line))


def _document_from_url_param(workspace: Workspace, file: str) -> RepoPath:
    """Return the path of a document from a URL parameter."""
    head = workspace.repository.head().commit
    return RepoPath.of(file) if head is None else path_from_url_param(workspace.repository, head, file)


class FilePlace(Struct, frozen=True, kw_only=True):
    """A file of a commit, or with ``revision`` None a tracked file on disk."""

    file: str
    revision: str | None = "HEAD"


class FileCommit(Struct, frozen=True):
    """A commit of a file: the first line of its message, its author, and when it was made."""

    subject: str
    author: str
    seconds: int | None


class BlamePageFile(Struct, frozen=True, kw_only=True):
    """The report on a file, and its lines; ``file`` is its name in URLs."""

    file: str
    report: BlameReport
    texts: Sequence[str]
    history: Mapping[str, FileCommit] = field(default_factory=dict)
    """The last commits of the file by their ids."""


def blame_file_for_page(workspace: Workspace, place: FilePlace) -> BlamePageFile:
    """Return the lines of a file with their authors and evidence, without text of conversations."""
    here = require_project_repository(workspace)
    path, commit = _locate_page_file(here.repository, place)
    if commit is None:
        require_servable_file(here, path)
    with open_attribution(here) as evidence:
        blamed = BlameReporter(evidence).blame_file(path, commit, ())
        evidence.save()
    silent = [structs.replace(attribution, conversation_summary=None) for attribution in blamed.report.attributions]
    return BlamePageFile(
        file=path_to_url_param(path),
        report=structs.replace(blamed.report, attributions=silent),
        texts=blamed.texts,
        history=_read_file_commits(here.repository, commit or here.repository.head().commit, path),
    )


def _read_file_commits(repository: Repository, commit: CommitSha | None, path: RepoPath) -> dict[str, FileCommit]:
    """Return the last commits of a file by their ids."""
    if commit is None:
        return {}
    with repository.log([commit], [path], Walk(count_max=COMMITS_MAX)) as commits:
        return {
            found.id: FileCommit(
                found.subject.decode("utf-8", "replace"),
                found.author.name.decode("utf-8", "replace"),
                None if found.author.at is None else found.author.at.seconds,
            )
            for found in commits
        }


def explain_line_for_page(workspace: Workspace, place: FilePlace, line: int, *, note: Note | None) -> WhyReport:
    """Explain a line; the prompt only with a ``note``."""
    here = require_project_repository(workspace)
    path, commit = _locate_page_file(here.repository, place)
    return answer_why_request(here, str(path), line, revision=commit, note=note)


def read_context_lines(workspace: Workspace, place: FilePlace, path: str, line: int) -> list[tuple[int, CodeLine]]:
    """Return a line with up to ``CONTEXT_LINES`` before and after it, each with its number and color."""
    here = require_project_repository(workspace)
    file, commit = _locate_page_file(here.repository, place)
    if commit is None:
        disk = here.repository.work_file(file, BYTES_MAX)
        content = b"" if isinstance(disk, NoWorkFile) else disk.content
    else:
        with here.repository.objects(BYTES_MAX) as objects:
            found = objects.read(FileAt(commit, file))
        content = b"" if isinstance(found, NoObject) else found.content
    texts = [text.decode("utf-8", "replace").removesuffix("\r") for text in content.removesuffix(b"\n").split(b"\n")]
    first, last = max(0, line - 1 - CONTEXT_LINES), line + CONTEXT_LINES
    colored = color_code_lines(path, texts)[first:last]
    return list(enumerate(colored, first + 1))


def can_show_disk_page(workspace: Workspace) -> bool:
    """Return whether files on disk can be shown: not in a bare repository."""
    return require_project_repository(workspace).repository.work_tree is not None


def _locate_page_file(repository: Repository, place: FilePlace) -> tuple[RepoPath, CommitSha | None]:
    if place.revision is None:
        return RepoPath.of(place.file), None
    if place.revision == "HEAD" and repository.head().commit is None:
        raise InputError("this repository has no commits yet", hint="commit a file first")
    commit = repository.resolve(place.revision)
    path = path_from_url_param(repository, commit, place.file)
    (entry,) = repository.look_up([FileAt(commit, path)])
    if isinstance(entry, NoObject):
        raise InputError(
            f"cannot find '{path.display}' in {commit[:12]}: {entry.reason}",
            hint="it may have had another name then; choose a file from the list",
        )
    return path, commit
