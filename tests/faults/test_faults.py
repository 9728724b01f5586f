"""The faults of ``bench/faults``, in few rounds here and in many with ``make test-full``."""

from pathlib import Path

import pytest

from bench.faults.disk import CannotMount
from bench.faults.frame import Trial, examine
from bench.faults.registry import FAULTS
from tests.house.not_run import not_run

FEW = {"kill": 8, "bit-flips": 25, "tamper": 3, "spool-flips": 10, "chain-damage": 50, "disk-full": 4, "read-only": 6}


def broken(name: str, rounds: int, folder: Path) -> list[str]:
    """Return the broken figures after that many rounds, with the seed to repeat them."""
    try:
        return examine(FAULTS[name], Trial(seed=20260131, rounds=rounds, folder=folder)).broken
    except CannotMount as why:
        not_run("a file system of its own", why)


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_and_nothing_is_silent(name: str, tmp_path: Path) -> None:
    assert broken(name, FEW.get(name, 1), tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_lost_and_nothing_is_silent_in_many_rounds(name: str, tmp_path: Path) -> None:
    assert broken(name, FAULTS[name].rounds, tmp_path) == []
