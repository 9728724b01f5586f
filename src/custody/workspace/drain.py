"""From the spool into the chain: read, append, then forget the files; killed anywhere, the next drain finishes it."""

from collections.abc import Callable, Sequence

from custody.capture.spool import RejectedFile, Spool
from custody.core.ids import PENDING
from custody.core.wire.arrival import make_loss_arrival
from custody.store import Store, split_batches

BATCH = 256
"""Events per transaction."""


def drain(spool: Spool, store: Store, now_ns: Callable[[], int]) -> int:
    """Chain every waiting event and set aside what is no event; give how many records that made."""
    made = 0
    while spool.names():
        waiting = spool.oldest(BATCH)
        if waiting.arrivals:
            made += len(store.append(waiting.arrivals).made)
            spool.remove(arrival.entry.event for arrival in waiting.arrivals)
        if waiting.refused:
            # First, so that who clears away what was set aside does not clear away that it was.
            drain_lost([_refused(refused) for refused in waiting.refused], store, now_ns())
            spool.set_aside(refused.event for refused in waiting.refused)
    return made


def drain_lost(lines: Sequence[str], store: Store, now_ns: int) -> None:
    """Chain what was counted as lost: who deletes the count later deletes nothing."""
    arrivals = [make_loss_arrival(line, now_ns) for line in dict.fromkeys(lines)]
    known = store.tables.known_among([arrival.entry for arrival in arrivals])
    fresh = [arrival for arrival in arrivals if arrival.entry.event not in known.events]
    for some in split_batches(fresh, BATCH):
        store.append(some)


def _refused(file: RejectedFile) -> str:
    """The count of an event that was set aside, at the time that its name has."""
    at, _, _ = file.event.partition("-")
    words = f"the waiting event '{file.event}' was set aside: {file.why}"
    return f"{at} {words}" if at.isascii() and at.isdigit() else words


def show(spool: Spool, store: Store) -> int:
    """Chain waiting events in a store that is only a private copy, leaving the spool as it is."""
    made = seen = 0
    total = len(spool.names())
    while seen < total:
        waiting = spool.oldest(BATCH, skip=seen)
        if not waiting.files:
            break
        seen += waiting.files
        made += len(store.append(waiting.arrivals, chain=PENDING).made)
    return made
