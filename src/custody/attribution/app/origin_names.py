"""Origins of lines by names that mean the same in every store: records and views instead of numbers of states."""

from collections.abc import Callable

from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin, person_at
from custody.core.errors import InputError
from custody.core.ids import RecordRef, Seq, StoreId

NOBODY, AMIDST, PERSON = "", "-", "p"

PlaceOf = Callable[[int], tuple[RecordRef, int] | None]
"""The record and view that show a state."""
StateAt = Callable[[RecordRef, int], int | None]
"""The state that a view of a record shows; None when it is not here."""


def name_of(origin: LineOrigin, place_of: PlaceOf) -> str:
    """The origin's name; that of nobody when its record is gone.

    >>> name_of(LineOrigin(3), lambda _: (RecordRef(StoreId("s"), Seq(7)), 0)), name_of(BETWEEN, lambda _: None)
    ('s:7:0', '-')
    """
    if origin.state == BETWEEN.state:
        return AMIDST
    state = origin.record_state
    place = None if state is None else place_of(state)
    if place is None:
        return NOBODY
    return f"{PERSON if origin.is_person else ''}{place[0].store}:{place[0].seq}:{place[1]}"


def origin_named(name: str, share: float, state_at: StateAt) -> LineOrigin | None:
    """The origin of that name here; None when it is a record that is not here."""
    if name == NOBODY:
        return UNKNOWN
    if name == AMIDST:
        return BETWEEN
    is_person = name.startswith(PERSON)
    store, _, place = name.removeprefix(PERSON).partition(":")
    seq, _, n = place.partition(":")
    if not (seq.isascii() and seq.isdigit() and n.isascii() and n.isdigit() and len(place) < 40):
        raise InputError("an origin of lines is no record", hint="no custody writes this")
    state = state_at(RecordRef(StoreId(store), Seq(int(seq))), int(n))
    if state is None:
        return None
    return person_at(state) if is_person else LineOrigin(state, share)
