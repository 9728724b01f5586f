"""The log of commits."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Person, Walk, ZonedTime, discover_repository
from custody.git.commit_log import Commit, parse_commit_log, parse_commit_parents
from tests.builders.repo import NOON, Built, a_clone, a_history, a_repository

SAVED = b"\0".join(
    (
        *(b"", b"a" * 40, b"b" * 40 + b" " + b"c" * 40, b"d" * 40),
        *(b"Ana", b"ana@example.invalid", b"1700000000 +0530", b"Bo", b"", b""),
        *(b"sub\nject\n\nbody \xe9\n", b"\n"),
    )
)
_NAMES = st.binary(min_size=1, max_size=12).map(
    lambda raw: b"x" + bytes(byte for byte in raw if byte not in b"<>\n\0") + b"x"
)
_MESSAGES = st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b""))


def test_saved_output_is_parsed() -> None:
    (commit,) = parse_commit_log([SAVED])
    assert commit.parents == ("b" * 40, "c" * 40)
    assert commit.author == Person(b"Ana", b"ana@example.invalid", ZonedTime(1_700_000_000, "+0530"))
    assert commit.committer == Person(b"Bo", b"", None)
    assert (commit.subject, commit.body) == (b"sub ject", b"body \xe9\n")


@given(_NAMES, _MESSAGES, st.integers(0, 2**40))
@settings(max_examples=40)
def test_fields_are_those_of_the_commit_object(shared: Built, name: bytes, message: bytes, at: int) -> None:
    sha = shared.commit({b"x": b"1\n"}, message=message, author=name + b" <" + name + b">", at=at)
    (commit,) = discover_repository(shared.path).log([sha])
    head, _, written = shared.git("cat-file", "commit", sha).partition(b"\n\n")
    assert commit.id == sha
    assert head.splitlines()[0].decode() == f"tree {commit.tree}"
    assert commit.author == commit.committer == Person(name, name, ZonedTime(at, "+0000"))
    assert commit.message == written


def test_messages_in_other_encodings_come_as_utf8(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    built.git("-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "--allow-empty", "-F-", feed=b"caf\xe9\n")
    (commit,) = discover_repository(tmp_path).log([built.head()])
    assert commit.message == "café\n".encode()


@pytest.fixture
def branched(tmp_path: Path) -> tuple[Built, list[CommitSha]]:
    """0 ← 1 ← 3 ← 4 and 0 ← 2 ← 3."""
    built = a_repository(tmp_path / "here")
    trees = [{b"x": b"0\n"}, {b"x": b"1\n"}, {b"x": b"0\n", b"y": b"2\n"}, {b"x": b"1\n", b"y": b"2\n"}, {b"x": b"4\n"}]
    return built, built.commits(list(zip(trees, [[], [0], [0], [1, 2], [3]], strict=True)))


def test_newest_first_with_parents(branched: tuple[Built, list[CommitSha]]) -> None:
    built, (a, b, c, d, e) = branched
    commits = list(discover_repository(built.path).log([e]))
    assert [commit.id for commit in commits] == [e, d, c, b, a]
    assert [commit.parents for commit in commits] == [(d,), (b, c), (a,), (a,), ()]


def test_walks_follow_the_request(branched: tuple[Built, list[CommitSha]]) -> None:
    built, (a, b, c, d, e) = branched
    log = discover_repository(built.path).log
    assert [commit.id for commit in log([e], walk=Walk(without=[b]))] == [e, d, c]
    assert [commit.id for commit in log([e], walk=Walk(count_max=2))] == [e, d]
    assert [commit.id for commit in log([b, c], walk=Walk(without=[a]))] == [c, b]
    assert [commit.id for commit in log([d], [RepoPath(b"y")])] == [c]
    assert list(log([])) == []


def test_earlier_commits_are_excluded(branched: tuple[Built, list[CommitSha]]) -> None:
    built, (_, b, c, d, e) = branched
    log = discover_repository(built.path).log
    assert [commit.id for commit in log([e], walk=Walk(since_seconds=NOON + 180))] == [e, d, c]
    assert [commit.id for commit in log([e], walk=Walk(since_seconds=NOON + 181))] == [e, d]
    assert list(log([b], walk=Walk(since_seconds=NOON + 181))) == []


def test_a_simplified_walk_skips_commits_that_did_not_change_the_file(branched: tuple[Built, list[CommitSha]]) -> None:
    built, (a, b, c, d, e) = branched
    log = discover_repository(built.path).log
    simplified = Walk(simplified=True)
    assert [(commit.id, commit.parents) for commit in log([e], [RepoPath(b"x")], simplified)] == [
        (e, (b,)),
        (b, (a,)),
        (a, ()),
    ]
    assert [(commit.id, commit.parents) for commit in log([d], [RepoPath(b"y")], simplified)] == [(c, ())]
    whole = list(log([e], walk=simplified))
    assert [commit.parents for commit in whole] == [(d,), (b, c), (a,), (a,), ()]


def test_a_simplified_walk_returns_children_first_with_any_clock(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    one = built.commit({b"x": b"1\n"}, at=NOON + 500)
    two = built.commit({b"x": b"2\n"}, one, at=NOON)
    three = built.commit({b"x": b"3\n"}, two, at=NOON + 900)
    commits = list(discover_repository(tmp_path).log([three], [RepoPath(b"x")], Walk(simplified=True)))
    assert [commit.id for commit in commits] == [three, two, one]
    assert commits[0].author.at == ZonedTime(NOON + 900, "+0000")


def test_a_simplified_walk_ends_at_its_limit_with_parents_beyond(
    branched: tuple[Built, list[CommitSha]],
) -> None:
    built, (_, b, *_, e) = branched
    walk = Walk(since_seconds=NOON + 300, simplified=True)
    (commit,) = discover_repository(built.path).log([e], [RepoPath(b"x")], walk)
    assert commit.id == e
    assert set(commit.parents) <= {b, *built.git("rev-parse", "HEAD~1").decode().split()}


def test_a_shallow_boundary_has_no_parents(branched: tuple[Built, list[CommitSha]], tmp_path: Path) -> None:
    built, (*_, d, e) = branched
    clone = a_clone(built, tmp_path / "clone", "--depth=2")
    commits = list(discover_repository(clone.path).log([e]))
    assert [(commit.id, commit.parents) for commit in commits] == [(e, (d,)), (d, ())]


def test_replaced_and_grafted_history_is_ignored(branched: tuple[Built, list[CommitSha]]) -> None:
    built, (a, b, _, d, e) = branched
    built.git("replace", d, b)
    (built.path / ".git" / "info" / "grafts").write_text(f"{e} {a}\n")
    assert b"tree" in built.git("cat-file", "commit", d)
    (first, second, *_) = discover_repository(built.path).log([e])
    assert (first.parents, second.id, len(second.parents)) == ((d,), d, 2)


def test_an_unknown_commit_is_an_error(branched: tuple[Built, list[CommitSha]]) -> None:
    built, _ = branched
    with pytest.raises(GitError):
        list(discover_repository(built.path).log([CommitSha("1" * 40)]))
    with pytest.raises(InputError):
        list(discover_repository(built.path).log([CommitSha("--all")]))


def test_a_subject_is_one_line() -> None:
    def subject(message: bytes) -> tuple[bytes, bytes]:
        commit = Commit(CommitSha(""), (), "", Person(b"", b"", None), Person(b"", b"", None), message)
        return commit.subject, commit.body

    assert subject(b"") == (b"", b"")
    assert subject(b"one\n") == (b"one", b"")
    assert subject(b"\n\none\ntwo\n\n\nthree\n") == (b"one two", b"\nthree\n")


@pytest.mark.parametrize(
    "bad",
    [SAVED[:-2], SAVED.replace(b"a" * 40, b"a"), SAVED.replace(b"+0530", b"z"), SAVED + b"x", SAVED[:-1] + b"x\n"],
)
def test_invalid_output_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_commit_log([bad]))
    with pytest.raises(GitError):
        list(parse_commit_parents([bad]))


def test_any_time_is_accepted(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    for at in (0, 1, NOON, 2**40):
        sha = built.commit({}, at=at)
        (commit,) = discover_repository(tmp_path).log([sha])
        assert commit.author.at == ZonedTime(at, "+0000")
    assert a_history(built) == []
