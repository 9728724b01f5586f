"""The timeline of a session: prompts with their calls, repeats as one row, filters, and pages of rows."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import AgentName, CallId, SessionId
from custody.core.run_summary import RunCounts
from custody.core.wire.report import CallLine
from custody.graph.app.call_tree import CallRow
from custody.runs import CommandKind, CommandRun, RunResult
from custody.server.page_data.work import WorkQueue
from custody.server.pages.page import PageMemory
from custody.server.pages.sessions import TIMELINE_ROWS
from custody.server.pages.timeline import TimelineRow, build_timeline, filter_timeline, summarize_timeline
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.events import an_arrival
from tests.builders.rendered import links_in, rendered, words_of

S = 1_000_000_000
NOON_NS = 1_769_860_800_000_000_000


def a_row(n: int, depth: int = 2, **how: object) -> CallRow:
    made = CallRow(depth, f"call:c{n}", "Bash", "tool", "ok", n * 10 * S, (n * 10 + 1) * S, "make test")
    return replace(made, **how)


SESSION = a_row(0, 0, id="session", name="robot", kind="session", ended_ns=100 * S)


def a_turn(n: int) -> CallRow:
    return a_row(n, 1, id=f"turn:p{n}", name="turn 1", kind="turn", detail="fix the till")


def a_call(n: int, name: str, *, files: tuple[str, ...] = (), sources: tuple[str, ...] = ()) -> CallLine:
    return CallLine(f"c{n}", name, "", None, "ok", None, None, None, list(files), list(sources))


def shapes(rows: list[TimelineRow]) -> list[tuple[str, int, int]]:
    return [(row.kind, row.count, row.depth) for row in rows]


def test_equal_calls_in_a_row_are_one_row_with_their_number_and_time() -> None:
    rows = [SESSION, a_turn(0), *(a_row(n, state="failed") for n in (1, 2, 3)), a_row(4)]
    made = build_timeline(rows, [])
    assert shapes(made) == [("prompt", 1, 0), ("call", 3, 0), ("call", 1, 0)]
    assert (made[0].inside, made[0].failed) == (4, 3)
    assert made[1].duration_ns == 3 * S
    worst = summarize_timeline(made).worst
    assert worst is not None and worst.count == 3


def test_a_call_with_calls_inside_is_never_joined_and_subagents_are_nested() -> None:
    rows = [SESSION, a_turn(0), a_row(1), a_row(2, 3), a_row(3), a_row(4, 3)]
    assert shapes(build_timeline(rows, [])) == [("prompt", 1, 0), *[("call", 1, 0), ("call", 1, 1)] * 2]


def test_calls_are_edits_commands_and_reads_by_what_they_did() -> None:
    calls = [
        a_call(1, "Bash"),
        a_call(2, "Edit", files=("a.py",)),
        a_call(3, "Read", sources=("a.py",)),
        a_call(4, "X"),
    ]
    rows = [SESSION, a_turn(0), *(a_row(n, name=call.name) for n, call in enumerate(calls, start=1))]
    made = build_timeline(rows, calls)
    assert [row.kind for row in made] == ["prompt", "command", "edit", "read", "call"]
    assert [row.kind for row in filter_timeline(made, "edits")] == ["prompt", "edit"]
    assert filter_timeline(made, "failed") == []
    summary = summarize_timeline(made)
    assert (summary.edits, summary.commands, summary.reads, summary.failed) == (1, 1, 1, 0)


def test_calls_at_the_same_time_count_once_as_working_time() -> None:
    rows = [SESSION, a_turn(0), a_row(1, detail="a"), a_row(1, detail="b", began_ns=10 * S, ended_ns=12 * S)]
    assert summarize_timeline(build_timeline(rows, [])).working_ns == 2 * S


def test_the_result_of_a_run_has_the_kind_that_its_runner_reported() -> None:
    def run(n: int, result: RunResult, exit_code: int | None, counts: RunCounts | None) -> CommandRun:
        return CommandRun(
            agent=AgentName("robot"),
            session=SessionId("s1"),
            call=CallId(f"c{n}"),
            n=0,
            command="pytest",
            kind=CommandKind.TEST,
            runner="pytest",
            result=result,
            ended_ns=n,
            exit_code=exit_code,
            counts=counts,
        )

    runs = [
        run(1, RunResult.FAILED, 0, RunCounts(12, 6)),
        run(2, RunResult.PASSED, 0, RunCounts(14)),
        run(3, RunResult.UNKNOWN, 0, None),
        run(4, RunResult.FAILED, 2, None),
    ]
    made = build_timeline([SESSION, a_turn(0), *(a_row(n, detail=str(n)) for n in range(1, 5))], [], runs)
    assert [(row.result, row.result_kind) for row in made[1:]] == [
        ("exit 0 · 6 failed · 12 passed", "bad"),
        ("exit 0 · 14 passed", "ok"),
        (None, ""),
        ("exit 2", "bad"),
    ]


@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.sampled_from("ab"), st.sampled_from(["ok", "failed", "running"])), max_size=30
    )
)
def test_no_call_is_lost_or_counted_twice(calls: list[tuple[int, str, str]]) -> None:
    rows = [a_row(n, depth, detail=detail, state=state) for n, (depth, detail, state) in enumerate(calls)]
    made = build_timeline([SESSION, a_turn(0), *rows], [])
    assert sum(row.count for row in made if row.kind != "prompt") == len(rows)
    assert made[0].inside == len(rows)
    assert summarize_timeline(made).failed == sum(state == "failed" for _, _, state in calls)
    assert all(0 <= row.start <= 100 and row.start + row.width <= 101 for row in made)


def test_the_first_rows_are_shown_and_the_others_on_demand(tmp_path: Path) -> None:
    workspace = replace(Workspace(a_git_folder(tmp_path / "repository")), now_ns=lambda: NOON_NS)
    at = "2026-01-31T12:00:{:02}Z"
    with workspace.writing() as store:
        store.append(
            [
                an_arrival("prompt", event="p", id="p", session="s1", at=at.format(0), text="do it"),
                *(
                    an_arrival("call", event=f"c{n}", id=f"c{n:03}", session="s1", at=at.format(1), name=f"Tool{n:03}")
                    for n in range(250)
                ),
            ]
        )
    memory = PageMemory(WorkQueue(workspace.now_ns))
    html = rendered(workspace, "session", id="s1", memory=memory)
    assert html.count('class="ev ') == TIMELINE_ROWS
    assert "do it" not in html, "prompts need the scope for texts"
    rest = [link for link in links_in(html, "session") if link.get("start")]
    assert rest == [{"id": "s1", "agent": "robot", "show": "all", "start": str(TIMELINE_ROWS)}]
    more = rendered(workspace, "session-rows", memory=memory, id="s1", agent="robot", show="all", start="200")
    assert more.count('class="ev ') == 51 and "<html" not in more
    around = rendered(workspace, "session", id="s1", call="c249", memory=memory)
    assert " sel" in around and "Tool249" in words_of(around) and "Tool000" not in words_of(around)
    assert "No failed calls in this session." in words_of(rendered(workspace, "session", id="s1", show="failed"))
