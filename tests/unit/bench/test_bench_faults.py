"""The frame of faults: a seed replays it, a wrong figure fails it; and faults of the chain."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bench.bars import BenchError
from bench.faults import chain
from bench.faults.__main__ import main
from bench.faults.frame import Fault, Figures, Trial, all_of, examine, none_of, seen, some
from bench.faults.registry import FAULTS
from bench.names import by_name


def losing(lost: int, name: str = "losing") -> Fault:
    def run(trial: Trial) -> Figures:
        rounds = len(list(trial.each()))
        return {"rounds made": seen(rounds), "kept": all_of(rounds - lost, rounds), "lost": none_of(lost)}

    return Fault(name=name, what="records are kept", run=run, rounds=5)


def rolling() -> Fault:
    def run(trial: Trial) -> Figures:
        rolled = sum(round_.random.randrange(1000) for round_ in trial.each())
        return {"rolled": seen(rolled), "wrong": none_of(0)}

    return Fault(name="rolling", what="dice", run=run, rounds=2)


TABLE: Mapping[str, Fault] = by_name([losing(0, "safe"), losing(2), rolling()])


def a_trial(folder: Path, *, seed: int = 1, rounds: int = 3) -> Trial:
    return Trial(seed=seed, rounds=rounds, folder=folder)


def run(*argv: str, err: io.StringIO | None = None) -> tuple[int, str]:
    out = io.StringIO()
    return main(argv, table=TABLE, out=out, err=err or io.StringIO()), out.getvalue()


def test_a_figure_holds_only_when_it_is_what_it_must_be() -> None:
    assert seen(7).holds
    assert none_of(0).holds and not none_of(1).holds
    assert all_of(1600, 1600).holds and not all_of(1599, 1600).holds and not all_of(1601, 1600).holds
    assert some(1).holds and not some(0).holds


def test_what_does_not_hold_is_named(tmp_path: Path) -> None:
    assert examine(losing(0), a_trial(tmp_path)).broken == []


def test_what_is_lost_is_counted_and_named(tmp_path: Path) -> None:
    assert examine(losing(2), a_trial(tmp_path)).broken == ["kept is 1, must be = 3", "lost is 2, must be = 0"]


def test_a_fault_that_could_never_fail_is_refused(tmp_path: Path) -> None:
    idle = replace(losing(0), run=lambda trial: {"rounds": seen(3)})
    with pytest.raises(BenchError, match="no figure that must hold"):
        examine(idle, a_trial(tmp_path))


def test_no_rounds_show_nothing(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="0 rounds show nothing"):
        a_trial(tmp_path, rounds=0)


def test_every_round_has_its_own_folder_and_is_reported(tmp_path: Path) -> None:
    told: list[str] = []
    rounds = list(replace(a_trial(tmp_path), tell=told.append).each())
    assert [round_.number for round_ in rounds] == [0, 1, 2]
    assert len({round_.folder for round_ in rounds}) == 3
    assert all(not list(round_.folder.iterdir()) for round_ in rounds)
    assert told == ["round 1 of 3", "round 2 of 3", "round 3 of 3"]


def test_the_seed_replays_the_rounds_and_another_one_does_not(tmp_path: Path) -> None:
    def rolls(folder: str, seed: int) -> list[int]:
        (tmp_path / folder).mkdir()
        return [round_.random.getrandbits(64) for round_ in a_trial(tmp_path / folder, seed=seed).each()]

    assert rolls("one", 1) == rolls("again", 1)
    assert rolls("other", 2) != rolls("a third", 1)
    assert len(set(rolls("all", 1))) == 3


def test_chance_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Compare with a number from another process: Python's own hash changes from run to run."""
    assert a_trial(tmp_path).random("part", 2).getrandbits(32) == 4245812958


def test_the_table_has_every_figure_and_how_to_see_it_again() -> None:
    status, out = run("safe", "losing", "--seed", "9", "--rounds", "4")
    assert status == 1
    assert out == (
        "fault   rounds  figure       value  must be  holds\n"
        "safe    4       rounds made  4\n"
        "safe    4       kept         4      = 4      yes\n"
        "safe    4       lost         0      = 0      yes\n"
        "losing  4       rounds made  4\n"
        "losing  4       kept         2      = 4      NO\n"
        "losing  4       lost         2      = 0      NO\n"
        "\n"
        "python -m bench.faults safe --rounds 4 --seed 9\n"
        "python -m bench.faults losing --rounds 4 --seed 9\n"
    )


def test_the_command_succeeds_only_when_every_figure_holds() -> None:
    assert run("safe")[0] == 0
    assert run("safe", "losing")[0] == 1


def test_without_a_number_of_rounds_each_fault_makes_its_own() -> None:
    assert "safe     5 " in run("safe", "rolling")[1]
    assert "rolling  2 " in run("rolling")[1]


def test_the_seed_is_printed_before_anything_can_go_wrong() -> None:
    def run_and_fail(trial: Trial) -> Figures:
        raise OSError("no space left")

    table = by_name([Fault(name="full", what="w", run=run_and_fail, rounds=1)])
    err = io.StringIO()
    with pytest.raises(OSError):
        main(["--seed", "77"], table=table, out=io.StringIO(), err=err)
    assert err.getvalue() == "seed 77\n"


def test_a_run_without_a_seed_draws_one_that_replays_it() -> None:
    first = json.loads(run("rolling", "--json")[1])
    assert json.loads(run("rolling", "--json", "--seed", str(first["seed"]))[1]) == first
    assert json.loads(run("rolling", "--json")[1])["seed"] != first["seed"]


def test_json_has_what_the_table_has() -> None:
    status, out = run("losing", "--json", "--seed", "9", "--rounds", "4")
    document = json.loads(out)
    assert (status, document["seed"]) == (1, 9)
    (fault,) = document["faults"]
    assert fault["figures"]["rounds made"] == {"value": 4, "must": None, "holds": True}
    assert fault["figures"]["lost"] == {"value": 2, "must": "= 0", "holds": False}


def test_the_list_runs_nothing() -> None:
    assert run("--list", "safe") == (0, "fault  rounds  what\nsafe   5       records are kept\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [(["loosing"], "did you mean 'losing'?"), (["losing", "--rounds", "0"], "'0' is not a number from 1 on")],
)
def test_a_wrong_command_line_is_the_callers_turn(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*argv)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_every_damage_of_a_chain_is_found(tmp_path: Path) -> None:
    assert examine(FAULTS["chain-damage"], a_trial(tmp_path, rounds=20)).broken == []


@pytest.mark.parametrize("name", chain.DAMAGES)
def test_every_damage_changes_the_chain(name: str, tmp_path: Path) -> None:
    for round_ in a_trial(tmp_path, rounds=20).each():
        sound = chain.a_chain(round_.random)
        assert chain.DAMAGES[name](round_.random, sound) != sound


def test_damage_that_is_overlooked_makes_the_fault_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "intact", lambda records, head: True)
    assert examine(FAULTS["chain-damage"], a_trial(tmp_path, rounds=1)).broken == [
        "damage found is 0, must be = 6",
        "damage silent is 6, must be = 0",
    ]
