"""The repository: every use of git by other packages is a method of ``Repository``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern
from custody.git.chunk_reader import parse_commit_sha
from custody.git.command import USUAL, AnswerStream, Git, ProcessLimits, check_git_version
from custody.git.discovery import RepositoryPlace, locate_repository
from custody.git.environment import make_open_environment, make_sealed_environment
from custody.git.failure import check_revision, encode_git_argument
from custody.git.objects import (
    FileAt,
    NoObject,
    Object,
    ObjectConnections,
    ObjectInfo,
    ObjectReader,
    TreeEntry,
    list_commit_tree,
    look_up_objects,
    read_object,
)
from custody.git.refs import (
    HEAD_OPTIONS,
    REF_FORMAT,
    Ref,
    Remotes,
    RemoteUrl,
    RepositoryHead,
    check_ref_prefix,
    parse_head,
    parse_refs,
    parse_remote_url,
    read_remotes,
)
from custody.git.work_tree_file import (
    FILE_BYTES_MAX,
    NoWorkFile,
    WorkFile,
    limit_work_file,
    read_small_file,
    read_work_file,
    resolve_work_tree_path,
)

if TYPE_CHECKING:
    from custody.git.blame import BlameEntry, LineSource
    from custody.git.commit_log import Ancestry, Commit, Walk
    from custody.git.diff import CommitChanges, CommitDiff, Comparison, PatchLimits
    from custody.git.exchange import Exchange, NoteWriteCount
    from custody.git.work_commit import WorkLimits


OBJECT_BYTES_MAX = 64 << 20
SHALLOW_BYTES_MAX = 64 << 20

BRANCH_PREFIXES = ("refs/heads/", "refs/remotes/")

_YES_NO = (0, 1)
_RENAMES = ("--no-renames", "--find-renames")


_AMBIGUOUS = lazy_pattern(rb"refname '([^\n]+)' is ambiguous")
_FULL_ID = lazy_pattern(rb"[0-9a-f]{40}|[0-9a-f]{64}")


def _refuse_ambiguous_name(warnings: bytes) -> None:
    """Raise ``InputError`` if git warned that two references have a name: it prefers tags, which anybody may push.

    A full id and HEAD mean themselves whatever else has that name.
    """
    found = _AMBIGUOUS.search(warnings)
    if found is not None and found[1] != b"HEAD" and not _FULL_ID.fullmatch(found[1]):
        name = found[1].decode("utf-8", "replace")
        raise InputError(f"'{name}' is ambiguous", hint=f"write the full name, such as refs/heads/{name}")


def discover_repository(folder: Path, limits: ProcessLimits = USUAL) -> Repository:
    """Find the repository around ``folder`` with one git process; raises ``InputError`` without one."""
    return Repository(locate_repository(folder, limits), limits)


class Repository(Struct, frozen=True):
    """A repository, found by ``discover_repository``. Commits are full ids; ``resolve`` returns one.

    Nothing here runs a program that the repository names, only ``write_notes`` writes to it, and only ``exchange``
    uses the network.
    """

    place: RepositoryPlace
    limits: ProcessLimits = USUAL
    connections: ObjectConnections | None = None
    """The processes that read objects, if a command shares them."""
    buffers: tuple[WorkFile, ...] = ()
    """Files as an editor holds them; they replace those on disk."""

    def share_connections(self) -> Repository:
        """Return the repository with processes that serve all its readers until ``connections`` is closed."""
        return replace(self, connections=ObjectConnections())

    @property
    def git_dir(self) -> Path:
        """The git directory of this work tree."""
        return self.place.git_dir

    @property
    def common_dir(self) -> Path:
        """The git directory that all work trees share."""
        return self.place.common_dir

    @property
    def work_tree(self) -> Path | None:
        """The folder of the files; None in a bare repository and inside ``.git``."""
        return self.place.work_tree

    @property
    def object_format(self) -> str:
        """``sha1`` or ``sha256``."""
        return self.place.object_format

    # Names, read with references and configuration in the ``open`` environment (environment.py).

    def head(self) -> RepositoryHead:
        """Return HEAD; for readers that share connections, that of the time when the repository was found."""
        if self.connections is not None and self.place.head is not None:
            return self.place.head
        head = parse_head(self._open.run("rev-parse", *HEAD_OPTIONS))
        if head is not None:
            return head
        branch = self._open.run("symbolic-ref", "--quiet", "HEAD", statuses=_YES_NO)
        commit = self._open.run("rev-parse", "--quiet", "--verify", "HEAD", statuses=_YES_NO)
        return RepositoryHead(branch.rstrip(b"\n") or None, parse_commit_sha(commit.rstrip(b"\n")) if commit else None)

    def resolve(self, typed: str) -> CommitSha:
        """Return the commit that ``typed`` names; raises ``InputError`` without one."""
        revision = check_revision(typed) + b"^{commit}"
        git = replace(self._open, settings=(*self._open.settings, "-c", "core.warnAmbiguousRefs=true"))
        try:
            with git.start("rev-parse", "--verify", "--end-of-options", revision) as child:
                answer = b"".join(child.chunks())
                _refuse_ambiguous_name(child.read_stderr())
        except InputError as error:
            kind = "ambiguous" if "is ambiguous" in error.message else "unknown"
            raise InputError(f"{kind} revision {typed[:80]!a}", hint=error.hint) from error
        return parse_commit_sha(answer.rstrip(b"\n"))

    def refs(self, *prefixes: str) -> AnswerStream[Ref]:
        """List the references below any of these prefixes, or all, by name."""
        checked = map(check_ref_prefix, prefixes or ("refs/",))
        return AnswerStream(self._open.start("for-each-ref", REF_FORMAT, "--", *checked), parse_refs)

    def tips(self) -> list[CommitSha]:
        """Return the tips of branches that no other branch contains."""
        from custody.git.commit_log import Ancestry

        ends = {CommitSha(ref.id) for ref in self.refs(*BRANCH_PREFIXES)}
        head = self.head().commit
        ends |= set() if head is None else {head}
        pairs = [Ancestry(end, other) for end in ends for other in ends if end != other]
        contained = {pair.ancestor for pair in self.ancestries(pairs)} if pairs else set()
        return sorted(ends - contained)

    def roots(self) -> list[CommitSha]:
        """Return the root commits of all branches: they identify the repository across clones."""
        from custody.git.commit_log import read_root_commits

        tips = self.tips()
        return read_root_commits(self._sealed, tips) if tips else []

    def list_shallow_commits(self) -> frozenset[CommitSha]:
        """Return the commits whose parents are missing from a shallow clone."""
        try:
            lines = read_small_file(self.common_dir / "shallow", SHALLOW_BYTES_MAX)
        except FileNotFoundError:
            return frozenset()  # not a shallow clone
        except OSError as error:
            raise GitError(f"cannot read the boundary of the shallow clone: {error.strerror}") from error
        if isinstance(lines, str):
            raise GitError(f"cannot read the boundary of the shallow clone: 'shallow' {lines}")
        return frozenset(parse_commit_sha(line) for line in lines.split())

    def list_tracked_files(self, paths: Iterable[RepoPath]) -> frozenset[RepoPath]:
        """Return the files in the index at or below ``paths``."""
        from custody.git.work_tree_settings import list_tracked_files

        return list_tracked_files(self._open, paths)

    def hooks_path(self) -> Path | None:
        """Return ``core.hooksPath``, relative to the work tree, if it is set."""
        from custody.git.work_tree_settings import read_path_setting

        return read_path_setting(self._open, "core.hooksPath")

    def remotes(self) -> Remotes:
        """Return the remotes in the configuration, with names and URLs only."""
        return read_remotes(self._open)

    def resolve_remote_url(self, url: str) -> RemoteUrl:
        """Parse a URL or a path relative to this repository; raises ``InputError`` if custody does not support it."""
        return parse_remote_url(url, self.work_tree or self.git_dir)

    def exchange(self, folder: Path) -> Exchange:
        """Return the evidence in ``folder`` that is exchanged with remotes."""
        from custody.git.exchange import Exchange

        return Exchange(folder, self.object_format, self.limits)

    def write_notes(
        self, ref: str, notes: Mapping[CommitSha, bytes], is_ours: Callable[[bytes], bool], at_seconds: int
    ) -> NoteWriteCount:
        """Write notes into the reference ``ref``: the only method that adds to the repository.

        Existing notes that are not ``is_ours`` stay. If the reference moved meanwhile, this fails without losing data.
        """
        from custody.git.exchange import COMMITTER_ENVIRONMENT, NotesTree, check_notes_ref

        name = check_notes_ref(ref)
        refs = list(self.refs(f"{name.rpartition('/')[0]}/"))
        tip = next((reference.id for reference in refs if reference.name == name.encode()), None)
        entries = [] if tip is None else list(self.tree(CommitSha(tip)))
        tree = NotesTree(self.common_dir / "objects", self.object_format, entries)
        with self.objects() as objects:
            count = tree.put_all(notes, objects.read, is_ours)
        if count.written:
            commit = tree.commit(tip, "Notes added by 'custody export git-ai'", at_seconds)
            git = replace(self._open, environment={**self._open.environment, **COMMITTER_ENVIRONMENT})
            # A symbolic reference is not followed.
            git.run("update-ref", "--no-deref", name, commit, tip or "0" * len(commit))
        return count

    # Contents, read in the ``sealed`` environment (environment.py).

    def blame(self, commit: CommitSha, path: RepoPath, lines: Iterable[Lines] = ()) -> AnswerStream[BlameEntry]:
        """Yield the commit that wrote each line of ``path`` as of ``commit``; all lines, or only ``lines``."""
        from custody.git.blame import start_git_blame

        return start_git_blame(self._sealed, FileAt(commit, path), lines)

    def line_sources(self, commit: CommitSha, path: RepoPath, lines: Iterable[Lines] = ()) -> list[LineSource]:
        """Return where lines of ``path`` as of ``commit`` come from, as far as their history is here."""
        from custody.git.blame import read_line_sources

        return read_line_sources(self._sealed, FileAt(commit, path), lines)

    def diffs(
        self,
        comparisons: Iterable[Comparison],
        paths: Iterable[RepoPath] = (),
        *,
        renames: bool = False,
        with_added: bool = True,
        limits: PatchLimits | None = None,
    ) -> AnswerStream[CommitDiff]:
        """Yield the removed and added lines, one answer per comparison; only below ``paths``, if any.

        With ``paths``, ``renames`` sees only files below them: a file from elsewhere counts as added. Without
        ``with_added``, files that exist on one side only are left out.
        """
        from custody.git.diff import USUAL_PATCH, parse_patches, start_diff_tree

        options = ("--raw", "-p", "--unified=0", _RENAMES[renames], *(() if with_added else ("--diff-filter=MRT",)))
        return start_diff_tree(
            self._sealed, comparisons, paths, options, partial(parse_patches, limits=limits or USUAL_PATCH)
        )

    def changes(
        self, comparisons: Iterable[Comparison], paths: Iterable[RepoPath] = (), *, renames: bool = True
    ) -> AnswerStream[CommitChanges]:
        """Yield the changed files with renames, but without their lines; otherwise like ``diffs``."""
        from custody.git.diff import parse_diff_changes, start_diff_tree

        return start_diff_tree(self._sealed, comparisons, paths, ("--raw", _RENAMES[renames]), parse_diff_changes)

    def log(
        self, commits: Iterable[CommitSha], paths: Iterable[RepoPath] = (), walk: Walk | None = None
    ) -> AnswerStream[Commit]:
        """Yield ``commits`` and their ancestors, newest first.

        With ``paths``, only commits that changed something below them, with their simplified parents.
        """
        from custody.git.commit_log import WHOLE, read_commit_log

        return read_commit_log(self._sealed, commits, paths, walk or WHOLE)

    def parents(self, commits: Iterable[CommitSha]) -> AnswerStream[tuple[CommitSha, tuple[CommitSha, ...]]]:
        """Yield the ids of ``commits`` and their ancestors with their parents, children first."""
        from custody.git.commit_log import read_commit_parents

        return read_commit_parents(self._sealed, commits)

    def tree(self, commit: CommitSha, paths: Iterable[RepoPath] = ()) -> AnswerStream[TreeEntry]:
        """List all files of ``commit``, or those below ``paths``."""
        return list_commit_tree(self._sealed, commit, paths)

    def objects(self, bytes_max: int = OBJECT_BYTES_MAX) -> ObjectReader[Object]:
        """Return a reader of objects, for a ``with`` block; objects over ``bytes_max`` are reported as too large."""
        return ObjectReader(self._sealed, "--batch", partial(read_object, bytes_max=bytes_max), self.connections)

    def look_up(self, names: Iterable[str | FileAt]) -> Iterator[ObjectInfo | NoObject]:
        """Yield the kind and size of each object, or why there is none, in the order of ``names``."""
        return look_up_objects(self._sealed, names, self.connections)

    def ancestries(self, pairs: Collection[Ancestry]) -> frozenset[Ancestry]:
        """Return the true ``pairs``; a missing commit has no ancestors.

        Three processes serve any number of pairs; the cost is commits walked × descendants / 64.
        """
        from custody.git.commit_log import find_ancestries

        return find_ancestries(self._sealed, pairs, self.connections)

    # The work tree; git never reads its files for us.

    def path(self, typed: str, folder: Path) -> RepoPath:
        """Return the repository path of what a user typed in ``folder``; unchanged in a bare repository."""
        if self.work_tree is None:
            return RepoPath(encode_git_argument(typed))
        return resolve_work_tree_path(self.work_tree, typed, folder)

    def work_file(self, path: RepoPath, bytes_max: int = FILE_BYTES_MAX) -> WorkFile | NoWorkFile:
        """Read a regular file on disk, never through a symbolic link; or return why it cannot be read.

        A buffer of this path replaces the file on disk.
        """
        if self.work_tree is None:
            return NoWorkFile(path, "is in a bare repository")
        for buffer in self.buffers:
            if buffer.path == path:
                return limit_work_file(buffer, bytes_max)
        return read_work_file(self.work_tree, path, bytes_max)

    @contextmanager
    def with_work_tree(self, *, limits: WorkLimits | None = None) -> Iterator[WorkCommit]:
        """Yield the work tree on disk as a commit on top of HEAD.

        The commit and its new objects are in a temporary folder that is deleted at the end of the block. The same files
        give the same id: the commit has the time of HEAD. ``make_work_tree_commit`` decides what it contains; only
        files whose stat differs from the index are read.
        """
        from custody.git.work_commit import USUAL_WORK, SealedObjects, WorkCommitRequest, make_work_tree_commit

        if self.work_tree is None:
            raise InputError(f"'{self.git_dir}' has no work tree", hint="run inside a work tree, or name one with -C")
        request = WorkCommitRequest(self.place, self.work_tree, self.head().commit, self.limits, limits or USUAL_WORK)
        with (
            self.objects() as objects,
            make_work_tree_commit(request, self._open, SealedObjects(objects, self.look_up)) as work,
        ):
            repository = replace(self, place=replace(self.place, more_objects=work.objects), connections=None)
            yield WorkCommit(repository, work.commit, work.left_out)

    @contextmanager
    def with_draft(self, contents: Mapping[RepoPath, bytes], message: str) -> Iterator[WorkCommit]:
        """Yield files that are not on disk as a commit on top of HEAD, in a folder that is deleted afterwards."""
        from custody.git.draft_commit import DraftRequest, make_draft_commit
        from custody.git.work_commit import SealedObjects

        parent = self.head().commit
        request = DraftRequest(self.place, parent, contents, message)
        with self.objects() as objects, ExitStack() as stack:
            entries = () if parent is None else stack.enter_context(self.tree(parent))
            sealed = SealedObjects(objects, self.look_up)
            with make_draft_commit(request, entries, sealed) as draft:
                place = replace(self.place, more_objects=draft.objects)
                yield WorkCommit(replace(self, place=place, connections=None), draft.commit, ())

    @property
    def _open(self) -> Git:
        return Git(
            self.common_dir, make_open_environment(os.environ, self.git_dir), self.common_dir, self.limits.brief()
        )

    @property
    def _sealed(self) -> Git:
        check_git_version()
        environment = make_sealed_environment(os.environ, self.common_dir, self.object_format, self.place.more_objects)
        return Git(self.common_dir, environment, self.common_dir, self.limits)


class WorkCommit(Struct, frozen=True):
    """A work tree as ``commit`` of ``repository``; ``left_out`` lists the files that it lacks, and why."""

    repository: Repository
    commit: CommitSha
    left_out: tuple[NoWorkFile, ...]
