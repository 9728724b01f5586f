"""One call of every method of the git adapter; ``test_hostile`` checks that none is missing."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import (
    Ancestry,
    Comparison,
    FileAt,
    Object,
    Repository,
    Walk,
    check_git_version,
    discover_repository,
    read_user_pager,
)
from custody.git.command import _read_git_version
from custody.git.private_repository import PREFIX


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The target of the calls: two commits and a file of the newer one."""

    new: CommitSha
    old: CommitSha
    path: RepoPath


def _blame(repository: Repository, target: CallTarget) -> None:
    assert list(repository.blame(target.new, target.path))
    assert list(repository.blame(target.new, target.path, [Lines(1, 1)]))


def _diffs(repository: Repository, target: CallTarget) -> None:
    for renames in (False, True):
        assert list(repository.diffs([Comparison(target.new, target.old)], renames=renames))
    assert list(repository.diffs([Comparison(target.new), Comparison(target.old)], [target.path]))


def _changes(repository: Repository, target: CallTarget) -> None:
    assert list(repository.changes([Comparison(target.new), Comparison(target.old)]))


def _log(repository: Repository, target: CallTarget) -> None:
    assert list(repository.log([target.new]))
    assert list(repository.log([target.new], [target.path], Walk(without=[target.old])))


def _objects(repository: Repository, target: CallTarget) -> None:
    with repository.objects() as objects:
        assert isinstance(objects.read(target.new), Object)
        objects.read(FileAt(target.new, target.path))
        assert list(objects.read_all([target.old, "1" * len(target.old), FileAt(target.new, RepoPath(b"a\nb"))]))


def _share_connections(repository: Repository, target: CallTarget) -> None:
    shared = repository.share_connections()
    assert shared.connections is not None
    try:
        assert shared.head() == repository.head()
        for _ in range(2):
            with shared.objects() as objects:
                assert isinstance(objects.read(target.new), Object)
    finally:
        shared.connections.close()


def _resolve(repository: Repository, target: CallTarget) -> None:
    assert repository.resolve(target.new) == target.new
    for typed in ("HEAD", "HEAD~1", "--output=x", "nowhere", "refs/heads/--upload-pack=x", "1" * 40):
        _either_way(partial(repository.resolve, typed))


def _path(repository: Repository, target: CallTarget) -> None:
    for typed in (str(target.path), "../outside", "link/x", "/etc/passwd"):
        _either_way(partial(repository.path, typed, repository.work_tree or repository.git_dir))


def _work_file(repository: Repository, target: CallTarget) -> None:
    for path in (target.path, RepoPath(b"link"), RepoPath(b"folder/link/x"), RepoPath(b".git/config")):
        repository.work_file(path)


def _discover(repository: Repository, target: CallTarget) -> None:
    folder = repository.work_tree or repository.git_dir
    assert discover_repository(folder).place == repository.place
    _either_way(partial(discover_repository, Path("/")))


def _with_work_tree(repository: Repository, target: CallTarget) -> None:
    """Call the methods that verbs use for the work tree; a bare repository must raise a typed error."""
    if repository.work_tree is None:
        _either_way(lambda: repository.with_work_tree().__enter__())
        return
    with repository.with_work_tree() as work:
        assert list(work.repository.log([work.commit]))
        assert list(work.repository.tree(work.commit))
        assert list(work.repository.diffs([Comparison(work.commit)], renames=True))
        with work.repository.objects() as objects:
            assert isinstance(objects.read(work.commit), Object)


def _with_draft(repository: Repository, target: CallTarget) -> None:
    """Commit files that are not on disk; a path of git's own folder or below a link is refused or harmless."""
    for path in (RepoPath(b"link/x"), RepoPath(b".git/config")):
        _either_way(partial(_draft_at, repository, path))
    with repository.with_draft({target.path: b"drafted\n", RepoPath(b"new/file"): b"new\n"}, "a message") as draft:
        assert list(draft.repository.log([draft.commit]))
        assert list(draft.repository.diffs([Comparison(draft.commit)], renames=True))


def _draft_at(repository: Repository, path: RepoPath) -> None:
    with repository.with_draft({path: b"x"}, "a message"):
        pass


def _remote_url(repository: Repository, target: CallTarget) -> None:
    for url in ("https://example.invalid/x", "ext::sh -c x", "-x", "../beside", "host.invalid:x"):
        _either_way(partial(repository.resolve_remote_url, url))


def _exchange(repository: Repository, target: CallTarget) -> None:
    """Call what needs no remote; ``test_exchange`` has the remotes."""
    with TemporaryDirectory(prefix=PREFIX) as folder:
        exchange = repository.exchange(Path(folder))
        commit = exchange.commit({b"a/b": exchange.keep(b"content")}, [], "a message", 0)
        assert list(exchange.files(commit)) == [b"a/b"]
        with exchange.objects() as objects:
            assert isinstance(objects.read(commit), Object)


def _write_notes(repository: Repository, target: CallTarget) -> None:
    """Write notes; invalid references never reach git."""
    for ref in ("refs/heads/main", "refs/notes/../heads/main", "--stdin", "refs/notes/a.lock"):
        _either_way(partial(repository.write_notes, ref, {}, bool, 0))
    _either_way(partial(repository.write_notes, "refs/notes/custody", {target.new: b"a note"}, bool, 0))


def _either_way(call: Callable[[], object]) -> None:
    """Accept a result or a typed error, but no other exception."""
    try:
        call()
    except CustodyError:
        return


def _git_version(repository: Repository, target: CallTarget) -> None:
    _read_git_version.cache_clear()
    assert check_git_version()


CALLS: dict[str, Callable[[Repository, CallTarget], object]] = {
    "discover_repository": _discover,
    "read_user_pager": lambda _, __: read_user_pager(),
    "check_git_version": _git_version,
    "head": lambda repository, _: repository.head(),
    "resolve": _resolve,
    "refs": lambda repository, _: list(repository.refs()),
    "tips": lambda repository, _: repository.tips(),
    "list_shallow_commits": lambda repository, _: repository.list_shallow_commits(),
    "blame": _blame,
    "line_sources": lambda repository, target: repository.line_sources(target.new, target.path, [Lines(1, 1)]),
    "diffs": _diffs,
    "changes": _changes,
    "log": _log,
    "parents": lambda repository, target: list(repository.parents([target.new])),
    "tree": lambda repository, target: list(repository.tree(target.new)),
    "objects": _objects,
    "share_connections": _share_connections,
    "look_up": lambda repository, target: list(repository.look_up([target.new, FileAt(target.new, target.path)])),
    "ancestries": lambda repository, target: repository.ancestries([Ancestry(target.old, target.new)]),
    "roots": lambda repository, _: repository.roots(),
    "list_tracked_files": lambda repository, target: repository.list_tracked_files([target.path, RepoPath(b"folder")]),
    "remotes": lambda repository, _: repository.remotes(),
    "resolve_remote_url": _remote_url,
    "exchange": _exchange,
    "hooks_path": lambda repository, _: repository.hooks_path(),
    "path": _path,
    "work_file": _work_file,
    "with_draft": _with_draft,
    "with_work_tree": _with_work_tree,
    "write_notes": _write_notes,
}
