"""``custody trust simulate`` as a user sees it: tables, JSON, clear words."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.cli import Ran
from tests.builders.in_process import custody
from tests.builders.repo import NOON, a_repository

DAY = 86_400


def told(ran: Ran) -> dict[str, Any]:
    assert (ran.status, ran.err) == (0, "")
    answer: dict[str, Any] = json.loads(ran.out.splitlines()[-1])
    return answer


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Fourteen commits a day apart, the last one reverted by a fifteenth."""
    built = a_repository(tmp_path / "repository")
    files: dict[bytes, Any] = {b"custody.toml": b""}
    head: Any = None
    for day in range(15):
        message = f"Add {day}" if day < 14 else f'Revert "Add 13"\n\nThis reverts commit {head}.'
        files = {**files, b"src/a.py": b"".join(b"x = %d\n" % n for n in range(day + 1))}
        head = built.commit(files, *([head] if head else []), message=message.encode(), at=NOON + day * DAY)
    built.checkout()
    return built.path


SIMULATED = """\
15 change(s) since 2023-01-01T00:00:00Z: 0 recorded, 15 commit(s) of plain git history
in git history 1 commit(s) were taken back and 0 quickly mended, the time before included
rules in force: 5 of 15 land without review, 5 line(s); 0 rejected, 1 taken back = 20.00%; target 1.0%: ABOVE the target
  with risk control: 0 of 15 land without review, 0 line(s); 0 rejected, 0 taken back = –
  against the others: TRUST-SAMPLES 10, TRUST-PATH 1
  A Tester: 5 of 15 land without review, 5 line(s); 0 rejected, 1 taken back = 20.00%
"""


def test_a_simulation_says_what_would_have_landed_and_what_became_of_it(history: Path) -> None:
    (history / "custody.toml").write_text("[trust]\naudit_share = 0.0\n")
    ran = custody(history, "trust", "simulate", "--since", "2023-01-01")
    assert ran.status == 0
    head, _, example = ran.out.partition("lands and was bad: ")
    assert head == SIMULATED
    assert "of A Tester, 2023-11-27, 1 line(s), reverted, score 0." in example


def test_a_simulation_of_two_policies_as_json(history: Path) -> None:
    (history / "loose.toml").write_text("[trust]\naudit_share = 0.0\napprove_samples_min = 0\n")
    ran = custody(history, "trust", "simulate", "--since", "2023-01-01", "--policy", "loose.toml", "--json")
    report = told(ran)
    assert [one["name"] for one in report["policies"]] == ["rules in force", "loose.toml"]
    assert report["policies"][1]["landing"]["approved"] == 14


def test_a_simulation_refuses_a_policy_with_an_unknown_key(history: Path) -> None:
    (history / "wrong.toml").write_text("[trust]\naprove_samples_min = 0\n")
    ran = custody(history, "trust", "simulate", "--policy", "wrong.toml")
    assert (ran.status, ran.out) == (2, "")
    assert "the nearest is 'approve_samples_min'" in ran.err


def test_why_tells_the_chance_beside_the_score(history: Path) -> None:
    custody(history, "trust", "record", "robot", "accepted", "HEAD", "--actor", "ana")
    ran = custody(history, "trust", "why", "robot")
    assert ran.status == 0
    assert "  everyone (0.6667 from 1.0)\n" in ran.out
    assert "log-odds: chance of acceptance 0." in ran.out
    assert ran.out.endswith(
        "risk target 1.0%, realised nothing in 1 decision(s); lets through: risk control can show nothing yet\n"
    )
