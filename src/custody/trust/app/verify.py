"""Verification that the log of decisions is unchanged and gives the scores that are shown."""

from collections.abc import Iterator

from custody.core.ids import AgentName
from custody.core.views import Decision
from custody.core.wire.report import IntegrityFinding
from custody.ledger.verify import verify_ledger
from custody.store import DamagedStoreError, ObservedView, Store
from custody.trust.app.decisions import (
    TrustQuery,
    decision_entries_from_views,
    list_agents_with_decisions,
    make_trust_query,
    read_decision_entries,
    read_settled_decisions,
)
from custody.trust.app.score_cache import read_fold_position
from custody.trust.engine import FoldResult, fold_entries, make_empty_fold
from custody.trust.model import Entry
from custody.trust.wire import TrustVerifyReport
from custody.workspace.workspace import Workspace

KIND = "decision"
DIFFERS = "TRUST-DIFFERS"


def trust_verify(workspace: Workspace) -> TrustVerifyReport:
    """Check every chain that can hold a decision, then replay all decisions from the records themselves."""
    checked = verify_ledger(workspace)
    recorded, differing = _replay_decision_log(workspace, make_trust_query(workspace))
    findings = [*checked.findings, *differing]
    return TrustVerifyReport(
        outcome="found" if findings else "fine",
        decisions=sum(map(len, recorded.values())),
        agents=len(recorded),
        records=checked.records,
        chains=len(checked.chains),
        findings=findings,
    )


def _replay_decision_log(
    workspace: Workspace, query: TrustQuery
) -> tuple[dict[AgentName, list[Entry]], list[IntegrityFinding]]:
    """Return the entries about each agent from the records, and where the index differs."""
    try:
        with workspace.reading() as store, read_settled_decisions(store):
            recorded = _read_decision_records(store)
            return recorded, list(_find_score_differences(store, recorded, query))
    except DamagedStoreError:
        return {}, []  # ``verify_ledger`` reports what cannot be read


def _read_decision_records(store: Store) -> dict[AgentName, list[Entry]]:
    by_agent: dict[AgentName, list[Entry]] = {}
    for record in store.tables.records_of_kind(KIND):
        for view in store.views.read_views(record):
            if isinstance(view, Decision):
                by_agent.setdefault(view.agent, []).extend(decision_entries_from_views([ObservedView(record, view)]))
    return by_agent


def _find_score_differences(
    store: Store, recorded: dict[AgentName, list[Entry]], query: TrustQuery
) -> Iterator[IntegrityFinding]:
    """Yield a finding for each agent whose records give another fold than the index or the cache."""
    for agent in sorted({*recorded, *list_agents_with_decisions(store)}):
        expected = _fold_recorded_entries(agent, recorded.get(agent, []), query)
        indexed = _fold_recorded_entries(agent, read_decision_entries(store, agent), query)
        if indexed != expected or read_fold_position(store, agent, query).folded != expected.folded:
            yield IntegrityFinding(DIFFERS, f"the score shown for '{agent}' does not match its records")


def _fold_recorded_entries(agent: AgentName, entries: list[Entry], query: TrustQuery) -> FoldResult:
    return fold_entries(agent, make_empty_fold(query.rules), entries, query.rules)
