"""Erase the texts of conversations that are older than their project keeps them; 'custody verify' then says erased."""

from custody.ledger.queries.conversations import ConversationTables
from custody.workspace.workspace import Workspace

DAY_NS = 24 * 3_600 * 1_000_000_000
BATCH = 100
"""Bodies per transaction: other writers wait no longer."""
WHO = "retention"


def retain(workspace: Workspace, days: int) -> int:
    """Erase what is older than ``days``; give how many bodies that were."""
    why = f"conversations are kept for {days} days"
    with workspace.writing() as store:
        old = ConversationTables(store).bodies_before(workspace.now_ns() - days * DAY_NS)
        for start in range(0, len(old), BATCH):
            store.erase(old[start : start + BATCH], who=WHO, why=why)
    return len(old)
