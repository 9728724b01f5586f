"""``custody read``: what it lists, records and refuses."""

import json
from pathlib import Path

import pytest

from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository


@pytest.fixture
def built(tmp_path: Path) -> Built:
    built = a_repository(tmp_path / "repository")
    base = built.commit({b"a.txt": b"one\n"})
    built.commit({b"a.txt": b"one\ntwo\n", b"b.txt": b"three\n"}, base, ref="refs/heads/topic")
    built.checkout()
    return built


def test_marks_are_listed_recorded_and_told_apart(built: Built) -> None:
    listed = custody(built.path, "read", "main..topic")
    assert listed.out.startswith("0 of 2 hunks read\n") and "a.txt:2-2  +1 -0  unread" in listed.out
    marked = custody(built.path, "read", "main..topic", "--path", "b.txt", "--actor", "Ana <b>")
    assert marked.out.startswith("1 of 2 hunks read; 1 mark recorded\n")
    assert "read by Ana <b> 20" in marked.out and "(self-reported)" in marked.out
    report = json.loads(custody(built.path, "read", "main..topic", "--json").out)
    assert (report["read"], report["recorded"], len(report["hunks"])) == (1, 0, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all"], "missing CHANGE"),
        (["main..topic", "--actor", "ana"], "--actor needs hunks to mark"),
        (["main..topic", "--since", "2026-01-01"], "--since excludes CHANGE"),
        (["main..topic", "--all", "--actor", "\x1b[31mana"], "cannot be shown"),
        (["main..topic", "--all", "--actor", "\u202eana"], "cannot be shown"),
        (["main..gone"], "unknown revision 'gone'"),
        (["main..topic", "--hunk", "zzzzzz"], "has no hunk 'zzzzzz'"),
        (["--since", "soon"], "soon"),
    ],
)
def test_what_cannot_be_answered_is_an_error(built: Built, words: list[str], message: str) -> None:
    ran = custody(built.path, "read", *words)
    assert (ran.status, ran.out) == (2, "") and message in ran.err


def test_nothing_recorded_is_zero_of_zero(built: Built) -> None:
    ran = custody(built.path, "read", "--since", "2020-01-01")
    assert ran.out.startswith("0 of 0 agent lines on main since 2020-01-01 were read by a person")
