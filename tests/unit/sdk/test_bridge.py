"""Code in a worker: its calls, who is inside whom, and every way in which it can go wrong."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from custody.core.ids import ExecutionId
from custody.core.views import SpanPhase, SpanStatus
from custody.graph.engine import GraphEngine
from custody.graph.queries import spans_of_execution
from custody.sdk import configure, flush, span
from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from custody.sdk.execution import CallTraceEvent
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.unit.sdk.code_run import CAPABILITIES, QUICK, Files, events, execute
from tests.unit.sdk.conftest import Kept


# Conformance: 004-003, 004-008, 004-014, 004-020, 004-040, 004-045, 004-046, 004-077, 004-090, 004-095
# Conformance: 004-097, 004-098, 004-100, 004-101
def test_a_tool_called_from_a_capability_has_it_as_parent() -> None:
    """The document's own test (AC1)."""

    async def main() -> list[CallTraceEvent]:
        bridge = WorkerBridge({"filesystem": Files()})
        tool_defs = [{"server": "filesystem", "name": "read_file"}]
        capability_context = {"my_capability": "return await tools.filesystem.read_file({'path': 'a'})"}
        await bridge.execute("await capabilities.my_capability()", tool_defs, {}, capability_context)
        return bridge.get_traces()

    traces = asyncio.run(main())
    assert [trace.type for trace in traces] == ["capability_start", "tool_start", "tool_end", "capability_end"]
    start, tool_start, tool_end, end = traces
    assert tool_start.parent_trace_id == tool_end.parent_trace_id == start.trace_id == end.trace_id
    assert (start.parent_trace_id, end.parent_trace_id) == (None, None)
    assert (start.name, tool_start.name) == ("my_capability", "filesystem:read_file")
    assert [trace.success for trace in traces] == [None, None, True, True]
    assert [trace.at_ns for trace in traces] == sorted(trace.at_ns for trace in traces)


# Conformance: 004-003, 004-007, 004-043, 004-044, 004-078, 004-096
def test_a_nested_capability_has_the_outer_one_as_parent() -> None:
    """AC2."""
    done = execute("await capabilities.read_two()")
    assert done.result == ["text of a", "text of b"]
    outer, *inner = events(done, "capability_start")
    assert [one.parent_trace_id for one in inner] == [outer.trace_id] * 2
    assert [one.parent_trace_id for one in events(done, "tool_end")] == [one.trace_id for one in inner]


def test_the_graph_learns_from_the_events_as_they_are() -> None:
    """AC3, from what the bridge gives to what the engine takes."""
    engine = GraphEngine()
    engine.update_from_code_execution(execute("await capabilities.read_two()").traces)
    edge = engine.get_edge_data("capability:read_one", "filesystem:read_file")
    assert edge is not None and (edge.type, edge.count, edge.successes) == ("contains", 2, 2)


@pytest.mark.parametrize("first", ["", "from custody.sdk import capability"])
def test_functions_of_the_code_can_be_capabilities(first: str) -> None:
    done = execute(
        f"""
{first}
@capability
async def outer():
    return [await inner(), plain()]
@capability("deep")
async def inner():
    return await tools.filesystem.read_file(path="a")
@capability(name="flat\\n" + "x" * 300)
def plain():
    raise KeyError("mine")
try:
    await outer()
except KeyError:
    pass
"""
    )
    assert done.success, done.error
    outer, deep, flat = events(done, "capability_start")
    assert [one.name for one in (outer, deep, flat)] == ["outer", "deep", "flat " + "x" * 195]
    assert [one.parent_trace_id for one in (outer, deep, flat)] == [None, outer.trace_id, outer.trace_id]
    assert [one.parent_trace_id for one in events(done, "tool_start")] == [deep.trace_id]
    assert [one.success for one in events(done, "capability_end")] == [True, False, False]


# Conformance: 004-042
def test_capabilities_that_run_at_the_same_time_keep_their_own_calls() -> None:
    done = execute(
        "import asyncio\nawait asyncio.gather(*(capabilities.read_slowly({'path': str(n)}) for n in range(200)))"
    )
    assert done.result == [[f"text of {n}", f"text of {n}"] for n in range(200)]
    capabilities = [event.trace_id for event in events(done, "capability_start")]
    parents = [event.parent_trace_id for event in events(done, "tool_start")]
    assert sorted(parents, key=str) == sorted(capabilities * 2)


# Conformance: 004-048, 004-077, 004-078, 004-088
def test_everything_is_read_back_from_the_store(tmp_path: Path) -> None:
    """AC1 and AC2 on what was recorded."""
    repository = a_git_folder(tmp_path / "repository")
    configure(folder=repository, agent="robot", session="s1")
    done = execute("await capabilities.read_two()", name="plan.py")
    assert flush()
    configure(exporter=lambda _: None)
    with Workspace(repository).reading() as store:
        seen = [one.view for one in spans_of_execution(store, ExecutionId(done.id))]
    starts = {one.id: one for one in seen if one.phase is SpanPhase.START}
    ends = {one.id: one for one in seen if one.phase is SpanPhase.END}
    assert starts.keys() == ends.keys()
    (root,) = (one for one in starts.values() if one.parent is None)
    assert root.node == "workflow:plan.py"
    told = {event.trace_id: event.parent_trace_id or root.id for event in done.traces}
    assert {id_: one.parent for id_, one in starts.items() if one is not root} == told
    assert {one.parent for one in ends.values()} == {one.parent for one in starts.values()}
    assert {one.node for one in starts.values()} == {
        "workflow:plan.py", "capability:read_two", "capability:read_one", "filesystem:read_file",
    }  # fmt: skip
    assert {(one.agent, one.session, one.status) for one in ends.values()} == {("robot", "s1", SpanStatus.OK)}


def test_an_execution_inside_a_span_belongs_to_it_and_what_a_server_does_to_the_call(kept: Kept) -> None:
    async def main() -> None:
        with span("around"):
            await WorkerBridge({"filesystem": Files()}).execute("await tools.filesystem.traced()", name="x")

    asyncio.run(main())
    parents = kept.parents()
    assert (parents["x"], parents["traced"], parents["inside the server"]) == ("around", "x", "traced")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("1 + 1", 2),
        ("return {'a': [context['n'], None]}", {"a": [3, None]}),
        ("x = 1", None),
        ("'\\udc80'", "\udc80"),
        ("", None),
        ("def f():\n    return 5\nf()", 5),
        ("await mcp['filesystem']['read_file']({'path': 'a'})", "text of a"),
    ],
)
def test_what_code_gives(code: str, result: Any) -> None:
    done = execute(code, context={"n": 3})
    assert (done.success, done.result, done.error) == (True, result, None)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("1 +", "SyntaxError"),
        ("raise ValueError('mine')", "ValueError: mine"),
        ("object()", "TypeError"),
        ("float('nan')", "ValueError"),
        ("await tools.filesystem.read_file(path=float('inf'))", "ValueError"),
        ("'x' * 20_000_000", "longer than any may be"),
        ("await capabilities.gone()", "there is no capability 'gone'"),
        ("await tools.gone.away()", "there is no tool 'gone:away' here"),
        ("await tools.filesystem.fail()", "LookupError: no such file"),
        ("await tools.filesystem.odd()", "'filesystem:odd' gave no JSON"),
        ("await capabilities.fails()", "KeyError: 'mine'"),
        ("import sys; sys.exit(7)", "status 7"),
        ("import os; os._exit(0)", "status 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("x = ' ' * (1 << 34)", "MemoryError"),
    ],
)
def test_what_goes_wrong_is_said_and_not_raised(code: str, error: str) -> None:
    done = execute(code)
    assert not done.success
    assert error in (done.error or "")


def test_code_can_go_on_after_a_tool_that_failed() -> None:
    done = execute("try:\n    await tools.filesystem.fail()\nexcept ToolError as e:\n    return str(e)")
    assert "no such file" in done.result
    (end,) = events(done, "tool_end")
    assert (end.success, "no such file" in (end.error or "")) == (False, True)


# Conformance: 004-044, 004-094, 004-101
def test_a_capability_that_fails_ends_as_failed() -> None:
    done = execute("await capabilities.fails()")
    (end,) = events(done, "capability_end")
    assert (end.success, end.error) == (False, "KeyError: 'mine'")


# Conformance: 004-019
@pytest.mark.parametrize("code", ["await capabilities.waits()", "while True: pass", "import time; time.sleep(60)"])
def test_the_time_limit_ends_it_and_everything_that_is_open(code: str, kept: Kept) -> None:
    done = execute(code, limits=BridgeLimits(time_seconds=1.5, call_seconds=60))
    assert (done.success, done.error) == (False, "the time limit of 1.5 s was reached")
    assert all(event.success is False for event in done.traces if event.type.endswith("_end"))
    assert {one.status for one in kept.spans if one.phase == "end"} == {"killed"}


def test_a_tool_that_hangs_fails_within_its_limit_and_code_goes_on() -> None:
    code = "try:\n    await capabilities.waits()\nexcept ToolError as e:\n    return str(e)"
    done = execute(code, limits=BridgeLimits(time_seconds=20, call_seconds=0.2))
    assert done.result == "'filesystem:hang' gave no answer in 0.2 s"


# Conformance: 004-100
def test_a_worker_killed_in_the_middle_of_a_call_ends_its_open_calls_as_failed(kept: Kept) -> None:
    code = """
import asyncio, os, signal
asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGKILL)
await capabilities.waits()
"""
    done = execute(code)
    assert done.error == "its worker was killed by signal 9"
    assert [event.type for event in done.traces[-2:]] == ["tool_end", "capability_end"]
    assert {(one.name, one.status) for one in kept.spans if one.phase == "end"} == {
        ("hang", "killed"), ("waits", "killed"), ("code", "killed"),
    }  # fmt: skip


def test_only_the_tools_that_were_given_can_be_called() -> None:
    files = Files()
    bridge = WorkerBridge({"filesystem": files})
    done = asyncio.run(bridge.execute("await tools.filesystem.read_file(path='a')", ["filesystem:other"]))
    assert "there is no tool 'filesystem:read_file' here" in (done.error or "")
    assert files.asked == []


def test_output_is_captured_and_bounded() -> None:
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('x' * 1_000_000)"
    done = execute(code, limits=BridgeLimits(output_bytes=1000))
    assert (done.success, done.stdout[:4], done.stderr) == (True, "out\n", "err\n")
    assert len(done.stdout) == 1000
    assert done.dropped_bytes == 1_000_005 - 1000


# Conformance: 004-019
def test_secrets_of_our_environment_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "very secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    done = execute("import os, sys\nreturn [sorted(os.environ), sys.path, open('/proc/self/environ').read()]")
    names, path, environ = done.result
    assert set(names) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TRACEPARENT"}
    assert "/somewhere" not in path
    assert "very secret" not in environ


# Conformance: 004-040, 004-046
def test_a_parent_that_nobody_knows_becomes_a_link(kept: Kept) -> None:
    code = """
import gc
wire = next(w for w in gc.get_objects() if type(w).__name__ == 'Wire')
await wire.ask({"type": "rpc_call", "server": "filesystem", "tool": "read_file", "args": {}, "parent_trace_id": "cap1"})
"""
    done = execute(code)
    (start,) = events(done, "tool_start")
    assert start.parent_trace_id == "cap1"
    stored = next(one for one in kept.spans if one.name == "read_file")
    root = next(one for one in kept.spans if one.name == "code")
    assert (stored.parent, stored.links) == (root.span, ((None, "cap1"),))


# Conformance: 004-015
def test_large_arguments_and_results_pass_whole() -> None:
    class Mirror:
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            return arguments

    bridge = WorkerBridge({"m": Mirror()}, limits=QUICK)
    done = asyncio.run(bridge.execute("x = await tools.m.same(text='é' * 1_000_000)\nreturn len(x['text'])"))
    assert (done.result, done.error) == (1_000_000, None)


def test_several_executions_at_once_do_not_mix() -> None:
    async def main() -> list[Execution]:
        bridge = WorkerBridge({"filesystem": Files()}, limits=QUICK)
        return await asyncio.gather(
            *(bridge.execute(f"await capabilities.read_one(path='{n}')", capabilities=CAPABILITIES) for n in range(4))
        )

    all_done = asyncio.run(main())
    assert [done.result for done in all_done] == [f"text of {n}" for n in range(4)]
    assert len({done.id for done in all_done}) == 4
    assert all(len(done.traces) == 4 for done in all_done)
