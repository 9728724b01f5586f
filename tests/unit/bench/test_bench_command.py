"""Runs ``python -m bench`` on benches with fixed times."""

import io
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.__main__ import main
from bench.bars import BenchError, at_most
from bench.growth import Growth, Population
from bench.names import by_name
from bench.registry import BENCHES
from bench.runner import Bench, Ground, Sides
from bench.sanity import by_key

now = 0


def clock() -> int:
    return now


def taking(subject: int, baseline: int) -> Sides:
    def run(time: int) -> None:
        global now
        now += time

    return Sides(lambda: run(subject), lambda: run(baseline))


def a_bench(name: str, subject: int, *, baseline: int = 1000, limit: float | None = 1.25) -> Bench:
    bar = None if limit is None else at_most(limit)

    def set_up(ground: Ground) -> Sides:
        return taking(subject, baseline)

    return Bench(name=name, what=f"{name} is quick", baseline="an empty one", bar=bar, set_up=set_up, calls=1)


def wild_bench() -> Bench:
    """Takes 1, 2, 3 … of the clock's time: all ratios differ."""
    sides = iter(range(1, 10_000))

    def run() -> None:
        global now
        now += next(sides) % 7 + 1

    return Bench(name="wild", what="w", baseline="b", set_up=lambda ground: Sides(run, run), calls=1)


def hungry_bench() -> Bench:
    def set_up(ground: Ground) -> Sides:
        size = len(list(ground.need_data().iterdir()))
        return taking(1000 + size, 1000)

    return Bench(name="hungry", what="w", baseline="b", set_up=set_up, calls=1)


def broken_bench() -> Bench:
    def set_up(ground: Ground) -> Sides:
        raise BenchError("the program printed 'oops'")

    return Bench(name="broken", what="w", baseline="b", set_up=set_up)


KEY = Growth(name="key", what="a key stays cheap", populate=by_key, small=10, large=1000)
TABLE: Mapping[str, Bench | Growth] = by_name(
    [a_bench("quick", 1200), a_bench("slow", 1300), a_bench("free", 2000, limit=None), KEY],
    [wild_bench(), hungry_bench(), broken_bench()],
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*argv: str, err: io.StringIO | None = None) -> tuple[int, str]:
    out = io.StringIO()
    status = main(argv, table=TABLE, clock=clock, out=out, err=err or io.StringIO())
    return status, out.getvalue()


def test_the_table_says_ratio_bar_verdict_and_command() -> None:
    status, out = run("quick", "slow", "free")
    assert status == 0
    assert out == (
        "bench  ratio [quartiles]     pairs  bar     verdict   baseline      command\n"
        "quick  1.200 [1.200, 1.200]  15     ≤ 1.25  met       an empty one  python -m bench quick\n"
        "slow   1.300 [1.300, 1.300]  15     ≤ 1.25  missed    an empty one  python -m bench slow\n"
        "free   2.000 [2.000, 2.000]  15     none    measured  an empty one  python -m bench free\n"
    )


def test_growth_has_a_table_of_its_own() -> None:
    status, out = run("key")
    assert status == 0
    assert re.sub(r"\b\d of", "N of", out) == (
        "bench  look-up  steps    grown       ratio  bar  verdict  command\n"
        "key    by key   N of 10  N of 1,000  1.000  ≤ 3  met      python -m bench key\n"
    )


def test_more_pairs_are_part_of_the_command() -> None:
    assert (
        "16     ≤ 1.25  met      an empty one  python -m bench quick --pairs 16\n" in run("quick", "--pairs", "16")[1]
    )


def test_an_unstable_ratio_says_in_which_round_it_still_was() -> None:
    out = run("wild")[1]
    assert "15 (round 3)" in out
    assert "unstable" in out


def test_a_bench_without_its_data_is_not_run_and_says_why(tmp_path: Path) -> None:
    assert run("hungry") == (0, "bench   verdict  reason\nhungry  not run  needs --data PATH\n")
    (tmp_path / "some").touch()
    assert "1.001" in run("hungry", "--data", str(tmp_path))[1]


def test_a_bench_that_cannot_be_measured_fails_the_command() -> None:
    status, out = run("quick", "broken")
    assert status == 1
    assert "broken  failed   the program printed 'oops'\n" in out
    assert "quick" in out


@pytest.mark.parametrize(
    ("name", "status"), [("quick", 0), ("free", 0), ("key", 0), ("slow", 1), ("wild", 1), ("hungry", 1), ("broken", 1)]
)
def test_strict_lets_only_bars_pass_that_were_run_and_met(name: str, status: int) -> None:
    assert run(name, "--strict")[0] == status


def test_json_alone_on_stdout() -> None:
    document = json.loads(run("slow", "key", "hungry", "--json", "-")[1])
    slow, key, hungry = document["results"]
    assert document["version"] == 1
    assert slow["ratios"] == [1.3] * 15
    assert (slow["median"], slow["bar"], slow["verdict"]) == (1.3, "≤ 1.25", "missed")
    few, many = key["look_ups"]["by key"].pop("steps")
    assert few == many
    assert key["look_ups"] == {"by key": {"ratio": 1.0, "verdict": "met"}}
    assert (hungry["kind"], hungry["reason"]) == ("none", "needs --data PATH")


def test_json_in_a_file_beside_the_table(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    assert run("quick", "--json", str(target))[1].startswith("bench")
    assert [one["name"] for one in json.loads(target.read_text())["results"]] == ["quick"]


def test_the_list_runs_nothing() -> None:
    status, out = run("--list", "broken", "quick", "key")
    assert status == 0
    assert out == (
        "bench   against              bar     what\n"
        "broken  b                    none    w\n"
        "quick   an empty one         ≤ 1.25  quick is quick\n"
        "key     10 of 1,000 records  ≤ 3     a key stays cheap\n"
    )


def test_progress_is_for_terminals_and_leaves_nothing_behind() -> None:
    plain, terminal = io.StringIO(), Terminal()
    run("quick", err=plain)
    run("quick", err=terminal)
    assert plain.getvalue() == ""
    assert "pair 15 of 15" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["quik"], "there is no 'quik'; did you mean 'quick'?"),
        (["quick", "--pairs", "14"], "'14' is not a number from 15 on"),
        (["quick", "--data", "no/such/folder"], "'no/such/folder' is not a folder"),
        (["key", "--minutes", "20"], "--minutes needs --keep PATH"),
    ],
)
def test_a_wrong_command_line_is_the_callers_turn(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*argv)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_growth_without_time_left_says_how_far_it_came_and_goes_on(tmp_path: Path) -> None:
    def populate(ground: Ground, size: int) -> Population:
        assert sum(map(len, ground.number_batches(size, 10))) == size
        return by_key(ground, size)

    table = {"key": Growth(name="key", what="w", populate=populate, small=10, large=1000)}

    def keep(*words: str) -> tuple[int, str]:
        out = io.StringIO()
        return main(["key", "--keep", str(tmp_path), *words], table=table, out=out), out.getvalue()

    stopped = "bench  verdict  reason\nkey    not run  0 of 10 built so far; run it again to go on\n"
    assert keep("--minutes", "0", "--strict") == (1, stopped)
    status, out = keep("--minutes", "5", "--strict")
    assert status == 0
    assert "key    by key" in out


def test_a_name_is_taken_once() -> None:
    with pytest.raises(BenchError, match="'quick' is registered twice"):
        by_name([a_bench("quick", 1)], [a_bench("quick", 2)])


def test_every_registered_bench_says_what_it_claims_and_against_what() -> None:
    for name, bench in BENCHES.items():
        assert name == bench.name
        assert bench.what and not bench.what.endswith(".")
        assert isinstance(bench, Growth) or bench.baseline


@pytest.mark.parametrize("name", ["same-thing-twice", "row-by-key"])
def test_the_runner_finds_a_job_equal_to_itself(name: str) -> None:
    """Use the real clock; a busy machine may give no verdict, but never a wrong one."""
    out = io.StringIO()
    main([name, "--json", "-"], out=out, err=io.StringIO())
    (result,) = json.loads(out.getvalue())["results"]
    if result["kind"] == "ratio" and result["verdict"] != "unstable":
        assert 0.8 <= result["median"] <= 1.25
