"""A draft as a commit: files that are not on disk, on top of HEAD, in a private folder that is deleted afterwards."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git.discovery import RepositoryPlace
from custody.git.objects import NoObject, TreeEntry, list_tree_folders, write_tree_objects
from custody.git.private_repository import PrivateRepository, WorkTreePatterns, open_private_repository
from custody.git.work_commit import SealedObjects, encode_work_commit, read_parent_commit_time

NO_PATTERNS = WorkTreePatterns(b"", b"", b"", b"")
REGULAR_FILE = 0o100644


class DraftRequest(Struct, frozen=True):
    """A draft: the new text of each file, and the commit of HEAD below it, if any."""

    place: RepositoryPlace
    parent: CommitSha | None
    contents: Mapping[RepoPath, bytes]
    message: str


class DraftCommit(Struct, frozen=True):
    """The commit of a draft, and the folder of its new objects."""

    objects: Path
    commit: CommitSha


@contextmanager
def make_draft_commit(
    request: DraftRequest, entries: Iterable[TreeEntry], sealed: SealedObjects
) -> Iterator[DraftCommit]:
    """Yield a commit with these files over those of ``entries``; nothing is written to the repository."""
    for path in request.contents:
        if any(part.lower() == b".git" for part in path.raw.split(b"/")):
            raise InputError(f"'{path.display}' belongs to git", hint="name a file of the work tree")
    work_tree = request.place.work_tree or request.place.git_dir
    with open_private_repository(request.place, work_tree, NO_PATTERNS) as private:
        tree = _write_draft_tree(request, entries, private, sealed)
        seconds = read_parent_commit_time(request.parent, sealed.objects)
        message = request.message.encode("utf-8", "replace").replace(b"\0", b"") + b"\n"
        commit = private.write("commit", encode_work_commit(tree, request.parent, seconds, message))
        yield DraftCommit(private.objects, CommitSha(commit))


def _write_draft_tree(
    request: DraftRequest, entries: Iterable[TreeEntry], private: PrivateRepository, sealed: SealedObjects
) -> str:
    names = {path.raw for path in request.contents}
    folders = {folder for name in names for folder in list_tree_folders(name)}
    # A file of HEAD gives way to a draft's folder of that name, and the files of a folder to a draft's file.
    files = [
        (entry.path.raw, entry.mode, entry.id)
        for entry in entries
        if entry.path.raw not in names | folders and names.isdisjoint(list_tree_folders(entry.path.raw))
    ]
    files += [(path.raw, REGULAR_FILE, private.write("blob", text)) for path, text in request.contents.items()]
    trees: dict[str, bytes] = {}

    def collect(content: bytes) -> str:
        sha = private.compute_id("tree", content)
        trees[sha] = content
        return sha

    root = write_tree_objects(files, collect)
    for sha, info in zip(trees, sealed.look_up(trees), strict=True):
        if isinstance(info, NoObject):
            private.write("tree", trees[sha])
    return root
