"""Files of decisions, as ``python -m bench trust`` reads them."""

import json
from pathlib import Path
from random import Random
from typing import Any


def a_row(place: int = 0, **fields: Any) -> dict[str, Any]:
    opened = 1_700_000_000 + place * 3600
    return {
        "agent": "robot",
        "repo": 7,
        "pr": place,
        "opened": opened,
        "time": opened + 600,
        "decision": "accepted",
    } | fields


def a_stream(count: int = 120) -> list[dict[str, Any]]:
    """Return decisions about a good agent and a bad one; every second change has a size."""
    random = Random(2)
    rows = []
    for place in range(count):
        agent, rate = random.choice((("good", 0.95), ("bad", 0.2)))
        decision = random.choice(("accepted", "accepted", "modified")) if random.random() < rate else "rejected"
        more = {"lines": random.randrange(600)} if place % 2 else {}
        rows.append(a_row(place, agent=agent, decision=decision, **more))
    return rows


def written(path: Path, rows: list[dict[str, Any]], *more: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in (*map(json.dumps, rows), *more)))
    return path
