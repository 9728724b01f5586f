"""``custody trust simulate`` as a user sees it: tables, JSON, clear errors."""

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
15 changes since 2023-01-01T00:00:00Z: 0 recorded, 15 from git history
git history, including earlier commits: 1 reverted, 0 quickly fixed
rules in force: 5 of 15 changes merge without review (5 lines); 0 rejected, 1 reverted (20.00% bad);\
 risk target 1.0%: ABOVE the target
  with risk control: 0 of 15 changes merge without review (0 lines); 0 rejected, 0 reverted
  reasons for review: TRUST-SAMPLES 10, TRUST-PATH 1
  A Tester: 5 of 15 changes merge without review (5 lines); 0 rejected, 1 reverted (20.00% bad)
"""


def test_a_simulation_shows_what_would_have_merged_and_its_outcome(history: Path) -> None:
    (history / "custody.toml").write_text("[trust]\naudit_share = 0.0\n")
    ran = custody(history, "trust", "simulate", "--since", "2023-01-01")
    assert ran.status == 0
    head, _, example = ran.out.partition("merges and was bad: ")
    assert head == SIMULATED
    assert "by A Tester, 2023-11-27, 1 line, reverted, trust 0." in example


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
    assert "did you mean 'approve_samples_min'?" in ran.err


def test_why_shows_the_acceptance_probability_beside_the_score(history: Path) -> None:
    custody(history, "trust", "record", "robot", "accepted", "HEAD", "--actor", "ana")
    ran = custody(history, "trust", "why", "robot")
    assert ran.status == 0
    assert "  everyone (0.667 from 1.0)\n" in ran.out
    assert "log-odds: acceptance probability 0." in ran.out
    assert ran.out.endswith("risk control: no change passes yet; target 1.0%, realized none yet in 1 decision\n")
