"""From the spool into the chain: read, append, then forget the files; killed anywhere, the next drain finishes it."""

from custody.model.ids import PENDING
from custody.world.spool import Spool
from custody.world.store import Store

BATCH = 256
"""Events per transaction."""


def drain(spool: Spool, store: Store) -> int:
    """Chain every waiting event and set aside what is no event; give how many records that made."""
    made = 0
    while spool.names():
        waiting = spool.oldest(BATCH)
        if waiting.arrivals:
            made += len(store.append(waiting.arrivals).made)
            spool.remove(arrival.entry.event for arrival in waiting.arrivals)
        spool.set_aside(refused.event for refused in waiting.refused)
    return made


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
