"""Workers that are stopped, abandoned, killed, or forge messages: they end, and every call has an end."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from tests.unit.sdk.code_run import CAPABILITIES, QUICK, Files, execute, gone
from tests.unit.sdk.conftest import ExportedSpans


def test_calls_open_at_the_end_of_the_code_are_abandoned(exported: ExportedSpans) -> None:
    done = execute(
        "import asyncio\ntask = asyncio.ensure_future(capabilities.waits())\nawait asyncio.sleep(0.1)\nreturn 'done'"
    )
    assert done.success
    ended = {record.name: record.status for record in exported.spans if record.phase == "end"}
    assert ended == {"hang": "abandoned", "waits": "abandoned", "code": "ok"}


def test_a_cancelled_execution_kills_its_worker(exported: ExportedSpans, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def main() -> None:
        code = f"import os\nopen({str(note)!r}, 'w').write(str(os.getpid()))\nawait capabilities.waits()"
        bridge = WorkerBridge({"filesystem": Files()}, limits=QUICK)
        task = asyncio.ensure_future(bridge.execute(code, capabilities=CAPABILITIES))
        while not any(event.type == "tool_start" for event in bridge.get_traces()):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert gone(int(note.read_text()))
    assert {record.status for record in exported.spans if record.phase == "end"} == {"killed"}


def test_processes_started_by_the_worker_end_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"""
import subprocess
child = subprocess.Popen(['sleep', '1000'])
open({str(note)!r}, 'w').write(str(child.pid))
"""
    assert execute(code).success
    assert gone(int(note.read_text()))


def test_a_worker_ends_when_its_bridge_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); os.kill(os.getppid(), 9)\nwhile True: pass"
    program = (
        f"import asyncio\nfrom custody.sdk.bridge import WorkerBridge\nasyncio.run(WorkerBridge().execute({code!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == -9
    assert gone(int(note.read_text()))


def test_a_client_that_ignores_cancellation_does_not_block_the_call() -> None:
    class Stubborn:
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            for _ in range(3):
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    continue

    async def main() -> Execution:
        limits = BridgeLimits(time_seconds=20, call_seconds=0.1)
        return await WorkerBridge({"s": Stubborn()}, limits=limits).execute("await tools.s.t()")

    assert "did not answer in 0.1 s" in (asyncio.run(main()).error or "")


FORGED = {
    "no JSON": "b'hello\\n'",
    "unknown": 'b\'{"type":"shutdown"}\\n\'',
    "an end without a start": (
        'b\'{"type":"capability_end","trace_id":"%s","parent_trace_id":null,"name":"x","success":true}\\n\''
        % ("1" * 16)
    ),
    "a bad id": 'b\'{"type":"capability_start","trace_id":"../x","parent_trace_id":null,"name":"x"}\\n\'',
    "deep": "b'[' * 100_000 + b'\\n'",
    "endless line": "b'x' * 20_000_000",
}


@pytest.mark.parametrize("what", FORGED)
def test_a_worker_with_invalid_messages_is_ended(what: str) -> None:
    code = (
        f"import os, sys, gc\nfor w in gc.get_objects():\n  if type(w).__name__ == 'Wire': w._out.write({FORGED[what]})"
    )
    done = execute(code + "\nwhile True: pass")
    assert not done.success
    assert "invalid message from the worker: " in (done.error or "")


def test_a_worker_with_too_many_calls_is_ended(monkeypatch: pytest.MonkeyPatch, exported: ExportedSpans) -> None:
    monkeypatch.setattr("custody.sdk.execution.EVENTS_MAX", 100)
    done = execute("while True: await capabilities.read_one(path='a')")
    assert done.error == "too many calls"
