"""Erase the texts of conversations that are older than their project keeps them; 'custody verify' then says erased."""

from custody.core.errors import InputError
from custody.core.wire.canonical import Json
from custody.ledger.queries.conversations import ConversationTables
from custody.workspace.workspace import Workspace

DAY_NS = 24 * 3_600 * 1_000_000_000
BATCH = 100
"""Bodies per transaction: other writers wait no longer."""
WHO = "retention"


def run_retention(workspace: Workspace, payload: Json) -> None:
    """Do a job of retention: erase what is older than its ``days``."""
    days = payload.get("days") if isinstance(payload, dict) else None
    if not isinstance(days, int):
        raise InputError("a job of retention needs its 'days'")
    retain(workspace, days)


def retain(workspace: Workspace, days: int) -> int:
    """Erase what is older than ``days``; give how many bodies that were."""
    why = f"conversations are kept for {days} days"
    with workspace.writing() as store:
        old = ConversationTables(store).bodies_before(workspace.now_ns() - days * DAY_NS)
        for start in range(0, len(old), BATCH):
            store.erase(old[start : start + BATCH], who=WHO, why=why)
    return len(old)
