"""Blame: every line once, at its position in its commit."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Lines, RepoPath
from custody.git import BlameEntry, Repository, ZonedTime, discover_repository
from custody.git.blame import parse_blame
from tests.builders.repo import NOON, Built, a_clone, a_history, a_repository
from tests.builders.table import table
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
SAVED = (
    f"{A} 1 1 2\n".encode()
    + ABOUT
    + b'boundary\nfilename "x\\ty"\n\tone\n'
    + f"{A} 2 2\n\t\ttwo\r\n{A} 7 3 1\n\tthree\n{A} 9 4 1\nfilename other\n\tfour\n".encode()
)


# Conformance: 000-018
def test_saved_output_is_parsed() -> None:
    first, second, third = parse_blame([SAVED])
    assert first == BlameEntry(
        CommitSha(A),
        ZonedTime(1_700_000_000, "+0530"),
        Lines(1, 2),
        Lines(1, 2),
        RepoPath(b"x\ty"),
        (b"one", b"\ttwo\r"),
    )
    assert (second.origin, second.path, second.texts) == (Lines(7, 7), RepoPath(b"x\ty"), (b"three",))
    assert (third.commit, third.authored, third.path) == (A, first.authored, RepoPath(b"other"))


@given(versions(odd_names, contents))
@settings(max_examples=40)
def test_every_line_is_blamed_once_at_its_position(shared: Built, files: list[dict[bytes, bytes]]) -> None:
    commits = a_history(shared, *files)
    repository = discover_repository(shared.path)
    contents_of = dict(zip(commits, files, strict=True))
    for name, content in files[-1].items():
        entries = list(repository.blame(commits[-1], RepoPath(name)))
        lines = lines_of(content)
        assert [text for entry in entries for text in entry.texts] == [line.removesuffix(b"\n") for line in lines]
        numbers = [number for entry in entries for number in range(entry.lines.first, entry.lines.last + 1)]
        assert numbers == list(range(1, len(lines) + 1))
        for entry in entries:
            theirs = lines_of(contents_of[entry.commit][entry.path.raw])
            origin = theirs[entry.origin.first - 1 : entry.origin.last]
            assert tuple(line.removesuffix(b"\n") for line in origin) == entry.texts
        sources = repository.line_sources(commits[-1], RepoPath(name))
        found = sorted((source.blamed, source.commit, source.path, source.origin) for source in sources)
        assert found == sorted((entry.lines, entry.commit, entry.path, entry.origin) for entry in entries)


def test_a_missing_version_costs_only_the_lines_that_may_be_older(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    texts = [b"".join(b"line %d\n" % n for n in range(count)) for count in (2, 3, 4, 5)]
    commits = a_history(built, *({b"x": text} for text in texts))
    repository = discover_repository(tmp_path)
    newest = commits[-1], RepoPath(b"x")
    assert [source.blamed.first for source in repository.line_sources(*newest)] == [5, 4, 3, 1]
    built.lose(texts[1])
    with pytest.raises(GitError):
        list(repository.blame(commits[-1], RepoPath(b"x")))
    assert [(source.commit, source.blamed) for source in repository.line_sources(*newest)] == [
        (commits[3], Lines(5, 5))
    ]
    built.lose(texts[3])
    assert repository.line_sources(commits[-1], RepoPath(b"x")) == []


@pytest.fixture
def renamed(tmp_path: Path) -> tuple[Repository, list[CommitSha]]:
    body = b"".join(b"line %d\n" % n for n in range(20))
    built = a_repository(tmp_path)
    commits = a_history(built, {b"old": body}, {b"n\xc3\xa4w\n": body + b"more\n"})
    return discover_repository(built.path), commits


def test_a_renamed_file_keeps_its_lines(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (first, second) = renamed
    entries = {entry.commit: entry for entry in repository.blame(second, RepoPath(b"n\xc3\xa4w\n"))}
    assert (entries[first].path, entries[first].lines) == (RepoPath(b"old"), Lines(1, 20))
    assert entries[second].authored == ZonedTime(NOON + 120, "+0000")


def test_only_the_requested_lines_are_blamed(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (_, second) = renamed
    entries = list(repository.blame(second, RepoPath(b"n\xc3\xa4w\n"), [Lines(3, 4), Lines(20, 21)]))
    assert sorted(entry.lines for entry in entries) == [Lines(3, 4), Lines(20, 20), Lines(21, 21)]


def test_lines_outside_the_file_are_input_errors(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, (first, _) = renamed
    with pytest.raises(InputError, match="has only 20 lines"):
        list(repository.blame(first, RepoPath(b"old"), [Lines(21, 21)]))


@pytest.mark.parametrize("path", [b"nowhere", b"--output=x", b":(top)old", b"o*"])
def test_a_missing_path_is_an_input_error(renamed: tuple[Repository, list[CommitSha]], path: bytes) -> None:
    repository, (first, _) = renamed
    with pytest.raises(InputError, match="no such path"):
        list(repository.blame(first, RepoPath(path)))


def test_an_unknown_commit_is_an_error(renamed: tuple[Repository, list[CommitSha]]) -> None:
    repository, _ = renamed
    with pytest.raises(GitError):
        list(repository.blame(CommitSha("1" * 40), RepoPath(b"old")))
    with pytest.raises(InputError):
        repository.blame(CommitSha("--output=x"), RepoPath(b"old"))


def test_a_shallow_clone_blames_its_boundary(renamed: tuple[Repository, list[CommitSha]], tmp_path: Path) -> None:
    _, (_, second) = renamed
    clone = a_clone(Built(tmp_path), tmp_path / "clone", "--depth=1")
    repository = discover_repository(clone.path)
    (entry,) = repository.blame(second, RepoPath(b"n\xc3\xa4w\n"))
    assert entry.commit in repository.list_shallow_commits()


def test_a_damaged_author_line_is_accepted(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    good = built.commit({b"x": b"1\n"})
    raw = built.git("cat-file", "commit", good).replace(b"author A Tester <tester@example.invalid>", b"author none")
    bad = built.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", feed=raw).decode().strip()
    repository = discover_repository(tmp_path)
    (entry,) = repository.blame(CommitSha(bad), RepoPath(b"x"))
    assert entry.authored is None
    (commit,) = repository.log([CommitSha(bad)])
    assert commit.author.at is None and commit.committer.at is not None


@table(
    "bad",
    [
        SAVED[:-2],
        SAVED.replace(b"author-time 1", b"author-time x"),
        SAVED.replace(b"author-tz", b"author-zone"),
        SAVED.replace(b" 1 1 2", b" 1 1 0"),
        SAVED.replace(b" 1 1 2", b" 0 1 2"),
        SAVED.replace(b" 1 1 2", b" 1 1 2_0"),
        SAVED.replace(b'ty"', b"ty"),
        SAVED.replace(b"filename other", b"filename ../other"),
        SAVED.replace(A.encode() + b" 9", B.encode() + b" 9"),
        SAVED.replace(A.encode(), b"A" * 40),
        SAVED.replace(b" 2 2\n", b" 3 2\n"),
        SAVED.replace(b" 2 2\n", b" 2 2 1\n"),
        SAVED.replace(b'filename "x\\ty"\n', b""),
        SAVED.replace(b"\t\ttwo", b"two"),
        SAVED.replace(b" 7 3 1", b" 7 3"),
        b"\n",
    ],
)
def test_invalid_output_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_blame([bad]))
