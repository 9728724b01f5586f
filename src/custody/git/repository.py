"""A repository as the rest of custody sees it: every question to git is a method of ``Repository``."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git.blame import BlameEntry, blame
from custody.git.chunk_reader import commit_sha
from custody.git.command import USUAL, AnswerStream, Git, ProcessLimits, git_version
from custody.git.commit_log import WHOLE, Ancestry, Commit, Walk, ancestries, log, parents
from custody.git.diff import (
    USUAL_PATCH,
    CommitChanges,
    CommitDiff,
    Comparison,
    PatchLimits,
    compare,
    parse_changes,
    parse_patches,
)
from custody.git.discovery import RepositoryPlace, find_place
from custody.git.environment import open_environment, sealed_environment
from custody.git.exchange import AS_OURSELVES, Exchange, NotesTree, NoteWriteCount, notes_ref
from custody.git.failure import revision, typed_bytes
from custody.git.objects import (
    FileAt,
    NoObject,
    Object,
    ObjectInfo,
    ObjectReader,
    TreeEntry,
    look_up,
    read_object,
    tree,
)
from custody.git.refs import (
    REF_FORMAT,
    Ref,
    Remotes,
    RemoteUrl,
    RepositoryHead,
    address_of,
    parse_refs,
    read_remotes,
    ref_prefix,
)
from custody.git.work_commit import USUAL_WORK, SealedObjects, WorkCommitRequest, WorkLimits, work_commit
from custody.git.work_tree_file import (
    FILE_BYTES_MAX,
    NoWorkFile,
    WorkFile,
    path_in_work_tree,
    read_small_file,
    read_work_file,
)
from custody.git.work_tree_settings import list_tracked, path_setting

OBJECT_BYTES_MAX = 64 << 20
SHALLOW_BYTES_MAX = 64 << 20

BRANCH_PREFIXES = ("refs/heads/", "refs/remotes/")

_YES_NO = (0, 1)
_RENAMES = ("--no-renames", "--find-renames")


def discover(folder: Path, limits: ProcessLimits = USUAL) -> "Repository":
    """The repository around ``folder``, by one git process; an ``InputError`` when there is none."""
    return Repository(find_place(folder, limits), limits)


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, found by ``discover``. Commits are full ids (``resolve`` makes one of what a user typed).

    Nothing here runs a program that the repository names, only ``write_notes`` writes to it, and only ``exchange``
    reaches a network.
    """

    place: RepositoryPlace
    limits: ProcessLimits = USUAL

    @property
    def git_dir(self) -> Path:
        """Where this work tree's own files of git are."""
        return self.place.git_dir

    @property
    def common_dir(self) -> Path:
        """Where the files are that all work trees of the repository share."""
        return self.place.common_dir

    @property
    def work_tree(self) -> Path | None:
        """The folder with the files; None in a bare repository (and inside ``.git``)."""
        return self.place.work_tree

    @property
    def object_format(self) -> str:
        """``sha1`` or ``sha256``."""
        return self.place.object_format

    # Names. These read the repository's references, and its configuration with them (``open`` in surroundings.py).

    def head(self) -> RepositoryHead:
        """Where HEAD is."""
        branch = self._open.run("symbolic-ref", "--quiet", "HEAD", fine=_YES_NO)
        commit = self._open.run("rev-parse", "--quiet", "--verify", "HEAD", fine=_YES_NO)
        return RepositoryHead(branch.rstrip(b"\n") or None, commit_sha(commit.rstrip(b"\n")) if commit else None)

    def resolve(self, typed: str) -> CommitSha:
        """The commit that ``typed`` names, as git reads names; an ``InputError`` when there is none."""
        named = revision(typed) + b"^{commit}"
        try:
            answer = self._open.run("rev-parse", "--verify", "--end-of-options", named)
        except InputError as error:
            raise InputError(f"no commit is named {typed[:80]!a}: {error.message}", hint=error.hint) from error
        return commit_sha(answer.rstrip(b"\n"))

    def refs(self, prefix: str = "refs/") -> AnswerStream[Ref]:
        """The references below ``prefix``, by name."""
        return AnswerStream(self._open.start("for-each-ref", REF_FORMAT, "--", ref_prefix(prefix)), parse_refs)

    def tips(self) -> list[CommitSha]:
        """The commits that branches end at and no other branch contains."""
        ends = {CommitSha(ref.id) for prefix in BRANCH_PREFIXES for ref in self.refs(prefix)}
        head = self.head().commit
        ends |= set() if head is None else {head}
        pairs = [Ancestry(end, other) for end in ends for other in ends if end != other]
        contained = {pair.ancestor for pair in self.ancestries(pairs)} if pairs else set()
        return sorted(ends - contained)

    def cuts(self) -> frozenset[CommitSha]:
        """The commits whose parents were left out of a shallow clone."""
        try:
            lines = read_small_file(self.common_dir / "shallow", SHALLOW_BYTES_MAX)
        except FileNotFoundError:
            return frozenset()  # the usual case: nothing was cut
        except OSError as error:
            raise GitError(f"cannot read where history was cut: {error.strerror}") from error
        if isinstance(lines, str):
            raise GitError(f"cannot read where history was cut: 'shallow' {lines}")
        return frozenset(commit_sha(line) for line in lines.split())

    def tracked(self, paths: Iterable[RepoPath]) -> frozenset[RepoPath]:
        """The files in the index of this work tree at or below ``paths``."""
        return list_tracked(self._open, paths)

    def hooks_path(self) -> Path | None:
        """``core.hooksPath`` if somebody has set it, relative to the work tree; its hooks never run for us."""
        return path_setting(self._open, "core.hooksPath")

    def remotes(self) -> Remotes:
        """The remotes that the configuration names; nothing of them is used but names and addresses."""
        return read_remotes(self._open)

    def address(self, url: str) -> RemoteUrl:
        """The address that ``url`` is, seen from this repository; an ``InputError`` when custody does not go there."""
        return address_of(url, self.work_tree or self.git_dir)

    def exchange(self, folder: Path) -> Exchange:
        """The evidence in ``folder`` that is exchanged with remotes: the only part of this door that reaches any."""
        return Exchange(folder, self.object_format, self.limits)

    def write_notes(
        self, ref: str, notes: Mapping[CommitSha, bytes], is_ours: Callable[[bytes], bool], at_seconds: int
    ) -> NoteWriteCount:
        """Put notes into the reference ``ref`` of this repository: the only method that adds to it.

        A note that is there already and not ``is_ours`` stays. Who moved the reference meanwhile makes this fail, and
        nothing is lost.
        """
        name = notes_ref(ref)
        tip = next(
            (
                reference.id
                for reference in list(self.refs(f"{name.rpartition('/')[0]}/"))
                if reference.name == name.encode()
            ),
            None,
        )
        entries = [] if tip is None else list(self.tree(CommitSha(tip)))
        made = NotesTree(self.common_dir / "objects", self.object_format, entries)
        with self.objects() as objects:
            done = made.put_all(notes, objects.read, is_ours)
        if done.written:
            commit = made.commit(tip, "Notes added by 'custody export git-ai'", at_seconds)
            git = replace(self._open, environment={**self._open.environment, **AS_OURSELVES})
            # Nothing that a repository makes a symbolic reference of is followed to another one.
            git.run("update-ref", "--no-deref", name, commit, tip or "0" * len(commit))
        return done

    # Contents. These see objects and nothing else (``sealed`` in surroundings.py).

    def blame(self, commit: CommitSha, path: RepoPath, lines: Iterable[Lines] = ()) -> AnswerStream[BlameEntry]:
        """Which commit wrote which lines of ``path`` as of ``commit``, by line; all lines or only these."""
        return blame(self._sealed, FileAt(commit, path), lines)

    def diffs(
        self,
        comparisons: Iterable[Comparison],
        paths: Iterable[RepoPath] = (),
        *,
        renames: bool = False,
        limits: PatchLimits = USUAL_PATCH,
    ) -> AnswerStream[CommitDiff]:
        """The lines that commits removed and added, one answer per comparison; only below ``paths`` when there are any.

        With ``paths``, ``renames`` sees only what is below them: a file that came from elsewhere is an added one.
        """
        options = ("--raw", "-p", "--unified=0", _RENAMES[renames])
        return compare(self._sealed, comparisons, paths, options, partial(parse_patches, limits=limits))

    def changes(
        self, comparisons: Iterable[Comparison], paths: Iterable[RepoPath] = (), *, renames: bool = True
    ) -> AnswerStream[CommitChanges]:
        """The files that commits changed, with renames, without their lines; else as ``diffs``."""
        return compare(self._sealed, comparisons, paths, ("--raw", _RENAMES[renames]), parse_changes)

    def log(
        self, commits: Iterable[CommitSha], paths: Iterable[RepoPath] = (), walk: Walk = WHOLE
    ) -> AnswerStream[Commit]:
        """``commits`` and what they descend from, newest first.

        With ``paths``, only commits that changed something below them, and their parents as far as git followed them.
        """
        return log(self._sealed, commits, paths, walk)

    def parents(self, commits: Iterable[CommitSha]) -> AnswerStream[tuple[CommitSha, tuple[CommitSha, ...]]]:
        """``commits`` and what they descend from, each with its parents and nothing more, children first."""
        return parents(self._sealed, commits)

    def tree(self, commit: CommitSha, paths: Iterable[RepoPath] = ()) -> AnswerStream[TreeEntry]:
        """All files of ``commit``, or those below ``paths``."""
        return tree(self._sealed, commit, paths)

    def objects(self, bytes_max: int = OBJECT_BYTES_MAX) -> ObjectReader[Object]:
        """A reader of objects, for a ``with`` block; those over ``bytes_max`` are said to be too large."""
        return ObjectReader(self._sealed, "--batch", partial(read_object, bytes_max=bytes_max))

    def look_up(self, names: Iterable[str | FileAt]) -> Iterator[ObjectInfo | NoObject]:
        """What the objects with these names are, without their contents: one answer for each, in their order."""
        return look_up(self._sealed, names)

    def ancestries(self, pairs: Collection[Ancestry]) -> frozenset[Ancestry]:
        """Those of ``pairs`` that are true; a commit that is not here has no relatives.

        Three processes for any number of pairs: which commits are here, where a walk may stop, and one walk from all
        descendants; its cost is the commits walked × descendants / 64.
        """
        return ancestries(self._sealed, pairs)

    # The work tree, whose files git never reads for us.

    def path(self, typed: str, folder: Path) -> RepoPath:
        """What a user typed in ``folder`` as a path of the repository; in a bare one, as it is typed."""
        if self.work_tree is None:
            return RepoPath(typed_bytes(typed))
        return path_in_work_tree(self.work_tree, typed, folder)

    def work_file(self, path: RepoPath, bytes_max: int = FILE_BYTES_MAX) -> WorkFile | NoWorkFile:
        """The bytes of ``path`` on disk: a regular file, not behind a symbolic link, or why there is none."""
        if self.work_tree is None:
            return NoWorkFile(path, "is in a bare repository")
        return read_work_file(self.work_tree, path, bytes_max)

    @contextmanager
    def with_work_tree(self, *, limits: WorkLimits = USUAL_WORK) -> Iterator["WorkCommit"]:
        """The work tree as it is on disk as a commit on top of HEAD, about which all questions may be asked.

        The commit and what is new in it lie in a temporary folder that goes with the block, whatever happens in it.
        The same files give the same id: the commit says that it was made when HEAD was. What it holds
        is decided in ``work_commit``; files are read whose stat is not as the index remembers it, no others.
        """
        if self.work_tree is None:
            raise InputError(f"'{self.git_dir}' has no work tree", hint="stand in a work tree, or name one with -C")
        asked = WorkCommitRequest(self.place, self.work_tree, self.head().commit, self.limits, limits)
        with self.objects() as objects, work_commit(asked, self._open, SealedObjects(objects, self.look_up)) as made:
            beside = replace(self, place=replace(self.place, more_objects=made.objects))
            yield WorkCommit(beside, made.commit, made.left_out)

    @property
    def _open(self) -> Git:
        return Git(self.common_dir, open_environment(os.environ, self.git_dir), self.common_dir, self.limits.brief())

    @property
    def _sealed(self) -> Git:
        git_version()
        environment = sealed_environment(os.environ, self.common_dir, self.object_format, self.place.more_objects)
        return Git(self.common_dir, environment, self.common_dir, self.limits)


@dataclass(frozen=True, slots=True)
class WorkCommit:
    """A work tree as ``commit`` of ``repository``; ``left_out`` says what of it the commit does not tell, and why."""

    repository: Repository
    commit: CommitSha
    left_out: tuple[NoWorkFile, ...]
