"""Whether the log of decisions is as it was written, and whether its records give the scores that are shown."""

from collections.abc import Iterator

from custody.core.ids import AgentName
from custody.core.views import Decision
from custody.core.wire.report import IntegrityFinding
from custody.ledger.verify import verify
from custody.store import DamagedStoreError, ObservedView, Store
from custody.trust.app.decisions import (
    TrustQuery,
    agents_in,
    entries_from,
    entries_of,
    make_trust_query,
    read_settled_decisions,
)
from custody.trust.app.standing import position_of
from custody.trust.engine import FoldResult, carry, make_empty_fold
from custody.trust.model import Entry
from custody.trust.wire import TrustVerifyReport
from custody.workspace.workspace import Workspace

KIND = "decision"
DIFFERS = "TRUST-DIFFERS"


def trust_verify(workspace: Workspace) -> TrustVerifyReport:
    """Check every chain that can hold a decision, then replay all decisions from the records themselves."""
    checked = verify(workspace)
    recorded, differing = _replayed(workspace, make_trust_query(workspace))
    findings = [*checked.findings, *differing]
    return TrustVerifyReport(
        outcome="found" if findings else "fine",
        decisions=sum(map(len, recorded.values())),
        agents=len(recorded),
        records=checked.records,
        chains=len(checked.chains),
        findings=findings,
    )


def _replayed(workspace: Workspace, asked: TrustQuery) -> tuple[dict[AgentName, list[Entry]], list[IntegrityFinding]]:
    """What the records say about each agent, and where the index says otherwise."""
    try:
        with workspace.reading() as store, read_settled_decisions(store):
            recorded = _recorded(store)
            return recorded, list(_differing(store, recorded, asked))
    except DamagedStoreError:
        return {}, []  # verify has named what cannot be read


def _recorded(store: Store) -> dict[AgentName, list[Entry]]:
    found: dict[AgentName, list[Entry]] = {}
    for record in store.tables.records_of_kind(KIND):
        for view in store.views.of(record):
            if isinstance(view, Decision):
                found.setdefault(view.agent, []).extend(entries_from([ObservedView(record, view)]))
    return found


def _differing(store: Store, recorded: dict[AgentName, list[Entry]], asked: TrustQuery) -> Iterator[IntegrityFinding]:
    """The agents whose records give another fold than the index does, or than what was kept of it does."""
    for agent in sorted({*recorded, *agents_in(store)}):
        right = _carried(agent, recorded.get(agent, []), asked)
        shown = _carried(agent, entries_of(store, agent), asked)
        if shown != right or position_of(store, agent, asked).folded != right.folded:
            yield IntegrityFinding(
                DIFFERS, f"the records about '{agent}' give another score than the one that is shown"
            )


def _carried(agent: AgentName, entries: list[Entry], asked: TrustQuery) -> FoldResult:
    return carry(agent, make_empty_fold(asked.rules), entries, asked.rules)
