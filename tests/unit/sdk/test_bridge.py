"""Code in a worker: its calls, their parents, and every way in which it can fail."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from custody.core.ids import ExecutionId
from custody.core.views import SpanPhase, SpanStatus
from custody.graph.engine import GraphEngine
from custody.graph.queries import query_execution_spans
from custody.sdk import configure, flush, span
from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from custody.sdk.execution import CallTraceEvent
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.unit.sdk.code_run import CAPABILITIES, QUICK, Files, events, execute
from tests.unit.sdk.conftest import ExportedSpans


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
    assert [record.parent_trace_id for record in inner] == [outer.trace_id] * 2
    assert [record.parent_trace_id for record in events(done, "tool_end")] == [record.trace_id for record in inner]


def test_the_graph_learns_from_the_events_directly() -> None:
    """AC3, from the events of the bridge to the engine."""
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
    assert [record.name for record in (outer, deep, flat)] == ["outer", "deep", "flat " + "x" * 195]
    assert [record.parent_trace_id for record in (outer, deep, flat)] == [None, outer.trace_id, outer.trace_id]
    assert [record.parent_trace_id for record in events(done, "tool_start")] == [deep.trace_id]
    assert [record.success for record in events(done, "capability_end")] == [True, False, False]


# Conformance: 004-042
def test_concurrent_capabilities_are_parents_of_their_own_calls() -> None:
    done = execute(
        "import asyncio\nawait asyncio.gather(*(capabilities.read_slowly({'path': str(n)}) for n in range(200)))"
    )
    assert done.result == [[f"text of {n}", f"text of {n}"] for n in range(200)]
    capabilities = [event.trace_id for event in events(done, "capability_start")]
    parents = [event.parent_trace_id for event in events(done, "tool_start")]
    assert sorted(parents, key=str) == sorted(capabilities * 2)


# Conformance: 004-048, 004-077, 004-078, 004-088
def test_everything_is_read_back_from_the_store(tmp_path: Path) -> None:
    """AC1 and AC2 on the recorded spans."""
    repository = a_git_folder(tmp_path / "repository")
    configure(folder=repository, agent="robot", session="s1")
    done = execute("await capabilities.read_two()", name="plan.py")
    assert flush()
    configure(exporter=lambda _: None)
    with Workspace(repository).reading() as store:
        spans = [record.view for record in query_execution_spans(store, ExecutionId(done.id))]
    starts = {record.id: record for record in spans if record.phase is SpanPhase.START}
    ends = {record.id: record for record in spans if record.phase is SpanPhase.END}
    assert starts.keys() == ends.keys()
    (root,) = (record for record in starts.values() if record.parent is None)
    assert root.node == "workflow:plan.py"
    parents = {event.trace_id: event.parent_trace_id or root.id for event in done.traces}
    assert {id_: record.parent for id_, record in starts.items() if record is not root} == parents
    assert {record.parent for record in ends.values()} == {record.parent for record in starts.values()}
    assert {record.node for record in starts.values()} == {
        "workflow:plan.py", "capability:read_two", "capability:read_one", "filesystem:read_file",
    }  # fmt: skip
    assert {(record.agent, record.session, record.status) for record in ends.values()} == {
        ("robot", "s1", SpanStatus.OK)
    }


def test_an_execution_is_inside_the_running_span_and_a_servers_spans_inside_the_call(exported: ExportedSpans) -> None:
    async def main() -> None:
        with span("around"):
            await WorkerBridge({"filesystem": Files()}).execute("await tools.filesystem.traced()", name="x")

    asyncio.run(main())
    parents = exported.parents()
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
def test_the_result_of_code(code: str, result: Any) -> None:
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
        ("'x' * 20_000_000", "the message is incomplete or too long"),
        ("await capabilities.gone()", "unknown capability 'gone'"),
        ("await tools.gone.away()", "unknown tool 'gone:away'"),
        ("await tools.filesystem.fail()", "LookupError: no such file"),
        ("await tools.filesystem.odd()", "'filesystem:odd' returned a value that is not JSON"),
        ("await capabilities.fails()", "KeyError: 'mine'"),
        ("import sys; sys.exit(7)", "status 7"),
        ("import os; os._exit(0)", "status 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("x = ' ' * (1 << 34)", "MemoryError"),
    ],
)
def test_an_error_is_returned_and_not_raised(code: str, error: str) -> None:
    done = execute(code)
    assert not done.success
    assert error in (done.error or "")


def test_code_can_continue_after_a_failed_tool() -> None:
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
def test_the_time_limit_ends_it_and_every_open_call(code: str, exported: ExportedSpans) -> None:
    done = execute(code, limits=BridgeLimits(time_seconds=1.5, call_seconds=60))
    assert (done.success, done.error) == (False, "time limit of 1.5 s reached")
    assert all(event.success is False for event in done.traces if event.type.endswith("_end"))
    assert {record.status for record in exported.spans if record.phase == "end"} == {"killed"}


def test_a_hanging_tool_fails_within_its_limit_and_code_continues() -> None:
    code = "try:\n    await capabilities.waits()\nexcept ToolError as e:\n    return str(e)"
    done = execute(code, limits=BridgeLimits(time_seconds=20, call_seconds=0.2))
    assert done.result == "'filesystem:hang' did not answer in 0.2 s"


# Conformance: 004-100
def test_a_worker_killed_in_the_middle_of_a_call_ends_its_open_calls_as_failed(exported: ExportedSpans) -> None:
    code = """
import asyncio, os, signal
asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGKILL)
await capabilities.waits()
"""
    done = execute(code)
    assert done.error == "worker killed by signal 9"
    assert [event.type for event in done.traces[-2:]] == ["tool_end", "capability_end"]
    assert {(record.name, record.status) for record in exported.spans if record.phase == "end"} == {
        ("hang", "killed"), ("waits", "killed"), ("code", "killed"),
    }  # fmt: skip


def test_only_the_listed_tools_can_be_called() -> None:
    files = Files()
    bridge = WorkerBridge({"filesystem": files})
    done = asyncio.run(bridge.execute("await tools.filesystem.read_file(path='a')", ["filesystem:other"]))
    assert "unknown tool 'filesystem:read_file'" in (done.error or "")
    assert files.requests == []


def test_output_is_captured_up_to_a_limit() -> None:
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('x' * 1_000_000)"
    done = execute(code, limits=BridgeLimits(output_bytes=1000))
    assert (done.success, done.stdout[:4], done.stderr) == (True, "out\n", "err\n")
    assert len(done.stdout) == 1000
    assert done.dropped_bytes == 1_000_005 - 1000


# Conformance: 004-019
def test_secrets_of_our_environment_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "very secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    done = execute("import os, sys\nreturn [sorted(os.environ), sys.path, open('/proc/self/environ').read()]")
    names, path, environ = done.result
    assert set(names) <= {"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TRACEPARENT"}
    assert "/somewhere" not in path
    assert "very secret" not in environ


# Conformance: 004-040, 004-046
def test_an_unknown_parent_becomes_a_link(exported: ExportedSpans) -> None:
    code = """
import gc
wire = next(w for w in gc.get_objects() if type(w).__name__ == 'Wire')
await wire.ask({"type": "rpc_call", "server": "filesystem", "tool": "read_file", "args": {}, "parent_trace_id": "cap1"})
"""
    done = execute(code)
    (start,) = events(done, "tool_start")
    assert start.parent_trace_id == "cap1"
    stored = next(record for record in exported.spans if record.name == "read_file")
    root = next(record for record in exported.spans if record.name == "code")
    assert (stored.parent, stored.links) == (root.span, ((None, "cap1"),))


# Conformance: 004-015
def test_large_arguments_and_results_are_passed_whole() -> None:
    class Mirror:
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            return arguments

    bridge = WorkerBridge({"m": Mirror()}, limits=QUICK)
    done = asyncio.run(bridge.execute("x = await tools.m.same(text='é' * 1_000_000)\nreturn len(x['text'])"))
    assert (done.result, done.error) == (1_000_000, None)


def test_concurrent_executions_do_not_mix() -> None:
    async def main() -> list[Execution]:
        bridge = WorkerBridge({"filesystem": Files()}, limits=QUICK)
        return await asyncio.gather(
            *(bridge.execute(f"await capabilities.read_one(path='{n}')", capabilities=CAPABILITIES) for n in range(4))
        )

    all_done = asyncio.run(main())
    assert [done.result for done in all_done] == [f"text of {n}" for n in range(4)]
    assert len({done.id for done in all_done}) == 4
    assert all(len(done.traces) == 4 for done in all_done)
