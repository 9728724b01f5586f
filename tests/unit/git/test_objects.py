"""Objects: many, large, missing, ambiguous, by id and by name, from one git process."""

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import FileAt, NoObject, Object, ObjectInfo, Repository, TreeEntry, discover_repository
from custody.git.objects import parse_tree_entries, read_object, read_object_info
from tests.builders.repo import LINK, PROGRAM, SUBMODULE, Built, a_repository
from tests.unit.git.strategies import contents, every, odd_names, versions

ID, OTHER = "a" * 40, "b" * 64
SAVED = f"{ID} blob 4\na\nb\n\nx y:z missing\n{OTHER} tree 0\n\nabcd ambiguous\n".encode()


def parse_objects(chunks: Iterable[bytes], bytes_max: int) -> Iterator[Object | NoObject]:
    return every(partial(read_object, bytes_max=bytes_max))(chunks)


def test_saved_output_is_parsed() -> None:
    assert list(parse_objects([SAVED], 10)) == [
        Object(ObjectInfo(ID, "blob", 4), b"a\nb\n"),
        NoObject("x y:z", "missing"),
        Object(ObjectInfo(OTHER, "tree", 0), b""),
        NoObject("abcd", "ambiguous"),
    ]


def test_saved_check_output_is_parsed() -> None:
    assert list(every(read_object_info)([f"{ID} commit 7\n{ID}:a missing\n{ID} submodule\n".encode()])) == [
        ObjectInfo(ID, "commit", 7),
        NoObject(f"{ID}:a", "missing"),
        NoObject(ID, "submodule"),
    ]


def test_too_large_objects_are_skipped() -> None:
    first, *rest = parse_objects([SAVED[:50], SAVED[50:]], 3)
    assert first == NoObject(ID, "too large")
    assert len(rest) == 3


@given(versions(odd_names, contents))
@settings(max_examples=40)
def test_files_are_read_by_name_and_by_id(shared: Built, files: list[dict[bytes, bytes]]) -> None:
    commit = shared.commits([(files[-1], [])])[0]
    repository = discover_repository(shared.path)
    entries = list(repository.tree(commit))
    assert sorted(entry.path.raw for entry in entries) == sorted(files[-1])
    with repository.objects() as objects:
        by_name = list(objects.read_all(FileAt(commit, RepoPath(name)) for name in files[-1]))
        by_id = list(objects.read_all(entry.id for entry in entries))
    assert [found.content for found in by_name if isinstance(found, Object)] == list(files[-1].values())
    assert [found.content for found in by_id if isinstance(found, Object)] == [
        files[-1][entry.path.raw] for entry in entries
    ]


@pytest.fixture
def small(tmp_path: Path) -> tuple[Repository, CommitSha]:
    built = a_repository(tmp_path)
    files: dict[bytes, bytes | tuple[str, bytes]] = {
        b"x": b"1\n",
        b"y\nz": b"2\n",
        b"y\r": b"3\n",
        b"link": (LINK, b"x"),
        b"folder/p": (PROGRAM, b"4\n"),
    }
    return discover_repository(tmp_path), built.commit(files | {b"sub": (SUBMODULE, b"7" * 40)})


def test_missing_objects_are_reported_one_by_one(small: tuple[Repository, CommitSha]) -> None:
    repository, commit = small
    with repository.objects() as objects:
        answers = list(objects.read_all([FileAt(commit, RepoPath(b"no")), "1" * 40, FileAt(commit, RepoPath(b"x"))]))
        assert answers[0] == NoObject(f"{commit}:no", "missing")
        assert answers[1] == NoObject("1" * 40, "missing")
        assert isinstance(answers[2], Object)
        assert isinstance(objects.read(FileAt(commit, RepoPath(b"sub"))), NoObject)
        assert objects.read(FileAt(commit, RepoPath(b"no\nsuch"))) == NoObject(f"{commit}:no\\nsuch", "missing")


def test_names_with_line_ends_are_found(small: tuple[Repository, CommitSha]) -> None:
    repository, commit = small
    with repository.objects() as objects:
        for name, content in ((b"y\nz", b"2\n"), (b"y\r", b"3\n")):
            found = objects.read(FileAt(commit, RepoPath(name)))
            assert isinstance(found, Object) and found.content == content


def test_a_large_object_is_not_held_in_memory(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    commit = built.commit({b"large": b"x" * 300_000, b"small": b"s"})
    with discover_repository(tmp_path).objects(bytes_max=1000) as objects:
        assert isinstance(large := objects.read(FileAt(commit, RepoPath(b"large"))), NoObject)
        assert large.reason == "too large"
        assert isinstance(objects.read(FileAt(commit, RepoPath(b"small"))), Object)


def first_twins() -> tuple[str, bytes, bytes]:
    """Return two contents whose ids share the first four digits, and these digits."""
    seen: dict[str, bytes] = {}
    for content in (b"%d" % number for number in count()):
        start = hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()[:4]
        if start in seen:
            return start, seen[start], content
        seen[start] = content
    raise AssertionError


def test_an_ambiguous_prefix_is_reported(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    start, *twins = first_twins()
    for content in twins:
        built.git("hash-object", "-w", "--stdin", feed=content)
    repository = discover_repository(tmp_path)
    assert list(repository.look_up([start])) == [NoObject(start, "ambiguous")]
    with repository.objects() as objects:
        assert objects.read(start) == NoObject(start, "ambiguous")


@pytest.mark.parametrize("name", [b"x", b"a\nb", b"a\r"])
def test_a_file_of_a_commit_that_is_not_here_is_missing_whatever_its_name(
    name: bytes, small: tuple[Repository, CommitSha]
) -> None:
    with small[0].objects() as objects:
        answer = objects.read(FileAt(CommitSha("1" * 40), RepoPath(name)))
        assert isinstance(answer, NoObject) and answer.reason == "missing"
        assert isinstance(objects.read(FileAt(small[1], RepoPath(b"x"))), Object)


def test_reading_again_after_leaving_early(small: tuple[Repository, CommitSha]) -> None:
    repository, commit = small
    name = FileAt(commit, RepoPath(b"x"))
    with repository.objects() as objects:
        answers = objects.read_all([name] * 2000)
        next(answers)
        within = objects.read(FileAt(commit, RepoPath(b"folder/p")))
        assert isinstance(within, Object) and within.content == b"4\n"
        del answers
        assert isinstance(again := objects.read(name), Object) and again.content == b"1\n"
    assert isinstance(objects.read(name), Object)
    objects.close()


def test_a_dead_git_is_one_error(small: tuple[Repository, CommitSha], started: list[subprocess.Popen[bytes]]) -> None:
    repository, commit = small
    with repository.objects() as objects:
        objects.read(commit)
        started[-1].kill()
        with pytest.raises(GitError, match="killed by signal 9"):
            objects.read(commit)
        assert isinstance(objects.read(commit), Object)


def test_a_hundred_thousand_objects_need_no_thread(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    commit = built.commit({b"%d" % n: b"content %d\n" % n for n in range(1000)})
    repository = discover_repository(tmp_path)
    ids = [entry.id for entry in repository.tree(commit)] * 100
    with repository.objects() as objects:
        assert sum(isinstance(found, Object) for found in objects.read_all(ids)) == 100_000
    assert sum(isinstance(found, ObjectInfo) for found in repository.look_up(ids)) == 100_000


def damage(built: Built, content: bytes, keep_bytes: int) -> str:
    sha = built.git("hash-object", "-w", "--stdin", feed=content).decode().strip()
    file = built.path / ".git" / "objects" / sha[:2] / sha[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:keep_bytes])
    return sha


@pytest.mark.parametrize("keep_bytes", [0, 10])
def test_damaged_is_not_missing(tmp_path: Path, keep_bytes: int) -> None:
    built = a_repository(tmp_path)
    sha = damage(built, b"x" * 5000, keep_bytes)
    commit = built.commit({b"x": b"1\n"})
    names = ["1" * 40, sha, commit, "2" * 40]
    repository = discover_repository(tmp_path)
    expected = [NoObject("1" * 40, "missing"), NoObject(sha, "damaged"), NoObject("2" * 40, "missing")]
    assert [answer for answer in repository.look_up(names) if isinstance(answer, NoObject)] == expected
    with repository.objects() as objects:
        assert [answer for answer in objects.read_all(names) if isinstance(answer, NoObject)] == expected
        assert objects.read(sha) == NoObject(sha, "damaged")
        assert objects.read("3" * 40) == NoObject("3" * 40, "missing")


def test_a_truncated_object_is_an_error_with_a_hint(tmp_path: Path) -> None:
    noise = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(10_000))
    sha = damage(a_repository(tmp_path), noise, 100_000)
    with pytest.raises(GitError, match=sha) as caught, discover_repository(tmp_path).objects() as objects:
        objects.read(sha)
    assert "fsck" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["", "HEAD", "abc", "A" * 40, "a" * 65, "1234\n5678", "--batch-all-objects", "1234 "])
def test_invalid_ids_are_input_errors(small: tuple[Repository, CommitSha], name: str) -> None:
    repository, _ = small
    with pytest.raises(InputError), repository.objects() as objects:
        objects.read(name)
    with pytest.raises(InputError):
        list(repository.look_up([name]))


def test_a_tree_lists_its_files(small: tuple[Repository, CommitSha]) -> None:
    repository, commit = small
    kinds = {entry.path.raw: (entry.mode, entry.kind) for entry in repository.tree(commit)}
    assert kinds == {
        b"folder/p": (0o100755, "blob"),
        b"link": (0o120000, "blob"),
        b"sub": (0o160000, "commit"),
        b"x": (0o100644, "blob"),
        b"y\nz": (0o100644, "blob"),
        b"y\r": (0o100644, "blob"),
    }
    assert [entry.path.raw for entry in repository.tree(commit, [RepoPath(b"folder")])] == [b"folder/p"]


def test_a_saved_tree_is_parsed() -> None:
    entries = list(parse_tree_entries([f"100644 blob {ID}\ta\n\tb\0".encode()]))
    assert entries == [TreeEntry(RepoPath(b"a\n\tb"), 0o100644, "blob", ID)]


@pytest.mark.parametrize("bad", [b"x", b"100644 blob zz\ta\0", f"100644 blob {ID}\t/etc\0".encode(), b"100644"])
def test_an_invalid_tree_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_tree_entries([bad]))


@pytest.mark.parametrize(
    "bad", [SAVED[:44], SAVED.replace(b"blob 4", b"blob 3"), SAVED.replace(b"blob 4", b"blob 99999999999"), b"what\n"]
)
def test_invalid_output_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_objects([bad], 10**12))


@given(st.lists(st.binary(max_size=30), max_size=5))
def test_contents_may_look_like_answers(bodies: list[bytes]) -> None:
    said = b"".join(f"{ID} blob {len(body)}\n".encode() + body + b"\n" for body in bodies)
    assert [found.content for found in parse_objects([said], 100) if isinstance(found, Object)] == bodies
