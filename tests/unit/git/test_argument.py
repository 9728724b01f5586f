"""Checks of revisions, ids, paths and prefixes that callers pass to git."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Ref, Repository, RepositoryHead, discover_repository
from custody.git.failure import check_full_object_id, check_revision, to_pathspec_arguments
from tests.builders.repo import Built, a_history, a_repository, a_worktree
from tests.hostile.calls import CALLS, CallTarget


@pytest.fixture
def built(tmp_path: Path) -> Built:
    built = a_repository(tmp_path / "here")
    a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})
    return built


@pytest.mark.parametrize(
    "typed",
    ["", "-", "--all", "--output=x", "-O/etc/passwd", ":/text", ":x", "a\nb", "a\0b", "\x1b[2J", "x" * 5000],
)
def test_invalid_revisions_never_reach_git(built: Built, typed: str, started: list[object]) -> None:
    repository = discover_repository(built.path)
    started.clear()
    with pytest.raises(InputError) as caught:
        repository.resolve(typed)
    assert not started
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "typed", ["nowhere", "HEAD~9", "HEAD:x", "HEAD:", "1234567", "0" * 40, "HEAD^{tree}", "a..b", "\udcff"]
)
def test_unknown_revisions_are_input_errors(built: Built, typed: str) -> None:
    with pytest.raises(InputError) as caught:
        discover_repository(built.path).resolve(typed)
    assert f"{typed!a}" in caught.value.message and caught.value.hint


def test_revisions_are_resolved_like_git_does(built: Built) -> None:
    head = built.head()
    built.git("tag", "-a", "-m", "a tag", "v1")
    built.git("update-ref", "refs/heads/--output=x", head)
    built.git("update-ref", b"refs/heads/\xff", head)
    repository = discover_repository(built.path)
    for typed in ("HEAD", "main", "v1", "@", head, head[:8], "HEAD~1^0~0", "refs/heads/--output=x", "\udcff"):
        expected = built.git("rev-parse", "HEAD~1").decode().strip() if "~1" in typed else head
        assert repository.resolve(typed) == expected


def test_a_name_of_two_references_is_an_input_error_and_their_full_names_are_not(tmp_path: Path) -> None:
    repo = a_repository(tmp_path)
    repo.commit({b"a": b"0\n"})
    first = repo.commit({b"a": b"1\n"}, ref="refs/heads/topic")
    second = repo.commit({b"a": b"2\n"}, first, ref="refs/tags/topic")
    repo.git("config", "core.warnAmbiguousRefs", "false")
    repo.git("update-ref", f"refs/tags/{first}", second)
    repo.git("update-ref", "refs/tags/HEAD", second)
    repository = discover_repository(repo.path)
    for typed in ("topic", "topic~0", "topic^{commit}"):
        with pytest.raises(InputError, match="ambiguous revision") as raised:
            repository.resolve(typed)
        assert raised.value.hint == "write the full name, such as refs/heads/topic"
    assert repository.resolve("refs/heads/topic") == repository.resolve(first) == first
    assert repository.resolve("refs/tags/topic") == second
    assert repository.resolve("HEAD") == repo.head()


def test_an_ambiguous_prefix_is_an_input_error(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    commits = built.commits([({b"x": b"%d" % number}, []) for number in range(600)])
    starts = Counter(sha[:4] for sha in commits)
    (start, times), *_ = starts.most_common(1)
    assert times > 1
    with pytest.raises(InputError, match="ambiguous"):
        discover_repository(tmp_path).resolve(start)


def test_head_is_a_branch_a_commit_or_both(built: Built, tmp_path: Path) -> None:
    head = built.head()
    repository = discover_repository(built.path)
    assert repository.head() == RepositoryHead(b"refs/heads/main", head)
    built.git("checkout", "--quiet", "--detach", "HEAD")
    assert repository.head() == RepositoryHead(None, head)
    built.git("checkout", "--quiet", "--orphan", "unborn")
    assert repository.head() == RepositoryHead(b"refs/heads/unborn", None)
    assert discover_repository(a_worktree(built, tmp_path / "tree").path).head() == RepositoryHead(None, head)


def test_an_empty_repository_has_no_commit(tmp_path: Path) -> None:
    repository = discover_repository(a_repository(tmp_path).path)
    assert repository.head() == RepositoryHead(b"refs/heads/main", None)
    assert list(repository.refs()) == []
    with pytest.raises(InputError):
        repository.resolve("HEAD")


def test_references_come_by_name(built: Built) -> None:
    head = built.head()
    built.git("update-ref", b"refs/heads/\xff'%(x)", head)
    built.git("update-ref", "refs/custody/evidence", head)
    repository = discover_repository(built.path)
    names = [b"refs/custody/evidence", b"refs/heads/main", b"refs/heads/\xff'%(x)"]
    assert list(repository.refs()) == [Ref(name, head) for name in names]
    assert list(repository.refs("refs/custody/")) == [Ref(b"refs/custody/evidence", head)]
    assert list(repository.refs("refs/none/")) == []


@pytest.mark.parametrize("prefix", ["", "heads/", "--all", "refs/*", "refs/heads", "refs/\n/", "refs/[a]/"])
def test_invalid_prefixes_of_references_are_rejected(built: Built, prefix: str) -> None:
    with pytest.raises(InputError):
        discover_repository(built.path).refs(prefix)


@given(st.text())
def test_ids_are_hex_and_nothing_else(text: str) -> None:
    hexadecimal = len(text) in (40, 64) and set(text) <= set("0123456789abcdef")
    try:
        assert check_full_object_id(text) == text and hexadecimal
    except InputError:
        assert not hexadecimal


@given(st.text(st.characters(exclude_categories=())))
def test_no_revision_looks_like_an_option(text: str) -> None:
    try:
        raw = check_revision(text)
    except InputError:
        return
    assert raw and not raw.startswith((b"-", b":")) and b"\n" not in raw and b"\0" not in raw


def test_paths_follow_two_dashes() -> None:
    assert to_pathspec_arguments([RepoPath(b"-x"), RepoPath(b":(top)")]) == ("--", b"-x", b":(top)")
    assert to_pathspec_arguments([]) == ("--",)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_every_method_works_in_both_object_formats(tmp_path: Path, object_format: str) -> None:
    built = a_repository(tmp_path, object_format=object_format)
    commits = a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})
    built.checkout()
    repository = discover_repository(tmp_path)
    assert len(commits[0]) == (40 if object_format == "sha1" else 64)
    for call in CALLS.values():
        call(repository, CallTarget(commits[-1], commits[0], RepoPath(b"x")))


def test_every_method_works_in_a_bare_repository(built: Built, tmp_path: Path) -> None:
    built.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    repository: Repository = discover_repository(tmp_path / "bare")
    commits: list[CommitSha] = [commit.id for commit in repository.log([built.head()])]
    for call in CALLS.values():
        call(repository, CallTarget(commits[0], commits[-1], RepoPath(b"x")))
