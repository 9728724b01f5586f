"""Where a fold of decisions stands, as it is kept between two questions: every bit of a number comes back."""

import msgspec

from custody.core.ids import RecordRef, Seq, StoreId


class StoredStanding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A standing with how far each chain was read for it, the last entry in order, and the records of what waits."""

    read: dict[str, int]
    last_ns: int
    last: tuple[str, int]
    waiting: list[tuple[str, int, int]]
    score: float
    earned: float | None
    since_ns: int | None
    active_ns: int | None
    recovered_ns: int | None
    accepted: int
    modified: int
    rejected: int

    @property
    def last_ref(self) -> RecordRef:
        """The record of the last entry."""
        return RecordRef(StoreId(self.last[0]), Seq(self.last[1]))


def encode_standing(kept: StoredStanding) -> str:
    """As text for a row."""
    return msgspec.json.encode(kept).decode()


def decode_standing(text: str) -> StoredStanding | None:
    """From a row; None for what is not of this shape, which is folded anew."""
    try:
        return msgspec.json.decode(text, type=StoredStanding)
    except msgspec.MsgspecError:
        return None
