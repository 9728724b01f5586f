"""Diffs: applied to the old contents they give the new contents, and unidiff parses the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from unidiff import PatchSet
from unidiff.patch import Hunk as TheirHunk

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.core.paths import Hunk, Lines, RepoPath
from custody.git import ChangeKind, CommitDiff, Comparison, FileDiff, HunkDetail, PatchLimits, discover_repository
from custody.git.diff import CommitFiles, parse_patches
from tests.builders.repo import FILE, LINK, PROGRAM, SUBMODULE, Built, Files, a_history, a_repository
from tests.builders.table import table
from tests.unit.git.strategies import applied, contents, odd_names, plain_names, texts, versions

COMMIT = "c" * 40
SAVED = (
    b"%s\0:100644 100644 %s %s M\0a b\0\0diff --git a/a b b/a b\nindex %s..%s 100644\n--- a/a b\t\n+++ b/a b\t\n"
    b"@@ -2 +2,2 @@ head\n-old\n+new\n+newer\n\\ No newline at end of file\n%s\0"
) % (COMMIT.encode(), b"1" * 40, b"2" * 40, b"1" * 40, b"2" * 40, b"d" * 40)


def a_diff(built: Built, *files: Files, renames: bool = False) -> CommitDiff:
    commits = a_history(built, *files)
    (diff,) = discover_repository(built.path).diffs([Comparison(commits[-1])], renames=renames)
    return diff


def test_saved_output_is_parsed() -> None:
    first, second = parse_patches([SAVED])
    (file,) = first.files
    assert file.change.path == RepoPath(b"a b")
    (hunk,) = file.hunks
    assert (hunk.removed, hunk.added) == ((b"old\n",), (b"new\n", b"newer"))
    assert (hunk.old_first, len(hunk.removed), hunk.new_lines) == (2, 1, Lines(2, 3))
    assert second == CommitFiles(CommitSha("d" * 40), ())


@given(versions(odd_names, contents))
@settings(max_examples=60)
def test_old_contents_and_hunks_make_the_new_contents(shared: Built, files: list[dict[bytes, bytes]]) -> None:
    commits = a_history(shared, *files)
    diffs = list(discover_repository(shared.path).diffs(map(Comparison, commits)))
    assert [diff.commit for diff in diffs] == commits
    for diff, old, new in zip(diffs, [{}, *files], files, strict=False):
        changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        assert {file.change.path.raw for file in diff.files} == changed
        for file in diff.files:
            before, after = (side.get(file.change.path.raw, b"") for side in (old, new))
            if file.shown is HunkDetail.BINARY:
                assert b"\0" in before + after
            else:
                assert applied(before, file.hunks) == after


@given(versions(plain_names, texts))
@settings(max_examples=40)
def test_unidiff_parses_the_same(shared: Built, files: list[dict[bytes, bytes]]) -> None:
    commits = a_history(shared, *files)
    ours = discover_repository(shared.path).diffs(map(Comparison, commits))
    for commit, diff in zip(commits, ours, strict=True):
        text = shared.git("diff-tree", "--root", "-r", "-p", "--no-commit-id", "-U0", commit)
        theirs = PatchSet(_lines(text))
        with_lines = [file for file in diff.files if file.hunks]
        assert [_ours(file) for file in with_lines] == [
            [_theirs(hunk) for hunk in file] for file in theirs if len(file)
        ]


def _lines(text: bytes) -> list[str]:
    # latin-1 keeps every byte; only the line feed ends a line, whatever Python thinks of \x0b and \x85.
    return [line + "\n" for line in text.decode("latin-1").split("\n")[:-1]]


def _ours(file: FileDiff) -> list[tuple[int, int, int, int, list[tuple[str, str]]]]:
    return [
        (
            *(hunk.old_first, len(hunk.removed), hunk.new_first, len(hunk.added)),
            [
                *(("-", text.decode("latin-1")) for text in hunk.removed),
                *(("+", text.decode("latin-1")) for text in hunk.added),
            ],
        )
        for hunk in file.hunks
    ]


def _theirs(hunk: TheirHunk) -> tuple[int, int, int, int, list[tuple[str, str]]]:
    lines: list[tuple[str, str]] = []
    for line in hunk:
        if line.line_type == "\\":
            lines[-1] = (lines[-1][0], lines[-1][1].removesuffix("\n"))
        else:
            lines.append((line.line_type, line.value))
    return hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length, lines


def test_a_rename_keeps_both_names(tmp_path: Path) -> None:
    body = b"".join(b"line %d\n" % n for n in range(20))
    diff = a_diff(a_repository(tmp_path), {b"old\tname": body}, {b"new\nname": body + b"more\n"}, renames=True)
    (file,) = diff.files
    assert file.change.kind is ChangeKind.RENAMED
    assert file.change.old and file.change.old.path == RepoPath(b"old\tname")
    assert file.change.new and file.change.new.path == RepoPath(b"new\nname")
    assert file.change.similarity and 50 <= file.change.similarity < 100
    assert [hunk.added for hunk in file.hunks] == [(b"more\n",)]


def test_without_renames_it_is_a_deletion_and_an_addition(tmp_path: Path) -> None:
    diff = a_diff(a_repository(tmp_path), {b"old": b"a\nb\n"}, {b"new": b"a\nb\n"})
    assert [file.change.kind for file in diff.files] == [ChangeKind.ADDED, ChangeKind.DELETED]
    assert [file.change.path.raw for file in diff.files] == [b"new", b"old"]


def test_a_change_of_mode_has_no_hunks(tmp_path: Path) -> None:
    diff = a_diff(a_repository(tmp_path), {b"x": b"a\n"}, {b"x": (PROGRAM, b"a\n")})
    (file,) = diff.files
    assert file.hunks == () and file.shown is HunkDetail.WHOLE
    assert file.change.old and file.change.old.mode == 0o100644
    assert file.change.new and file.change.new.mode == 0o100755


def test_a_change_of_type_has_removed_and_added_lines(tmp_path: Path) -> None:
    diff = a_diff(a_repository(tmp_path), {b"a": b"1\n", b"x": b"old\n"}, {b"a": b"2\n", b"x": (LINK, b"to")})
    changed, retyped = diff.files
    assert changed.change.kind is ChangeKind.MODIFIED
    assert retyped.change.kind is ChangeKind.RETYPED
    assert [(hunk.removed, hunk.added) for hunk in retyped.hunks] == [((b"old\n",), ()), ((), (b"to",))]


def test_a_submodule_shows_its_commit(tmp_path: Path) -> None:
    one, two = b"1" * 40, b"2" * 40
    diff = a_diff(a_repository(tmp_path), {b"sub": (SUBMODULE, one)}, {b"sub": (SUBMODULE, two)})
    (file,) = diff.files
    assert file.change.new and (file.change.new.mode, file.change.new.blob) == (0o160000, two.decode())
    assert file.hunks[0].added == (b"Subproject commit " + two + b"\n",)


def test_an_empty_file_and_an_empty_commit_are_answers(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    commits = a_history(built, {b"e": b""}, {b"e": b""})
    first, second = discover_repository(built.path).diffs(map(Comparison, commits))
    assert [(file.change.kind, file.hunks, file.shown) for file in first.files] == [
        (ChangeKind.ADDED, (), HunkDetail.WHOLE)
    ]
    assert second.files == ()


def test_a_merge_is_compared_with_the_named_parent(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    base = built.commit({b"x": b"base\n"})
    left = built.commit({b"x": b"base\n", b"left": b"l\n"}, base)
    right = built.commit({b"x": b"base\n", b"right": b"r\n"}, base)
    merge = built.commit({b"x": b"base\n", b"left": b"l\n", b"right": b"r\n"}, left, right)
    ask = discover_repository(built.path).diffs
    assert [[f.change.path.raw for f in d.files] for d in ask([Comparison(merge)])] == [[b"right"]]
    two = list(ask([Comparison(merge, left), Comparison(merge, right), Comparison(merge, base)]))
    assert [[f.change.path.raw for f in d.files] for d in two] == [[b"right"], [b"left"], [b"left", b"right"]]


def test_comparing_with_and_without_a_parent_is_rejected(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    one, two = a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})
    with pytest.raises(InputError, match="with its own and with a named parent"):
        list(discover_repository(built.path).diffs([Comparison(two, one), Comparison(two)]))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_missing_commit_is_named(tmp_path: Path, place: int) -> None:
    built = a_repository(tmp_path)
    asked = [Comparison(sha) for sha in a_history(built, {b"x": b"1\n"}, {b"x": b"2\n"})]
    asked.insert(place, Comparison(CommitSha("0" * 39 + "1")))
    with pytest.raises(GitError, match="0001"):
        list(discover_repository(built.path).diffs(asked))


def test_paths_are_names_not_patterns(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    names = [b"*", b":(top)x", b"--output=y", b"folder/x", b"x"]
    commit = built.commit({name: b"1\n" for name in names})
    for name in names:
        (diff,) = discover_repository(built.path).diffs([Comparison(commit)], [RepoPath(name)])
        assert [file.change.path.raw for file in diff.files] == [name]
    (diff,) = discover_repository(built.path).diffs([Comparison(commit)], [RepoPath(b"folder")])
    assert [file.change.path.raw for file in diff.files] == [b"folder/x"]


def test_too_many_paths_are_rejected(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    with pytest.raises(InputError, match="too many"):
        discover_repository(built.path).diffs([], [RepoPath(b"x" * 4000)] * 30)


def test_too_large_diffs_are_reported(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    large, small = b"".join(b"line %d\n" % n for n in range(1000)), b"small\n"
    commit = built.commit({b"a": small, b"b": large, b"c": (FILE, small), b"d": large})
    repository = discover_repository(built.path)
    (diff,) = repository.diffs([Comparison(commit)], limits=PatchLimits(file_bytes_max=1000))
    assert [file.shown for file in diff.files] == [
        HunkDetail.WHOLE,
        HunkDetail.TOO_LARGE,
        HunkDetail.WHOLE,
        HunkDetail.TOO_LARGE,
    ]
    assert [len(file.hunks) for file in diff.files] == [1, 0, 1, 0]
    (diff,) = repository.diffs([Comparison(commit)], limits=PatchLimits(commit_bytes_max=len(large) + 2000))
    assert [file.shown for file in diff.files] == [
        HunkDetail.WHOLE,
        HunkDetail.WHOLE,
        HunkDetail.WHOLE,
        HunkDetail.TOO_LARGE,
    ]


def test_attributes_hide_nothing(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    one, two = a_history(built, {b"x.py": b"1\n"}, {b"x.py": b"2\n", b".gitattributes": b"*.py -diff\n"})
    built.checkout()
    (tmp_path / ".git" / "info" / "attributes").write_text("*.py -diff\n")
    assert b"Binary files" in built.git("diff-tree", "-p", two)
    (diff,) = discover_repository(built.path).diffs([Comparison(two, one)], [RepoPath(b"x.py")])
    assert diff.files[0].hunks[0].added == (b"2\n",)


@table(
    "bad",
    [
        SAVED[:-60],
        SAVED.replace(b"@@ -2", b"@@ -x"),
        SAVED.replace(b"+2,2", b"+2,9"),
        SAVED.replace(b"+2,2", b"+2,1"),
        SAVED.replace(b"-old", b"?old"),
        SAVED.replace(b"-old", b" old"),
        SAVED.replace(b"diff --git", b"diff"),
        SAVED.replace(b" M\0", b" Q\0"),
        SAVED.replace(b"a b\0\0", b"/etc\0\0"),
        SAVED.replace(b"a b\0\0", b"a b\0x\0"),
        SAVED.replace(b"+newer\n\\", b"\\\n\\"),
        b"rubbish",
    ],
)
def test_invalid_output_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_patches([bad]))


def test_sides_of_a_hunk() -> None:
    hunk = Hunk(3, 4, (), (b"new\n",))
    assert (len(hunk.removed), len(hunk.added), hunk.new_lines) == (0, 1, Lines(4, 4))
    assert Hunk(3, 2, (b"old\n",), ()).new_lines is None
