"""Blame: every line once, each where its commit has it, and both of git's forms say the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.git import BlameEntry, Person, PreviousVersion, Repository, ZonedTime, discover
from custody.git.blame_parser import parse_incremental, parse_porcelain
from tests.builders.repo import NOON, Built, a_clone, a_history, a_repository
from tests.unit.git.strategies import contents, lines_of, odd_names, versions

A, B = "a" * 40, "b" * 40
ABOUT = b"""author Ana
author-mail <ana@example.invalid>
author-time 1700000000
author-tz +0530
committer Bo
committer-mail <bo@example.invalid>
committer-time 1700000001
committer-tz -0800
summary make it so
"""
INCREMENTAL = (
    f"{A} 1 3 2\n".encode()
    + ABOUT
    + f'previous {B} "old\\tname"\nfilename new name\n'.encode()
    + f"{A} 9 1 1\nfilename other\n".encode()
)
PORCELAIN = (
    f"{A} 1 1 2\n".encode()
    + ABOUT
    + b"boundary\nfilename x\n\tone\n"
    + f"{A} 2 2\n\t\ttwo\r\n{A} 7 3 1\n\tthree\n".encode()
)


def test_saved_incremental_output_is_read() -> None:
    first, second = parse_incremental([INCREMENTAL])
    assert first.commit.id == A
    assert first.commit.author == Person(b"Ana", b"ana@example.invalid", ZonedTime(1_700_000_000, "+0530"))
    assert first.commit.committer == Person(b"Bo", b"bo@example.invalid", ZonedTime(1_700_000_001, "-0800"))
    assert first.commit.summary == b"make it so"
    assert not first.commit.boundary
    assert (first.lines, first.origin) == (Lines(3, 4), Lines(1, 2))
    assert first.path == RepoPath(b"new name")
    assert first.previous == PreviousVersion(CommitSha(B), RepoPath(b"old\tname"))
    assert second.commit is first.commit
    assert (second.lines, second.origin, second.path, second.previous) == (
        *(Lines(1, 1), Lines(9, 9), RepoPath(b"other")),
        None,
    )


def test_saved_porcelain_output_is_read() -> None:
    first, second = parse_porcelain([PORCELAIN])
    assert first.texts == (b"one", b"\ttwo\r")
    assert (first.entry.lines, first.entry.origin) == (Lines(1, 2), Lines(1, 2))
    assert first.entry.commit.boundary
    assert second.texts == (b"three",)
    assert (second.entry.origin, second.entry.path) == (Lines(7, 7), RepoPath(b"x"))


@given(versions(odd_names, contents))
@settings(max_examples=40)
def test_every_line_is_blamed_once_and_found_where_blame_says(shared: Built, files: list[dict[bytes, bytes]]) -> None:
    commits = a_history(shared, *files)
    repository = discover(shared.path)
    contents_of = dict(zip(commits, files, strict=True))
    for name, content in files[-1].items():
        path = RepoPath(name)
        found = by_line(repository.blame(commits[-1], path))
        lines = lines_of(content)
        assert sorted(found) == list(range(1, len(lines) + 1))
        for number, (entry, origin) in found.items():
            theirs = lines_of(contents_of[entry.commit.id][entry.path.raw])
            assert theirs[origin - 1].removesuffix(b"\n") == lines[number - 1].removesuffix(b"\n")
        texts = list(repository.blame_text(commits[-1], path))
        assert [text for block in texts for text in block.texts] == [line.removesuffix(b"\n") for line in lines]
        assert by_line([block.entry for block in texts]) == found


def by_line(entries: object) -> dict[int, tuple[BlameEntry, int]]:
    """Each line with its origin; the stretches themselves are taken out, as git may cut them differently."""
    found: dict[int, tuple[BlameEntry, int]] = {}
    for entry in entries:  # type: ignore[attr-defined]
        one = BlameEntry(entry.commit, Lines(1, 1), Lines(1, 1), entry.path, entry.previous)
        for step in range(len(entry.lines)):
            assert entry.lines.first + step not in found
            found[entry.lines.first + step] = (one, entry.origin.first + step)
    return found


@pytest.fixture
def renamed(tmp_path: Path) -> tuple[Repository, list[CommitSha]]:
    body = b"".join(b"line %d\n" % n for n in range(20))
    built = a_repository(tmp_path)
    commits = a_history(built, {b"old": body}, {b"n\xc3\xa4w\n": body + b"more\n"})
    return discover(built.path), commits


def test_a_renamed_file_keeps_its_lines(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (first, second) = renamed
    entries = {entry.commit.id: entry for entry in repository.blame(second, RepoPath(b"n\xc3\xa4w\n"))}
    assert (entries[first].path, entries[first].lines) == (RepoPath(b"old"), Lines(1, 20))
    assert entries[first].commit.boundary
    assert entries[second].previous == PreviousVersion(first, RepoPath(b"old"))
    assert entries[second].commit.author.at == ZonedTime(NOON + 120, "+0000")


def test_only_the_lines_asked_for(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (_, second) = renamed
    entries = list(repository.blame(second, RepoPath(b"n\xc3\xa4w\n"), [Lines(3, 4), Lines(20, 21)]))
    assert sorted(entry.lines for entry in entries) == [Lines(3, 4), Lines(20, 20), Lines(21, 21)]


def test_lines_that_the_file_has_not_are_the_callers_turn(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (first, _) = renamed
    with pytest.raises(InputError, match="has only 20 lines"):
        list(repository.blame(first, RepoPath(b"old"), [Lines(21, 21)]))


@pytest.mark.parametrize("path", [b"nowhere", b"--output=x", b":(top)old", b"o*"])
def test_a_path_that_is_not_there_is_the_callers_turn(renamed: tuple[Repository, list[CommitSha]], path: bytes) -> None:
    repository, (first, _) = renamed
    with pytest.raises(InputError, match="no such path"):
        list(repository.blame(first, RepoPath(path)))


def test_an_unknown_commit_is_an_error(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, _ = renamed
    with pytest.raises(GitError):
        list(repository.blame(CommitSha("1" * 40), RepoPath(b"old")))
    with pytest.raises(InputError):
        repository.blame(CommitSha("--output=x"), RepoPath(b"old"))


def test_a_shallow_cut_is_a_boundary(renamed: tuple[Repository, list[CommitSha]], tmp_path: Path) -> None:
    _, (_, second) = renamed
    clone = a_clone(Built(tmp_path), tmp_path / "clone", "--depth=1")
    repository = discover(clone.path)
    (entry,) = repository.blame(second, RepoPath(b"n\xc3\xa4w\n"))
    assert entry.commit.boundary and entry.commit.id in repository.cuts()


def test_a_damaged_author_line_is_no_obstacle(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    good = built.commit({b"x": b"1\n"})
    raw = built.git("cat-file", "commit", good).replace(b"author A Tester <tester@example.invalid>", b"author none")
    bad = built.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", feed=raw).decode().strip()
    repository = discover(tmp_path)
    (entry,) = repository.blame(CommitSha(bad), RepoPath(b"x"))
    assert entry.commit.author.at is None and entry.commit.committer.at is not None
    (commit,) = repository.log([CommitSha(bad)])
    assert commit.author.at is None and commit.committer.at is not None


def test_names_are_as_the_commit_has_them_whatever_the_mail_map_says(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    commit = built.commit({b"x": b"1\n", b".mailmap": b"Mapped <m@example.invalid> <tester@example.invalid>\n"})
    built.checkout()
    assert b"Mapped" in built.git("blame", "--porcelain", commit, "--", "x")
    (entry,) = discover(tmp_path).blame(commit, RepoPath(b"x"))
    assert entry.commit.author.name == b"A Tester"


@pytest.mark.parametrize(
    "bad",
    [
        INCREMENTAL[:-5],
        INCREMENTAL.replace(b"author-time 1", b"author-time x"),
        INCREMENTAL.replace(b"author-mail", b"author-male"),
        INCREMENTAL.replace(b"summary make it so\n", b""),
        INCREMENTAL.replace(b" 1 3 2", b" 1 3 0"),
        INCREMENTAL.replace(b" 1 3 2", b" 0 3 2"),
        INCREMENTAL.replace(b" 1 3 2", b" 1 3 2_0"),
        INCREMENTAL.replace(b'tname"', b"tname"),
        INCREMENTAL.replace(b"filename other", b"filename ../other"),
        INCREMENTAL.replace(A.encode() + b" 9", B.encode() + b" 9"),
        INCREMENTAL.replace(A.encode(), b"A" * 40),
        b"\n",
    ],
)
def test_rubbish_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_incremental([bad]))


@pytest.mark.parametrize(
    "bad",
    [
        PORCELAIN[:-2],
        PORCELAIN.replace(b" 2 2\n", b" 3 2\n"),
        PORCELAIN.replace(b" 2 2\n", b" 2 2 1\n"),
        PORCELAIN.replace(b"filename x\n", b""),
        PORCELAIN.replace(b"\t\ttwo", b"two"),
        PORCELAIN.replace(b" 7 3 1", b" 7 3"),
    ],
)
def test_porcelain_rubbish_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_porcelain([bad]))
