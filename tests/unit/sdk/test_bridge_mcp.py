"""Real MCP servers behind the bridge: the official SDK, standard input and output, one process each."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import InputError, WorldError
from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from custody.sdk.script_run import open_mcp_server
from custody.sdk.servers import McpServer, parse_mcp_servers
from tests.builders import cli
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody

ROOT = Path(__file__).resolve().parents[3]
SMALL = McpServer(sys.executable, ["-m", "tests.support.mcp_server"], cwd=str(ROOT))


def through(
    code: str, *servers: str, call_seconds: float = 30, capabilities: dict[str, str] | None = None
) -> Execution:
    async def main() -> Execution:
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(open_mcp_server(name, SMALL, sys.stderr)) for name in servers
            }
            bridge = WorkerBridge(clients, limits=BridgeLimits(time_seconds=60, call_seconds=call_seconds))
            return await bridge.execute(code, capabilities=capabilities)

    return asyncio.run(main())


def test_results_of_real_servers_are_plain_json() -> None:
    code = """
[await tools.small.echo(text='é'), await tools.small.add(a=1, b=2), (await tools.small.describe(name='n'))['name'],
 await tools.other.echo({'text': 'other'})]
"""
    done = through(code, "small", "other")
    assert (done.result, done.error) == (["é", 3, "n", "other"], None)


# Conformance: 004-099
def test_a_server_gets_the_span_of_its_call() -> None:
    done = through("await capabilities.asks()", "small", capabilities={"asks": "return await tools.small.caller()"})
    capability, tool = (event for event in done.traces if event.type.endswith("_start"))
    assert done.result == f"00-{done.id}-{tool.trace_id}-01"
    assert tool.parent_trace_id == capability.trace_id


def test_servers_that_fail_hang_or_die_give_failed_calls() -> None:
    code = """
texts = []
for name in ('fail', 'nothing', 'hang', 'die', 'echo'):
    try:
        texts.append(await tools.small[name]())
    except ToolError as error:
        texts.append(str(error))
texts
"""
    done = through(code, "small", call_seconds=3)
    failed, unknown, hung, died, after = done.result
    assert "Error executing tool fail" in failed
    assert "failed" in unknown
    assert hung == "'small:hang' did not answer in 3 s"
    assert "Connection closed" in died
    assert "failed" in after
    ends = [event for event in done.traces if event.type == "tool_end"]
    assert [event.success for event in ends] == [False] * 5


@pytest.mark.parametrize(
    "server",
    [McpServer("/no/such/program"), McpServer(sys.executable, ["-c", "raise SystemExit(1)"])],
    ids=["missing", "ends at once"],
)
def test_a_server_that_does_not_start_is_named(server: McpServer) -> None:
    async def main() -> None:
        async with open_mcp_server("mine", server, sys.stderr):
            pass

    with pytest.raises(WorldError, match="cannot start the MCP server 'mine'"):
        asyncio.run(main())


def test_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from custody.sdk import configure
    from custody.sdk.script_run import run_traced_script

    monkeypatch.setattr("custody.sdk.script_run.START_SECONDS", 1.0)
    config = a_config(tmp_path, args=["-m", "tests.support.mcp_server", "--silent"])
    (tmp_path / "s.py").write_text("1")
    with pytest.raises(WorldError, match="no answer in 1 s"):
        run_traced_script(tmp_path, tmp_path / "s.py", config, BridgeLimits(), sys.stderr)
    configure(exporter=lambda _: None)


def test_one_server_that_does_not_start_is_named_while_others_run(tmp_path: Path) -> None:
    small = {"command": SMALL.command, "args": SMALL.args, "cwd": SMALL.cwd}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"small": small, "wrong": {"command": "/no/such/program"}}}))
    (tmp_path / "s.py").write_text("1")
    ran = custody(tmp_path, "graph", "run", "s.py", "--mcp", str(config))
    assert ran.status == 3
    assert "cannot start the MCP server 'wrong'" in ran.err


def a_config(folder: Path, **fields: Any) -> Path:
    server = {"command": SMALL.command, "args": SMALL.args, "cwd": SMALL.cwd, "type": "stdio", **fields}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"small": server}}))
    return folder / "mcp.json"


@pytest.mark.parametrize(
    "data", [b"{}", b"[]", b"no", b'{"mcpServers": {"a": {"url": "https://example.org"}}}', b'{"mcpServers": {"a": 1}}']
)
def test_an_invalid_configuration_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        parse_mcp_servers(data)


SCRIPT = """
print("working")
names = [await tools.small.echo(text=name) for name in ("a", "b")]
names
"""


class TestVerb:
    def test_it_prints_the_result_and_the_tree_of_calls(self, tmp_path: Path) -> None:
        repository = a_git_folder(tmp_path)
        (repository / "plan.py").write_text(SCRIPT)
        ran = custody(repository, "graph", "run", "plan.py", "--mcp", str(a_config(repository)))
        assert (ran.status, ran.err) == (0, "")
        first, result, *tree = ran.out.splitlines()
        assert (first, result, tree[0]) == ("working", 'result: ["a","b"]', "execution STORE: 2 calls")
        assert [line.split("  ")[1] for line in tree[1:]] == ["small:echo", "small:echo"]
        assert "span" in custody(repository, "records").out

    def test_outside_a_repository_it_reports_that_nothing_was_recorded(self, tmp_path: Path) -> None:
        (tmp_path / "plan.py").write_text("await tools.gone.away()")
        ran = custody(tmp_path, "graph", "run", "plan.py")
        assert (ran.status, "not recorded" in ran.err) == (1, True)
        assert "  gone:away  " in ran.out

    def test_as_json(self, tmp_path: Path) -> None:
        repository = a_git_folder(tmp_path)
        (repository / "plan.py").write_text(SCRIPT)
        ran = custody(repository, "graph", "run", "plan.py", "--mcp", str(a_config(repository)), "--json")
        report = json.loads(ran.out)
        assert (report["report"], report["outcome"], report["result"]) == ("graph-run", "fine", ["a", "b"])
        assert [call["node"] for call in report["calls"]] == ["small:echo", "small:echo"]

    def test_a_failing_script_exits_with_one_and_shows_where(self, tmp_path: Path) -> None:
        repository = a_git_folder(tmp_path)
        (repository / "plan.py").write_text("x = 1\nraise ValueError('mine')\n")
        ran = custody(repository, "graph", "run", "plan.py")
        assert ran.status == 1
        assert "failed: ValueError: mine" in ran.out
        assert 'File "<plan.py>", line 2' in ran.out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["gone.py"], "cannot read 'gone.py'"),
            (["plan.py", "--mcp", "gone.json"], "cannot read 'gone.json'"),
            (["plan.py", "--mcp", "plan.py"], "invalid configuration of MCP servers"),
        ],
    )
    def test_an_unreadable_file_is_named(self, tmp_path: Path, arguments: list[str], message: str) -> None:
        repository = a_git_folder(tmp_path)
        (repository / "plan.py").write_text("1")
        ran = custody(repository, "graph", "run", *arguments)
        assert ran.status == 2
        assert message in ran.err

    def test_without_the_extra_it_is_named(self, tmp_path: Path) -> None:
        repository = a_git_folder(tmp_path)
        (repository / "plan.py").write_text("1")
        hidden = tmp_path / "hidden"
        (hidden / "mcp").mkdir(parents=True)
        (hidden / "mcp" / "__init__.py").write_text("raise ImportError('hidden')")
        words = ("graph", "run", "plan.py")
        ran = cli.custody(repository, *words, "--mcp", str(a_config(repository)), PYTHONPATH=str(hidden))
        assert ran.status == 2
        assert "pip install 'git-custody[mcp]'" in ran.err
        assert cli.custody(repository, *words, PYTHONPATH=str(hidden)).status == 0


def test_an_unusual_answer_is_not_reinterpreted() -> None:
    from types import SimpleNamespace

    from custody.sdk.worker_messages import ToolFailed, tool_result_to_plain

    block: Callable[[str], Any] = lambda text: SimpleNamespace(text=text)  # noqa: E731 - a builder
    assert tool_result_to_plain(SimpleNamespace(content=[block("a"), block("b")])) == ["a", "b"]
    assert tool_result_to_plain(SimpleNamespace(content=[block("a")], structuredContent={"n": 1})) == {"n": 1}
    assert tool_result_to_plain({"content": "mine"}) == {"content": "mine"}
    with pytest.raises(ToolFailed, match="no"):
        tool_result_to_plain(SimpleNamespace(content=[block("no")], isError=True))
