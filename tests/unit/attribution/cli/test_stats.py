"""``custody stats`` as a user sees it."""

import json
from pathlib import Path

import msgspec
import pytest

from custody.attribution.app.stats import compute_line_stats
from custody.attribution.cli import render_line_stats, render_unknown_files
from custody.attribution.wire import AgentModelShare, LineShare, StatsReport, UnknownFile
from custody.terminal.screen import Screen, text_columns
from custody.workspace.workspace import Workspace
from tests.builders import cli
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

UNKNOWN_HINT = "Unknown means no evidence, not people. hint: custody stats --unknown lists where"
OLD = "def total(numbers):\n    return sum(numbers)\n"
NEW = OLD + "def mean(numbers):\n    return total(numbers) / len(numbers)\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repository")
    made.commit({b"src/a.py": OLD.encode(), b"x.bin": b"\0"}, at=1_767_000_000)
    spool_of(made.path).put(an_event("session", at="2026-01-31T11:59:00Z"))
    spool_of(made.path).put(an_event("edit", id="e1", path="src/a.py", before=OLD, after=NEW, head=made.head()))
    made.commit({b"src/a.py": NEW.encode(), b"x.bin": b"\0"}, made.head(), at=1_769_862_000)
    made.checkout()
    return made


def stats(built: Built, screen: Screen, *, verbose: bool = False) -> list[str]:
    lines = render_line_stats(compute_line_stats(Workspace(built.path)), screen, verbose=verbose)
    return [screen.render(part) for line in lines for part in screen.wrap(line)]


def test_the_share_comes_first_then_authors_and_agents(built: Built) -> None:
    ran = custody(built.path, "stats")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"whole repository at {built.head()[:7]}: agents wrote at least 50 % of 4 lines; evidence covers 50 %",
        "",
        f"  agents   {'█' * 26}{' ' * 26}  2   50 %",
        f"  people   {' ' * 52}  0    0 %",
        f"  unknown  {'░' * 26}{' ' * 26}  2   50 %   so at most 100 %",
        "",
        "AGENT  MODEL  LINES   SHARE",
        "robot  m-1        2  50.0 %",
        "",
        "EVIDENCE  LINES   SHARE",
        "imported      2  50.0 %",
        "",
        "skipped 1 file (-v lists them)",
        "Searched since 2026-01-29.",
        UNKNOWN_HINT,
    ]


def test_verbose_adds_certainty_folders_months_and_skipped_files(built: Built) -> None:
    lines = custody(built.path, "stats", "-v").out.splitlines()
    assert lines[8:] == [
        "",
        "EVIDENCE  LINES   SHARE",
        "imported      2  50.0 %",
        "",
        "CERTAINTY  LINES   SHARE",
        "likely         2  50.0 %",
        "",
        "FOLDER  LINES  AGENTS",
        "src/        4  50.0 %",
        "",
        "MONTH    LINES   SHARE",
        "2026-01      2  50.0 %",
        "",
        "skipped 1 file",
        "  'x.bin' is a binary file",
        "Searched since 2026-01-29.",
        UNKNOWN_HINT,
    ]


def test_unknown_lists_files_with_the_most_unknown_lines_first(built: Built) -> None:
    files = {b"src/a.py": NEW.encode(), b"b.py": b"one = 1\ntwo = 2\nthree = 3\n", b"c.py": b"four = 4\n"}
    built.commit(files, built.head(), at=1_769_863_000)
    built.checkout()
    ran = custody(built.path, "stats", "--unknown")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"whole repository at {built.head()[:7]}: 6 unknown lines of 8 lines",
        "",
        "FILE      UNKNOWN  OF FILE",
        "b.py            3  100.0 %",
        "src/a.py        2   50.0 %",
        "c.py            1  100.0 %",
        "",
        "Searched since 2026-01-29.",
        "hint: custody import reads past sessions of agents",
    ]
    report = json.loads(custody(built.path, "stats", "src", "--unknown", "--json").out)
    assert report["unknown_files"] == [{"path": "src/a.py", "lines": 2, "share": 0.5}]
    assert json.loads(custody(built.path, "stats", "--json").out)["unknown_files"] is None
    for other in (["-v"], ["--agent", "robot"]):
        assert custody(built.path, "stats", "--unknown", *other).status == 2


def test_a_long_list_of_unknown_files_is_cut_and_fits_the_terminal() -> None:
    files = [UnknownFile(f"{'deep/' * 30}{number}.py", 30 - number, 1.0) for number in range(30)]
    report = msgspec.structs.replace(a_report(a_share("all", 465, none=465), []), unknown_files=files)
    screen = Screen(columns=80, rows=24, is_terminal=True)
    lines = [screen.render(line) for line in render_unknown_files(report, screen)]
    assert len(lines) == 27
    assert max(map(text_columns, lines)) <= 80
    assert "/deep/0.py       30  100.0 %" in lines[3]
    assert lines[23] == "10 more with 55 lines; --json lists them"


def test_with_an_agent_the_shares_are_its_own(built: Built) -> None:
    lines = custody(built.path, "stats", "--agent", "gemini", "-v").out.splitlines()
    assert lines[0].endswith(": gemini wrote at least 0 % of 4 lines; evidence covers 50 %")
    assert [line.split()[0] for line in lines[2:6]] == ["gemini", "other", "people", "unknown"]
    assert lines[5].endswith("2   50 %   so at most 50 %")
    assert lines[7:9] == ["FOLDER  LINES  GEMINI", "src/        4   0.0 %"]
    assert not any(line.startswith("AGENT") for line in lines)


@pytest.mark.parametrize(("columns", "bar"), [(40, 0), (80, 30), (120, 52)])
def test_bars_fit_the_terminal(built: Built, columns: int, bar: int) -> None:
    lines = stats(built, Screen(columns=columns, rows=24, is_terminal=True))
    assert lines[2] == f"  agents   {'█' * (bar // 2) + ' ' * (bar // 2) + '  ' if bar else ''}2   50 %"
    assert max(map(text_columns, lines[1:])) <= columns


def test_agents_and_unknown_lines_have_colors(built: Built) -> None:
    lines = stats(built, Screen(columns=80, rows=24, is_terminal=True, has_color=True))
    assert lines[2].startswith("\x1b[35m  agents   \x1b[0m\x1b[35m███")
    assert lines[4].startswith("\x1b[2m  unknown  \x1b[0m\x1b[2m░░░")
    assert "\x1b[35mrobot\x1b[0m" in lines[7]


def a_share(name: str, lines: int, *, mixed: int = 0, person: int = 0, none: int = 0, share: float = 1.0) -> LineShare:
    agent = lines - mixed - person - none
    return LineShare(
        name=name, lines=lines, agent=agent, mixed=mixed, person=person, none=none, share=share, part=lines / 10_000
    )


def a_report(totals: LineShare, models: list[tuple[str, str, int]]) -> StatsReport:
    return StatsReport(
        path=None,
        revision="b6f2a90" + "0" * 33,
        rules_digest="sha256:0",
        since=None,
        files=1,
        totals=totals,
        classes=[],
        models=[],
        agents=[],
        tiers=[],
        folders=[],
        months=[],
        growth=[],
        left_out=[],
        left_out_count=0,
        notes=[],
        agent_models=[
            AgentModelShare(**msgspec.structs.asdict(a_share(agent, lines)), model=model)
            for agent, model, lines in models
        ],
        at_least=totals.share,
        coverage=1 - totals.none / totals.lines if totals.lines else 0.0,
    )


def test_lines_that_are_only_in_part_by_agents_are_named_and_agents_once() -> None:
    totals = a_share("all", 10_000, mixed=100, person=500, none=1_400, share=0.8050)
    models = [("claude-code", "opus", 7_000), ("claude-code", "sonnet", 1_000), ("codex", "gpt", 100)]
    screen = Screen(columns=80, rows=24, is_terminal=True)
    lines = [screen.render(line) for line in render_line_stats(a_report(totals, models), screen, verbose=False)]
    assert lines == [
        "whole repository at b6f2a90: agents wrote at least 80 % of 10,000 lines; evidence covers 86 %",
        "",
        f"  agents   {'█' * 24}{' ' * 6}  8,100   80 %   100 only in part",
        f"  people   {'█' * 2}{' ' * 28}    500    5 %",
        f"  unknown  {'░' * 4}{' ' * 26}  1,400   14 %   so at most 95 %",
        "",
        "AGENT        MODEL   LINES   SHARE",
        "claude-code  opus    7,000  70.0 %",
        "             sonnet  1,000  10.0 %",
        "codex        gpt       100   1.0 %",
        "",
        "Nothing has been captured here.",
        UNKNOWN_HINT,
    ]


def test_without_unknown_lines_the_share_is_exact() -> None:
    report = a_report(a_share("all", 10_000, person=9_960, share=0.0040), [])
    lines = [Screen().render(line) for line in render_line_stats(report, Screen(), verbose=False)]
    assert lines[0] == "whole repository at b6f2a90: agents wrote 0.4 % of 10,000 lines"
    assert lines[-1] == "Nothing has been captured here."


def test_names_cannot_move_the_cursor_nor_widen_the_table() -> None:
    models = [("bad\x1b[2J" + "a" * 90, "model\x07" + "m" * 90, 100)]
    screen = Screen(columns=80, rows=24, is_terminal=True)
    report = a_report(a_share("all", 10_000, none=9_900, share=0.01), models)
    lines = [screen.render(line) for line in render_line_stats(report, screen, verbose=False)]
    assert all("\x1b" not in line and "\x07" not in line for line in lines)
    assert lines[7].startswith("bad\\x1b[2Ja")
    assert lines[7].endswith("…    100  1.0 %")


def test_a_repository_without_lines_has_no_bars() -> None:
    lines = [
        Screen().render(line)
        for line in render_line_stats(a_report(a_share("all", 0, share=0.0), []), Screen(), verbose=True)
    ]
    assert lines == [
        "whole repository at b6f2a90: agents wrote 0 % of 0 lines",
        "",
        "Nothing has been captured here.",
    ]


def test_a_terminal_without_utf8_gets_plain_characters(built: Built) -> None:
    ran = cli.custody(built.path, "stats", "src", PYTHONIOENCODING="ascii")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.isascii()
    assert "#####" in ran.out


def test_json_has_totals_and_lists(built: Built) -> None:
    report = json.loads(custody(built.path, "stats", "--json").out)
    assert (report["report"], report["version"], report["files"]) == ("stats", 1, 1)
    expected = {"name": "all", "lines": 4, "agent": 2, "mixed": 0, "person": 0, "none": 2, "share": 0.5, "part": 1.0}
    assert report["totals"] == expected
    assert [row["name"] for row in report["models"]] == ["m-1"]
    assert [row["name"] for row in report["folders"]] == ["src/"]
    assert [(row["name"], row["model"], row["lines"]) for row in report["agent_models"]] == [("robot", "m-1", 2)]


def test_bad_paths_and_revisions_are_refused(built: Built) -> None:
    assert custody(built.path, "stats", "nowhere").status == 2
    assert custody(built.path, "stats", "--rev", "nothing").status != 0
    assert custody(built.path, "stats", "..").status == 2


def test_a_range_is_counted_as_a_whole_or_below_a_folder(built: Built) -> None:
    for arguments in (["HEAD~1..HEAD"], ["src", "HEAD~1.."], [".", "--rev", "HEAD~1..HEAD"]):
        ran = custody(built.path, "stats", *arguments)
        assert "agents wrote 100 % of 2 added lines" in ran.out.splitlines()[0], ran
    assert custody(built.path, "stats", "nowhere..HEAD").status == 2


def test_what_only_commits_name_makes_the_share_a_lower_bound() -> None:
    totals = a_share("all", 100, person=40, share=0.6)
    report = msgspec.structs.replace(a_report(totals, []), at_least=0.25)
    title = Screen().render(next(iter(render_line_stats(report, Screen(), verbose=False))))
    assert title == (
        "whole repository at b6f2a90: agents wrote at least 25 % of 100 lines; commits name agents for 35 % more"
    )
