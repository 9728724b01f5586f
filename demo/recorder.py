"""A scripted agent session, recorded as a hook would: one durable event after another, each with its receipt.

python demo/recorder.py SPOOL FIRST COUNT
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from custody.world.spool import Spool

START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)


def event(n: int) -> dict[str, Any]:
    """The ``n``-th event: a session opens, then prompts, calls, edits and sources take turns."""
    shared = {
        "custody": 1,
        "agent": "demo-agent",
        "session": "morning",
        "id": str(n),
        "at": (START + timedelta(seconds=7 * n)).isoformat(),
    }
    if n == 0:
        return {**shared, "kind": "session", "model": "demo-model-1", "operator": "ana"}
    turns: tuple[dict[str, Any], ...] = (
        {"kind": "prompt", "text": f"add function number {n}"},
        {"kind": "source_read", "locator": f"https://docs.example.org/{n}", "reading": "excerpt"},
        {"kind": "call", "name": "Edit", "status": "ok"},
        {"kind": "edit", "path": "src/app.py", "after": "".join(f"def f{i}(): return {i}\n" for i in range(n))},
    )
    return {**shared, **turns[n % len(turns)]}


def main() -> None:
    """Record ``COUNT`` events from the ``FIRST`` on."""
    spool, first, count = Spool(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    for n in range(first, first + count):
        receipt = spool.put(json.dumps(event(n)).encode())
        print(receipt.event, flush=True)


if __name__ == "__main__":
    main()
