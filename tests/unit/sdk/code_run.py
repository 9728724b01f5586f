"""A server that answers, capabilities that call it, and code that is run with both."""

import asyncio
import threading
from pathlib import Path
from typing import Any

from custody.sdk import span
from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from custody.sdk.execution import CallTraceEvent

QUICK = BridgeLimits(time_seconds=20, call_seconds=10)


class Files:
    """A server that answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.requests.append((name, arguments))
        await asyncio.sleep(0)
        match name:
            case "read_file":
                return f"text of {arguments.get('path')}"
            case "hang":
                await asyncio.Event().wait()
            case "odd":
                return object()
            case "fail":
                raise LookupError("no such file")
            case "traced":
                with span("inside the server"):
                    return "traced"
            case _:
                pass
        return None


CAPABILITIES = {
    "read_one": "return await tools.filesystem.read_file(path=args['path'])",
    "read_two": "return [await capabilities.read_one(path=p) for p in ('a', 'b')]",
    "read_slowly": """
import asyncio
first = await tools.filesystem.read_file(args)
await asyncio.sleep(0)
return [first, await tools.filesystem.read_file(args)]
""",
    "fails": "raise KeyError('mine')",
    "waits": "await tools.filesystem.hang()",
}


def execute(code: str, *, limits: BridgeLimits = QUICK, **more: Any) -> Execution:
    bridge = WorkerBridge({"filesystem": Files()}, limits=limits)
    done = asyncio.run(bridge.execute(code, capabilities=CAPABILITIES, **more))
    assert list(done.traces) == bridge.get_traces()
    starts = [event.trace_id for event in done.traces if event.type.endswith("_start")]
    ends = [event.trace_id for event in done.traces if event.type.endswith("_end")]
    assert sorted(starts) == sorted(ends), "every started call has ended"
    return done


def events(done: Execution, type_: str) -> list[CallTraceEvent]:
    return [event for event in done.traces if event.type == type_]


def gone(pid: int) -> bool:
    """Return whether a process ends within a short time."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(1000):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except OSError:
            return True
        threading.Event().wait(0.01)
    return False
