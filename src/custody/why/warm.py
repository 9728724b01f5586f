"""A repository held open between questions, for editors and agents; every answer is that of a fresh command."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.blame import BlameReporter, BlameResult
from custody.attribution.app.context import TRACES, AttributionContext, FileVersion, open_attribution
from custody.attribution.app.history import SearchExtent
from custody.config import list_rule_files
from custody.core.errors import InputError
from custody.core.paths import Lines, RepoPath
from custody.core.record import ChainTip
from custody.git import Repository, WorkFile, read_small_file
from custody.why.report import WhyReport
from custody.why.why import trace_line
from custody.workspace.workspace import NO_REPOSITORY, NO_REPOSITORY_HINT, CommandResources, Workspace

FILES_OPEN_MAX = 8
"""Files whose history stays in memory; the one asked longest ago goes first."""
TEXT_BYTES_MAX = 16 << 20
"""Bytes of a text that stays in memory between questions; a larger one is read again each time."""
UNCOMMITTED_SECONDS_MAX = 60
"""Age up to which the origins of uncommitted lines are reused: they depend on the time of the question."""
TRACE_FILES_MAX = 1_000
LINK_BYTES_MAX = 4_096
NS = 1_000_000_000

T = TypeVar("T")
FileStamp = tuple[str, int, int, int] | None
"""The name of a file with its inode, size and time of change; None if it is missing."""
_COMMON_FILES = (
    *("packed-refs", "reftable/tables.list", "config", "shallow", "info/grafts", "objects/info/alternates"),
    *("refs/notes", "refs/replace", "refs/tags"),
)


class RepositoryStamp(Struct, frozen=True):
    """What answers depend on apart from records: references, configuration, rules and traces in the work tree."""

    files: tuple[FileStamp, ...]


class OpenFile(Struct):
    """The evidence about one file, with the latest of its versions."""

    evidence: AttributionContext
    resources: ExitStack
    content: bytes | None = None
    version: FileVersion | None = None
    made_ns: int = 0
    searched: SearchExtent | None = None
    """The scope of the search for the version."""

    def read_version(self, workspace: Workspace, path: RepoPath, content: bytes) -> FileVersion:
        """Return the version of the file with this text, which is reused while nothing has changed."""
        now_ns, history = workspace.now_ns(), self.evidence.history
        if self.searched is not None and self.version is not None and self.content == content:
            is_committed = all(line.trail for line in self.version.lines)
            if is_committed or 0 <= now_ns - self.made_ns < UNCOMMITTED_SECONDS_MAX * NS:
                history.searched = self.searched.copy()
                return self.version
        history.searched = SearchExtent()
        self.evidence.use_buffers((WorkFile(path, content),))
        self.version = self.evidence.version(path, None)
        self.searched = history.searched.copy()
        self.content = content if len(content) <= TEXT_BYTES_MAX else None
        self.made_ns = now_ns
        return self.version


class WarmWorkspace:
    """One work tree whose store, git and histories stay open between questions; for one thread.

    Before each question it compares what answers depend on and opens again what has changed. Records that arrive are
    part of the next answer.
    """

    def __init__(self, make: Callable[[CommandResources], Workspace]) -> None:
        self._make = make
        self._resources: CommandResources | None = None
        self._workspace: Workspace | None = None
        self._files: OrderedDict[RepoPath, OpenFile] = OrderedDict()
        self._stamp: RepositoryStamp | None = None
        self._tips: list[ChainTip] = []

    def blame(self, file: str, content: bytes | None = None, line_ranges: tuple[Lines, ...] = ()) -> BlameResult:
        """Return who wrote the lines of a file, on disk or with the text ``content``."""

        def ask(held: OpenFile, version: FileVersion) -> BlameResult:
            return BlameReporter(held.evidence, is_brief=True).blame_version(version, line_ranges)

        return self._ask_about_file(file, content, ask)

    def explain_line(self, file: str, line: int, content: bytes | None = None) -> WhyReport:
        """Return the chain of a line of a file, on disk or with the text ``content``."""
        return self._ask_about_file(file, content, lambda held, version: trace_line(held.evidence, version, line))

    def ask(self, question: Callable[[Workspace], T]) -> T:
        """Return the answer to another question, with the same store and git."""
        return self._guard(lambda: question(self._refresh()))

    def close(self) -> None:
        """Close everything; the next question opens it again."""
        self._drop_files()
        resources, self._resources, self._workspace = self._resources, None, None
        if resources is not None:
            resources.close()

    def _ask_about_file(self, file: str, content: bytes | None, ask: Callable[[OpenFile, FileVersion], T]) -> T:
        def answer() -> T:
            workspace = self._refresh()
            repository = workspace.repository
            path = repository.path(file, workspace.folder)
            text = _read_text(repository, path) if content is None else content
            held = self._open_file(workspace, path)
            found = ask(held, held.read_version(workspace, path, text))
            held.evidence.save()
            return found

        return self._guard(answer)

    def _guard(self, answer: Callable[[], T]) -> T:
        """Return an answer; after a failure of git or the store the next question opens everything again."""
        try:
            return answer()
        except InputError:
            raise
        except BaseException:
            self.close()
            raise

    def _refresh(self) -> Workspace:
        """Return the workspace with everything open that is still true."""
        workspace = self._workspace
        if workspace is not None and self._stamp != stamp_repository(workspace.repository):
            self.close()
            workspace = None
        if workspace is None:
            workspace = self._open()
        with workspace.reading() as store:
            tips = store.tables.chains()
        if tips != self._tips:
            self._drop_files()
            self._tips = tips
        return workspace

    def _open(self) -> Workspace:
        resources = CommandResources()
        try:
            workspace = self._make(resources)
            self._stamp = stamp_repository(workspace.repository)
        except BaseException:
            resources.close()
            raise
        self._resources, self._workspace = resources, workspace
        return workspace

    def _open_file(self, workspace: Workspace, path: RepoPath) -> OpenFile:
        held = self._files.pop(path, None)
        if held is None:
            while len(self._files) >= FILES_OPEN_MAX:
                self._files.popitem(last=False)[1].resources.close()
            stack = ExitStack()
            evidence = stack.enter_context(open_attribution(replace(workspace), "lineage"))
            held = OpenFile(evidence, stack)
        self._files[path] = held
        return held

    def _drop_files(self) -> None:
        while self._files:
            self._files.popitem()[1].resources.close()


def _read_text(repository: Repository, path: RepoPath) -> bytes:
    file = repository.work_file(path)
    if isinstance(file, WorkFile):
        return file.content
    raise InputError(f"cannot read '{path.display}': it {file.reason}", hint="pass a file of the work tree")


def stamp_repository(repository: Repository) -> RepositoryStamp:
    """Return what answers depend on, by a few calls of ``stat``; an ``InputError`` if the repository is gone."""
    head = repository.git_dir / "HEAD"
    try:
        reference = read_small_file(head, LINK_BYTES_MAX)
    except OSError as error:
        raise InputError(NO_REPOSITORY, hint=NO_REPOSITORY_HINT) from error
    names = [head, repository.git_dir / "config.worktree"]
    names += [repository.common_dir / name for name in _COMMON_FILES]
    if isinstance(reference, bytes) and reference.startswith(b"ref: refs/"):
        names.append(repository.common_dir / os.fsdecode(reference[5:].strip().replace(b"\0", b"")))
    names += _list_work_tree_names(repository.work_tree)
    return RepositoryStamp(tuple(map(_stamp_file, names)))


def _list_work_tree_names(work_tree: Path | None) -> Iterator[Path]:
    if work_tree is None:
        return
    yield from (work_tree / os.fsdecode(path.raw) for path in list_rule_files())
    traces = work_tree / TRACES
    yield traces
    try:
        with os.scandir(traces) as entries:
            yield from sorted(Path(entry.path) for entry, _ in zip(entries, range(TRACE_FILES_MAX), strict=False))
    except OSError:
        return  # most repositories have none


def _stamp_file(name: Path) -> FileStamp:
    try:
        info = name.stat()
    except (OSError, ValueError):
        return None
    return str(name), info.st_ino, info.st_size, info.st_ctime_ns
