"""The index as git lists it, and when its cached stat proves that a file is unchanged."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.core.errors import GitError
from custody.core.paths import RepoPath
from custody.git.work_tree_index import (
    LIST_INDEX,
    CachedStat,
    IndexEntry,
    has_same_stat,
    is_older_than_index,
    parse_index_entries,
)
from custody.git.work_tree_settings import WorkSettings
from tests.builders.repo import a_repository

USUAL = WorkSettings()
SECOND = 1_000_000_000
STAT = b"  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 7\tgid: 8\n  size: 9\tflags: %s\n"
ID = b"a" * 40


def entry(path: Path) -> IndexEntry:
    found = path.stat()
    changed, modified = (divmod(ns, SECOND) for ns in (found.st_ctime_ns, found.st_mtime_ns))
    remembered = CachedStat(changed, modified, found.st_ino, found.st_uid, found.st_gid, found.st_size)
    return IndexEntry(RepoPath(b"x"), 0o100644, ID.decode(), 0, remembered, 0)


def test_saved_output_is_parsed() -> None:
    lines = (b"100644 %s 0\tplain\0" % ID, STAT % b"0", b"100755 %s 0\ttab\there\nand line\0" % ID, STAT % b"40004000")
    plain, odd = parse_index_entries(lines)
    assert plain == IndexEntry(RepoPath(b"plain"), 0o100644, "a" * 40, 0, CachedStat((1, 2), (3, 4), 6, 7, 8, 9), 0)
    assert (odd.path.raw, odd.mode, odd.is_left_alone) == (b"tab\there\nand line", 0o100755, True)
    assert not plain.is_left_alone
    assert replace(plain, flags=1 << 29).is_intended
    assert replace(plain, flags=1 << 15).is_left_alone


def test_pieces_may_end_anywhere() -> None:
    whole = b"".join((b"100644 %s 0\tplain\0" % ID, STAT % b"0", b"100755 %s 0\ta\nb\0" % ID, STAT % b"40004000"))
    for size in (1, 7, 100):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        assert list(parse_index_entries(pieces)) == list(parse_index_entries([whole]))
    with pytest.raises(GitError):
        list(parse_index_entries(b"x" * 1000 for _ in range(10**9)))


def test_an_unmerged_path_is_one_entry_preferably_ours() -> None:
    def listed(*stages: int) -> list[int]:
        lines = [part for stage in stages for part in (b"100644 %s %d\tx\0" % (ID, stage), STAT % b"0")]
        return [found.stage for found in parse_index_entries(lines)]

    assert listed(1, 2, 3) == [2]
    assert listed(1, 3) == [1]
    assert listed(3) == [3]


@pytest.mark.parametrize(
    "bad",
    [
        b"x\0",
        b"100644 aa 0\tx\0" + STAT % b"0",
        b"100644 %s 0\tx\0" % ID,
        b"100644 %s 0\t../x\0" % ID + STAT % b"0",
        b"100644 %s 0\tx\0" % ID + (STAT % b"0").replace(b"mtime", b"other"),
    ],
)
def test_invalid_output_is_a_git_error(bad: bytes) -> None:
    with pytest.raises(GitError):
        list(parse_index_entries([bad]))


def test_gits_own_listing(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    (tmp_path / "x").write_bytes(b"content")
    (tmp_path / "empty").write_bytes(b"")
    built.git("add", ".")
    for found in parse_index_entries([built.git(*LIST_INDEX)]):
        assert has_same_stat(found, (tmp_path / str(found.path)).stat(), USUAL)


def test_compared_fields_of_stat(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"content")
    found, known = path.stat(), entry(path)
    then = known.cached

    def same(settings: WorkSettings, **changes: object) -> bool:
        return has_same_stat(replace(known, cached=replace(then, **changes)), found, settings)

    assert same(USUAL)
    assert same(USUAL, modified=(then.modified[0], 0), changed=(then.changed[0], 0)), "unknown nanoseconds"
    assert not same(USUAL, modified=(then.modified[0] - 1, then.modified[1]))
    assert not same(USUAL, modified=(then.modified[0], then.modified[1] ^ 1))
    assert not same(USUAL, size=1)
    for name in ("inode", "owner", "group"):
        assert not same(USUAL, **{name: 12345})
        assert same(WorkSettings(whole_stat=False), **{name: 12345})
    assert not same(USUAL, changed=(1, 1))
    assert same(WorkSettings(trusts_ctime=False), changed=(1, 1))


def test_a_size_of_0_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    assert not has_same_stat(entry(path), path.stat(), USUAL)
    empty = replace(entry(path), id="e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    assert has_same_stat(empty, path.stat(), USUAL)


def test_a_file_as_new_as_the_index_proves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"content")
    os.utime(path, ns=(0, 100 * SECOND + 5))
    known = entry(path)
    at = 100 * SECOND + 5
    assert [is_older_than_index(known, at + more, by_seconds=True) for more in (0, 1, SECOND)] == [False, False, True]
    assert [is_older_than_index(known, at + more, by_seconds=False) for more in (0, 1, SECOND)] == [False, True, True]
    rough = replace(known, cached=replace(known.cached, modified=(100, 0)))
    assert not is_older_than_index(rough, at, by_seconds=False)
    assert not is_older_than_index(known, 0, by_seconds=False)
