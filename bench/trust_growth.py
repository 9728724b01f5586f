"""How the steps of reading a score grow with the number of decisions."""

import json
from collections.abc import Iterator

from bench.bars import BenchError
from bench.growth import Growth, Population
from bench.runner import Ground
from bench.store import BATCH, START_S, a_sha
from custody.core.ids import EventId
from custody.core.wire.arrival import Arrival, arrival_from_bytes
from custody.core.wire.time import format_timestamp
from custody.store import Heads, Store, StoreEnvironment, open_sqlite
from custody.trust.app.approval_case import sum_budget_use
from custody.trust.app.decisions import TrustQuery, list_agents_with_decisions
from custody.trust.app.score_cache import read_score_state
from custody.trust.approval import ProposedChange
from custody.trust.model import ChangeAuthor, ScoreState
from custody.trust.queries import ScoreTables
from custody.trust.rules import TrustRules
from custody.workspace.wiring import VIEWS

NS = 1_000_000_000
AGENT = "asked"
OTHERS = 4
SINCE = 50
"""Decisions after the cached score."""
PERIOD = 10
"""One in this many decisions is about another agent, and one is a rejection."""
LANDING = 19
"""One in this many merges without review: at least one a day."""


def a_decision(n: int) -> Arrival:
    """Return the ``n``-th decision, an hour after the previous one: nearly all are about one agent."""
    event: dict[str, object] = {
        "custody": 1,
        "kind": "decision",
        "id": f"d{n}",
        "at": format_timestamp((START_S + 3_600 * n) * NS),
        "agent": f"agent-{n // PERIOD % OTHERS}" if n % PERIOD == 0 else AGENT,
        "decision": "rejected" if n % PERIOD == 1 else "accepted",
        "commit": a_sha("commit", n),
        "changed_lines": n % 100,
        "actor": "bench",
    }
    if n % LANDING == 0:
        event |= {"agent": AGENT, "decision": "accepted", "changed_lines": 5}
        event |= {"unreviewed": True, "head": a_sha("commit", n), "areas": ["src"]}
    return arrival_from_bytes(EventId(f"{n:020d}-3-{n:016x}"), json.dumps(event).encode())


def populate(ground: Ground, size: int) -> Population:
    """Return a store of ``size`` decisions with a cached score, and a few later decisions."""
    db = open_sqlite(ground.folder / "custody.db")
    store = Store(db, VIEWS, StoreEnvironment(lambda: 0, lambda: "0" * 32, Heads(ground.folder)))
    for numbers in ground.number_batches(size, BATCH):
        store.append([a_decision(n) for n in numbers])
    asked = TrustQuery(TrustRules(), (START_S + 3_600 * size) * NS)
    settled = dict(_score_states(store, asked))
    if settled[AGENT].samples < size // 2:
        raise BenchError("nearly all decisions are about one agent, and they are not counted")
    (chain,) = store.tables.chains()
    store.append([a_decision(n) for n in range(int(chain.seq), int(chain.seq) + SINCE)])
    change = ProposedChange(head="0" * 40, lines=1, areas=("src",))
    return Population(
        db.connection,
        {
            "score": lambda: read_score_state(store, AGENT, asked).samples,
            "every agent's score": lambda: dict(_score_states(store, asked)),
            "agents": lambda: list_agents_with_decisions(store),
            "is it decided": lambda: ScoreTables(store).find_decision_records(AGENT, "id", [f"d{size // 2 + 3}", "d3"]),
            "budget": lambda: sum_budget_use(store, ChangeAuthor(AGENT), change, asked).agent,
        },
        db.close,
    )


def _score_states(store: Store, asked: TrustQuery) -> Iterator[tuple[str, ScoreState]]:
    for agent in list_agents_with_decisions(store):
        yield agent, read_score_state(store, agent, asked)


BENCHES = (
    Growth(
        name="trust-steps",
        what="reading a score does not depend on the number of decisions",
        populate=populate,
        small=1_000,
        large=1_000_000,
    ),
)
