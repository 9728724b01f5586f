"""``custody trust record --outcome`` and ``custody trust reverts`` as a user runs them."""

import json
import re
from pathlib import Path

import pytest

from tests.builders.cli import spool_of
from tests.builders.hooks import a_recorded_edit
from tests.builders.in_process import custody
from tests.builders.repo import NOON, Built, a_repository

BASE = b"one = first(1)\n"
ADDED = b"".join(b"value_%d = compute(%d)\n" % (n, n) for n in range(6))


MERGED = """\
merged COMMIT: 6 changed lines; added: 6 agent, 0 person, 0 unknown
claude-code: recorded as STORE:2
  MOMENT  0.50 -> 0.58  accepted COMMIT, weight 0.50, step 0.16 by ana
  trust 0.58 (medium), 1 review: 1 accepted, 0 modified, 0 rejected; confidence 0.01, too few reviews
"""


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """A first commit, and a second one that an agent was recorded writing."""
    made = a_repository(tmp_path / "repository")
    first = made.commit({b"a.py": BASE}, at=NOON)
    at, after = "2023-11-14T22:14:00Z", (BASE + ADDED).decode()
    spool_of(made.path).put(
        a_recorded_edit("a.py", BASE.decode(), after, root=made.path, session="s", head=first, at=at)
    )
    made.commit({b"a.py": BASE + ADDED}, first, message=b"Add values", at=NOON + 120)
    made.checkout()
    return made


def told(text: str) -> str:
    """Return the output with fixed names for commits and times."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "MOMENT", text)
    return re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", text)


def test_an_outcome_is_recorded_known_and_reverted(built: Built) -> None:
    words = ("trust", "record", "--outcome", "merged", "HEAD", "--actor", "ana")
    ran = custody(built.path, *words)
    assert (ran.status, told(ran.out), ran.err) == (0, MERGED, "")
    again = custody(built.path, *words)
    assert (again.status, told(again.out).splitlines()[1:]) == (
        0,
        ["claude-code: nothing recorded: already accepted in record STORE:2"],
    )
    ran = custody(built.path, "trust", "record", "claude-code", "HEAD", "--outcome", "reverted")
    assert (ran.status, ran.out) == (2, "")
    assert "a correction needs an actor and a reason" in ran.err
    said = ("--actor", "ben", "--reason", "slow")
    ran = custody(built.path, "trust", "record", "claude-code", "HEAD", "--outcome", "reverted", *said, "--json")
    report = json.loads(ran.out)
    assert (report["report"], report["told"], report["agents"][0]["taken"]["kind"]) == (
        "trust-outcome",
        "reverted",
        "revert",
    )


def test_reverts_are_found_shown_and_recorded_once(built: Built) -> None:
    target = built.head()
    built.commit({b"a.py": BASE}, target, message=f'Revert "Add values"\n\nThis reverts commit {target}.'.encode())
    ran = custody(built.path, "trust", "reverts")
    assert (ran.status, told(ran.out), ran.err) == (
        0,
        "COMMIT 'Revert \"Add values\"' reverts COMMIT 'Add values'\nreverts in 3 commits: 1 whole\n",
        "",
    )
    ran = custody(built.path, "trust", "reverts", "HEAD~1..HEAD", "--record", "--actor", "ana")
    assert "  claude-code: recorded as STORE:2" in ran.out
    assert ran.out.splitlines()[-1] == "1 decision recorded"
    ran = custody(built.path, "trust", "reverts", "--record", "--json")
    report = json.loads(ran.out)
    assert (report["report"], report["recorded"], report["found"][0]["outcomes"][0]["state"]) == (
        "trust-reverts",
        0,
        "known",
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("record --outcome merged", "--outcome needs one change"),
        ("record a b c --outcome merged", "--outcome needs one change"),
        ("record HEAD --outcome landed", "'landed' is not one of"),
        ("record HEAD --outcome merged --overrides x", "--outcome excludes --overrides"),
        ("record HEAD --outcome merged --duplicate-of HEAD~1", "was not closed as a duplicate"),
        ("record claude-code accepted HEAD --landed-as HEAD", "need --outcome"),
        ("record claude-code", "expected AGENT DECISION"),
        ("--storage x record HEAD --outcome merged", "leave out --storage"),
        ("--storage x reverts", "leave out --storage"),
        ("reverts nowhere..HEAD", "unknown revision 'nowhere'"),
        ("reverts ..HEAD", "has no base"),
    ],
)
def test_bad_input_is_refused(built: Built, words: str, says: str) -> None:
    ran = custody(built.path, "trust", *words.split())
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
