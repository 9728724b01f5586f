"""How people name a record: its number here, ``STORE:NUMBER``, its event id or its natural key."""

import re

from custody.core.ids import RecordRef, Seq, StoreId
from custody.core.record import Record
from custody.store import Store

HINT = "name a record by its number here, 'store:number', its event id or its key ('custody records' lists them)"

_PLACE = re.compile(r"(?:([0-9a-f]{8,32}|pending):)?([1-9][0-9]{0,17})", re.ASCII)


def find_records(store: Store, target: str) -> list[Record]:
    """The records that ``target`` names, oldest first; a bare number is a place in this store's own chain."""
    place = _PLACE.fullmatch(target)
    if place is None:
        return store.tables.records_named(target)
    own = store.own()
    stores = [own] if place[1] is None and own is not None else []
    if place[1] is not None:
        stores = [head.store for head in store.tables.chains() if head.store.startswith(place[1])]
    found = [store.tables.record(RecordRef(StoreId(name), Seq(int(place[2])))) for name in stores]
    return [record for record in found if record is not None]
