"""Sends valid and invalid requests made from the service's OpenAPI description, and checks every answer against it.

These are errors: status 500, an undescribed status, another shape, an accepted invalid request, and a missing token
check. A rejected valid request is not an error: no schema excludes a time in the year 9000 or a path outside the
repository.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from litestar import Litestar

from bench.progress import Progress
from custody.server.auth import CallerLimits, PerStartKeeper, Settings
from custody.server.listener import create_app
from custody.workspace.workspace import Workspace

TOKEN = "fuzz-" + "0" * 32
NAMED_MAX = 20
SECONDS_MAX = 2**32
ROUND = 200
"""Requests of one kind that are drawn at a time, since hypothesis keeps all that it drew."""

Tell = Callable[[str], None]


@dataclass(slots=True)
class Fuzzed:
    """The result: answers by operation and status, and the errors."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of answered requests."""
        return self.answers.total()

    @property
    def bugs(self) -> int:
        """The number of answers that are errors in any case."""
        return sum(count for (_, status), count in self.answers.items() if status >= 500)


def fuzz(app: Litestar, token: str, examples: int, seed: int, tell: Tell = lambda _: None) -> Fuzzed:
    """Send about this many requests, spread evenly over operations, half of them invalid."""
    import schemathesis
    from schemathesis import GenerationMode

    _moments()
    _as_json(schemathesis.serializer)
    headers = {"Authorization": f"Bearer {token}"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)
    done = Fuzzed()
    operations: list[Any] = [_operation(found) for found in schema.get_all_operations()]
    each = max(1, examples // (2 * len(operations)))
    draw = random.Random(seed)
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            for size in _rounds(each):
                _run(operation, mode, headers, size, draw.getrandbits(32), done)
            tell(f"{operation.label}, {mode.value}: {done.count:,} requests, {len(done.wrong)} wrong")
    asyncio.run(app.state.service.close())
    return done


def _operation(found: Any) -> Any:
    return found.ok()


def _rounds(count: int) -> Iterable[int]:
    while count > 0:
        yield min(count, ROUND)
        count -= ROUND


def _run(operation: Any, mode: Any, headers: dict[str, str], examples: int, seed: int, done: Fuzzed) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable
    from schemathesis.core.failures import FailureGroup
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    def one(case: Any) -> None:
        response = case.call(headers=headers)
        done.answers[operation.label, response.status_code] += 1
        try:
            case.validate_response(response, headers=headers, excluded_checks=[positive_data_acceptance])
        except FailureGroup as error:
            done.wrong.append(f"{operation.label}: {str(error)[:1500]}")

    drawn = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        seeded(seed)(drawn(given(case=operation.as_strategy(generation_mode=mode))(one)))()
    except Unsatisfiable:
        return  # an operation without parameters cannot be invalid


def _as_json(serializer: Any) -> None:
    """Draw bodies of JSON lines like other bodies, and send them with their media type."""

    def lines(_context: Any, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        return value.encode() if isinstance(value, str) else json.dumps(value).encode()

    serializer("application/x-ndjson")(lines)


def _moments() -> None:
    """Draw times mostly from the years that a store supports."""
    import schemathesis
    from hypothesis import strategies as st

    moments = st.integers(0, SECONDS_MAX).map(lambda at: datetime.fromtimestamp(at, UTC))
    schemathesis.openapi.format("date-time", moments.map(lambda at: at.isoformat()))


def a_service(folder: Path, database: str | None = None) -> Litestar:
    """Return a service on its own store, with limits that are never reached."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    workspace = Workspace(folder, database)
    limits = CallerLimits(rate_per_second=1e9, rate_burst=10**9)
    return create_app(Settings(keeper=PerStartKeeper(workspace, TOKEN), now_ns=workspace.now_ns, limits=limits))


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Fuzz a service on its own store; return 1 on any error."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench service-fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=5_000, metavar="N", help="requests (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, metavar="N")
    parser.add_argument(
        "--database", default=None, metavar="URL", help="an empty PostgreSQL database (default: SQLite)"
    )
    args = parser.parse_args(argv)
    seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
    out.write(f"seed {seed}\n")
    with tempfile.TemporaryDirectory(prefix="custody-fuzz-") as folder, Progress(err) as tell:
        done = fuzz(a_service(Path(folder), args.database), TOKEN, args.examples, seed, tell)
    for (operation, status), count in sorted(done.answers.items()):
        out.write(f"{operation:32} {status} {count:>8,}\n")
    out.write(f"requests {done.count:,}, 5xx {done.bugs}, contract violations {len(done.wrong)}\n")
    for words in done.wrong[:NAMED_MAX]:
        out.write(f"\n{words}\n")
    return 1 if done.bugs or done.wrong else 0
