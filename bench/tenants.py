"""Leaks between two projects of one service, by HTTP calls with a token of the other project.

    python -m bench tenants [--calls N] [--seed S] [--embedded]

Two projects of one service get similar data. Then a token of the first with all scopes requests data that only the
second has: by records, events, keys, digests, cursors, sessions, agents, sources, chains, project names, in
URLs and in bodies, to read and to write. Every call is made twice: for a name of the other project, and for a missing
name of the same shape. A leak is a text or a chain of the other project in an answer, or a status that differs between
the two calls.
"""

import argparse
import base64
import hashlib
import json
import random
import re
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from litestar.testing import TestClient

from bench.progress import Progress, Tell, quiet
from bench.tenants_looks import AT, LISTS, LOOKS, Ask, Names, event, get, post, trace
from custody.server.app.listing import encode_page_cursor
from custody.server.app.tenancy import (
    StoredTenancy,
    TokenRequest,
    TokenScope,
    create_project,
    create_token,
    init_team_database,
)
from custody.server.auth import CallerLimits, Settings
from custody.server.listener import create_app
from custody.workspace.workspace import Workspace
from tests.house.not_run import CannotBeHad
from tests.house.postgres import a_server

MINE, THEIRS = "alpha", "beta"
THINGS = 12
NAMED_MAX = 20
_DIGITS = re.compile(r"[0-9a-f]{8,}")
_SOURCE = re.compile(r"S([0-9]+)")


def twin(name: str) -> str:
    """Return a missing name of the same shape, always the same.

    >>> twin("S7"), len(twin("0123456789abcdef:4")), twin("0123456789abcdef:4") != "0123456789abcdef:4"
    ('S90007', 18, True)
    """
    if source := _SOURCE.fullmatch(name):
        return f"S9{int(source[1]):04d}"
    return _DIGITS.sub(lambda found: _other(found[0]), name)


def _other(digits: str) -> str:
    made = hashlib.shake_256(b"twin" + digits.encode()).hexdigest(len(digits))
    return made[: len(digits)]


def twin_of_cursor(word: str) -> str:
    """Return the cursor after a row that does not exist.

    >>> twin_of_cursor(encode_page_cursor("a" * 32, 7)) == encode_page_cursor(twin("a" * 32), 7)
    True
    """
    parts = json.loads(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)))
    return encode_page_cursor(*(twin(part) if isinstance(part, str) else part for part in parts))


# --- the two projects -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its own token sees it."""

    name: str
    marker: str
    """Occurs in every text of the project, and in no name."""
    client: "TestClient[Any]"
    secret: str

    def ask(self, asked: Ask) -> tuple[int, str]:
        """Make a call with the project's own token."""
        headers = {"Authorization": f"Bearer {self.secret}"}
        answer = self.client.request(asked.method, asked.path, json=asked.body, headers=headers)
        return answer.status_code, answer.text

    def needed(self, asked: Ask) -> Any:
        """Return the answer to a call that must succeed."""
        status, text = self.ask(asked)
        if status not in (200, 201):
            raise RuntimeError(f"{asked.method} {asked.path}: {status} {text[:500]}")
        return json.loads(text)

    def lived(self, things: int, chance: random.Random) -> list[Names]:
        """Fill the project; return its items with their names."""
        return [self._thing(chance) for _ in range(things)]

    def names(self, things: Sequence[Names]) -> list[dict[str, str]]:
        """Return the items with the cursors of every list."""
        after: dict[str, str] = {}
        for what in LISTS:
            for limit in ("1", "3", "7"):
                if found := self.needed(get(what, limit=limit))["next"]:
                    after[f"after {what}"] = found
        missing = encode_page_cursor("0" * 32, 1)  # of a list that has no second page
        return [{**{f"after {what}": missing for what in LISTS}, **thing, **after} for thing in things]

    def _thing(self, chance: random.Random) -> Names:
        def digits(count: int = 32) -> str:
            return f"{chance.getrandbits(4 * count):0{count}x}"

        n = {
            "project": self.name,
            "agent": f"agent-{digits()}",
            "session": f"session-{digits()}",
            "id": f"id-{digits()}",
            "trace": f"trace-{digits()}",
            "commit": digits(40),
            "hash": f"sha256:{digits(64)}",
            "path": f"src/{digits()}.py",
            "url": f"https://{digits()}.example/",
            "decision": f"decision-{digits()}",
            "node": f"tool-{digits()}",
        }
        kept = self.needed(post("evidence", event(n, "prompt", text=f"please do {self.marker}")))["receipts"][0]
        call = {"name": n["node"], "status": "ok", "input": {"command": self.marker}, "output": self.marker}
        self.needed(post("evidence", [event(n, "call", **call), event(n, "call", **call, id=digits())]))
        edit = {"path": n["path"], "before": "", "after": f"{self.marker}\n" * 200}
        self.needed(post("evidence", event(n, "edit", **edit)))
        self.needed(post("traces", trace(n, self.marker)))
        self.needed(post("commit-links", {"commit_sha": n["commit"], "trace_ids": [n["trace"]]}))
        span = {"execution": n["session"], "span": n["id"], "phase": "whole", "name": n["node"], "span_kind": "tool"}
        told = {"custody": 1, "kind": "span", "id": digits(), "at": AT, "ended_at": AT, "status": "ok", **span}
        self.needed(post("spans", {**told, "agent": self.marker}))
        decided = {"agent": n["agent"], "decision": "accepted", "id": n["decision"], "reason": self.marker}
        self.needed(post("decisions", decided))
        source = self.needed(post("sources", {"url": n["url"], "title": self.marker}))
        read = self.needed(get(f"evidence/{kept['record']}"))
        return {
            **n,
            "record": kept["record"],
            "store": kept["store"],
            "event": kept["event"],
            "key": kept["key"],
            "digest": read["digest"],
            "source": source["source"]["id"],
        }


@contextmanager
def two_projects(workspace: Workspace, seed: int) -> Iterator[tuple[Project, Project, list[dict[str, str]]]]:
    """Yield a service with both projects, and the items of the second, which has more of everything."""
    chance = random.Random(seed)
    if workspace.database is not None:
        init_team_database(workspace, None)
    for name in (MINE, THEIRS):
        create_project(workspace, name)
    tokens = {
        name: create_token(workspace, TokenRequest(name, tuple(TokenScope), "1d", "bench")).secret
        for name in (MINE, THEIRS)
    }
    limits = CallerLimits(rate_per_second=1e9, rate_burst=10**9)
    with closing(StoredTenancy(workspace)) as keeper:
        app = create_app(Settings(keeper=keeper, now_ns=workspace.now_ns, limits=limits))
        with TestClient(app, base_url="http://127.0.0.1") as client:
            mine, theirs = (
                Project(name, f"only-in-{name}-{chance.getrandbits(64):016x}", client, tokens[name])
                for name in (MINE, THEIRS)
            )
            mine.lived(2, chance)
            for n in range(3 * THINGS):  # so that no number of one project occurs in the other
                theirs.needed(post("sources", {"url": f"https://{n}.example/", "title": theirs.marker}))
            yield mine, theirs, theirs.names(theirs.lived(THINGS, chance))


# --- the calls --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Crossed:
    """The result of the calls."""

    calls: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)


def crossed(workspace: Workspace, calls: int, seed: int, tell: Tell = quiet) -> Crossed:
    """Make this many calls for items of the other project."""
    done = Crossed()
    chance = random.Random(seed)
    with two_projects(workspace, seed) as (mine, theirs, things):
        nowhere = [made_up(thing) for thing in things]
        looks = list(LOOKS.items())
        while done.calls < calls:
            # Every kind of call once before any is repeated, so that few calls cover all kinds.
            name, look = looks[done.calls % len(looks)]
            number = chance.randrange(len(things))
            compared(mine, theirs, name, (look(things[number]), look(nowhere[number])), things[number], done)
            if done.calls % 100 == 0:
                tell(f"{done.calls:,} calls, {len(done.leaks)} leaks")
    return done


def made_up(thing: Names) -> dict[str, str]:
    """Return names shaped like those of ``thing`` that belong to nothing."""
    return {
        what: twin_of_cursor(name) if what.startswith("after ") else _nowhere(what, name)
        for what, name in thing.items()
    }


def _nowhere(what: str, name: str) -> str:
    return "gamma" if what == "project" else twin(name)


def compared(mine: Project, theirs: Project, name: str, asks: tuple[Ask, Ask], thing: Names, done: Crossed) -> None:
    """Request an item of the other project and a missing item; record every difference."""
    (status, text), (other, _) = (mine.ask(asked) for asked in asks)
    done.calls += 1
    done.statuses[name, status] += 1
    if theirs.marker in text:
        done.leaks.append(f"{name}: a text, status {status}")
    if thing["store"] in text and thing["store"] not in repr(asks[0]):
        done.leaks.append(f"{name}: a chain, status {status}")
    if status != other or status >= 500:
        done.leaks.append(f"{name}: status {status}, of nothing {other}")


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Make the calls on a separate database; return 1 when anything leaked."""
    out, err = out or sys.stdout, err or sys.stderr
    parser = argparse.ArgumentParser(prog="python -m bench tenants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000, metavar="N", help="calls (%(default)s)")
    parser.add_argument("--seed", type=int, default=None, metavar="N")
    parser.add_argument("--embedded", action="store_true", help="projects of a repository's own store, not PostgreSQL")
    args = parser.parse_args(argv)
    seed = secrets.randbits(32) if args.seed is None else args.seed
    out.write(f"seed {seed}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="custody-tenants-")))
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        tell = stack.enter_context(Progress(err))
        try:
            url = None if args.embedded else stack.enter_context(a_server())
        except CannotBeHad as error:
            out.write(f"not run: {error}\n")
            return 0
        done = crossed(Workspace(folder, url), args.calls, seed, tell)
    for (name, status), count in sorted(done.statuses.items()):
        out.write(f"{name:32} {status} {count:>8,}\n")
    out.write(f"calls {done.calls:,}, leaks {len(done.leaks)}\n")
    for words in done.leaks[:NAMED_MAX]:
        out.write(f"{words}\n")
    return 1 if done.leaks else 0
