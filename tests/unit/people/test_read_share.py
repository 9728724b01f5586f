"""How many agent lines on main a person read: every way to merge counts, authors do not count as readers."""

from pathlib import Path

import pytest

from custody.people.read_share import count_read_lines
from custody.people.reads import ReadRequest, record_reads
from tests.builders.judged import Judged
from tests.builders.repo import NOON

SINCE = "2000-01-01"


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    made = Judged(tmp_path / "repository")
    made.edit()
    return made


def shares(judged: Judged) -> tuple[int, int, int]:
    report = count_read_lines(judged.workspace, since=SINCE)
    return report.agent_lines, report.read_lines, report.witnessed_lines


def test_the_base_is_the_agents_lines(judged: Judged) -> None:
    assert shares(judged) == (2, 0, 0)
    change = f"{judged.first}..{judged.second}"
    record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person="ana"))
    assert shares(judged) == (2, 2, 0)


def test_the_author_of_a_commit_does_not_count_as_its_reader(judged: Judged) -> None:
    change = f"{judged.first}..{judged.second}"
    for name in ("A Tester", "TESTER@example.invalid", "a  tester"):
        record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person=name))
    assert shares(judged) == (2, 0, 0)


def test_commits_that_were_read_as_one_change_are_counted_as_one(judged: Judged) -> None:
    built = judged.built
    text = built.blob(judged.second, b"a.py").replace(b"one = first(1)", b"one = first(one)")
    third = built.commit({b"a.py": text}, judged.second, at=NOON + 60)
    record_reads(judged.workspace, ReadRequest(change=f"{judged.first}..{third}", is_whole=True, person="ana"))
    assert shares(judged) == (2, 2, 0)


def test_a_merge_is_counted_against_its_first_parent(judged: Judged) -> None:
    built = judged.built
    change = f"{judged.first}..{judged.second}"
    record_reads(judged.workspace, ReadRequest(change=change, is_whole=True, person="ana"))
    other = built.commit({b"a.py": built.blob(judged.first, b"a.py"), b"c.py": b"c = 1\n"}, judged.first, at=NOON + 30)
    files: dict[bytes, bytes | tuple[str, bytes]] = {b"a.py": built.blob(judged.second, b"a.py"), b"c.py": b"c = 1\n"}
    built.commit(files, other, judged.second, at=NOON + 60)
    assert shares(judged) == (2, 2, 0)
