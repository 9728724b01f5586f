"""Every question that the git door answers, asked once; ``test_hostile`` proves that none is left out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from custody.core.errors import CustodyError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import Ancestry, Comparison, FileAt, Object, Repository, Walk, discover, git_version
from custody.git.command import _version_on
from custody.git.private_repository import PREFIX


@dataclass(frozen=True, slots=True)
class Asked:
    """What to ask about: two commits and a file of the newer one."""

    new: CommitSha
    old: CommitSha
    path: RepoPath


def _blame(repository: Repository, asked: Asked) -> None:
    assert list(repository.blame(asked.new, asked.path))
    assert list(repository.blame(asked.new, asked.path, [Lines(1, 1)]))


def _diffs(repository: Repository, asked: Asked) -> None:
    for renames in (False, True):
        assert list(repository.diffs([Comparison(asked.new, asked.old)], renames=renames))
    assert list(repository.diffs([Comparison(asked.new), Comparison(asked.old)], [asked.path]))


def _changes(repository: Repository, asked: Asked) -> None:
    assert list(repository.changes([Comparison(asked.new), Comparison(asked.old)]))


def _log(repository: Repository, asked: Asked) -> None:
    assert list(repository.log([asked.new]))
    assert list(repository.log([asked.new], [asked.path], Walk(without=[asked.old])))


def _objects(repository: Repository, asked: Asked) -> None:
    with repository.objects() as objects:
        assert isinstance(objects.read(asked.new), Object)
        objects.read(FileAt(asked.new, asked.path))
        assert list(objects.read_all([asked.old, "1" * len(asked.old), FileAt(asked.new, RepoPath(b"a\nb"))]))


def _resolve(repository: Repository, asked: Asked) -> None:
    assert repository.resolve(asked.new) == asked.new
    for typed in ("HEAD", "HEAD~1", "--output=x", "nowhere", "refs/heads/--upload-pack=x", "1" * 40):
        _either_way(partial(repository.resolve, typed))


def _path(repository: Repository, asked: Asked) -> None:
    for typed in (str(asked.path), "../outside", "link/x", "/etc/passwd"):
        _either_way(partial(repository.path, typed, repository.work_tree or repository.git_dir))


def _work_file(repository: Repository, asked: Asked) -> None:
    for path in (asked.path, RepoPath(b"link"), RepoPath(b"folder/link/x"), RepoPath(b".git/config")):
        repository.work_file(path)


def _discover(repository: Repository, asked: Asked) -> None:
    folder = repository.work_tree or repository.git_dir
    assert discover(folder).place == repository.place
    _either_way(partial(discover, Path("/")))


def _with_work_tree(repository: Repository, asked: Asked) -> None:
    """The questions that a verb asks about the work tree; where there is none, that is said."""
    if repository.work_tree is None:
        _either_way(lambda: repository.with_work_tree().__enter__())
        return
    with repository.with_work_tree() as made:
        assert list(made.repository.log([made.commit]))
        assert list(made.repository.tree(made.commit))
        assert list(made.repository.diffs([Comparison(made.commit)], renames=True))
        with made.repository.objects() as objects:
            assert isinstance(objects.read(made.commit), Object)


def _address(repository: Repository, asked: Asked) -> None:
    for url in ("https://example.invalid/x", "ext::sh -c x", "-x", "../beside", "host.invalid:x"):
        _either_way(partial(repository.address, url))


def _exchange(repository: Repository, asked: Asked) -> None:
    """What needs no remote; ``test_exchange`` has the remotes."""
    with TemporaryDirectory(prefix=PREFIX) as folder:
        exchange = repository.exchange(Path(folder))
        commit = exchange.commit({b"a/b": exchange.keep(b"content")}, [], "a message", 0)
        assert list(exchange.files(commit)) == [b"a/b"]
        with exchange.objects() as objects:
            assert isinstance(objects.read(commit), Object)


def _write_notes(repository: Repository, asked: Asked) -> None:
    """Another's note stays, ours is written; what is no reference for notes never reaches git."""
    for ref in ("refs/heads/main", "refs/notes/../heads/main", "--stdin", "refs/notes/a.lock"):
        _either_way(partial(repository.write_notes, ref, {}, bool, 0))
    _either_way(partial(repository.write_notes, "refs/notes/custody", {asked.new: b"a note"}, bool, 0))


def _either_way(ask: Callable[[], object]) -> None:
    """A refusal is an answer; anything but a typed error is not."""
    try:
        ask()
    except CustodyError:
        return


def _git_version(repository: Repository, asked: Asked) -> None:
    _version_on.cache_clear()
    assert git_version()


CALLS: dict[str, Callable[[Repository, Asked], object]] = {
    "discover": _discover,
    "git_version": _git_version,
    "head": lambda repository, _: repository.head(),
    "resolve": _resolve,
    "refs": lambda repository, _: list(repository.refs()),
    "tips": lambda repository, _: repository.tips(),
    "cuts": lambda repository, _: repository.cuts(),
    "blame": _blame,
    "diffs": _diffs,
    "changes": _changes,
    "log": _log,
    "parents": lambda repository, asked: list(repository.parents([asked.new])),
    "tree": lambda repository, asked: list(repository.tree(asked.new)),
    "objects": _objects,
    "look_up": lambda repository, asked: list(repository.look_up([asked.new, FileAt(asked.new, asked.path)])),
    "ancestries": lambda repository, asked: repository.ancestries([Ancestry(asked.old, asked.new)]),
    "tracked": lambda repository, asked: repository.tracked([asked.path, RepoPath(b"folder")]),
    "remotes": lambda repository, _: repository.remotes(),
    "address": _address,
    "exchange": _exchange,
    "hooks_path": lambda repository, _: repository.hooks_path(),
    "path": _path,
    "work_file": _work_file,
    "with_work_tree": _with_work_tree,
    "write_notes": _write_notes,
}
