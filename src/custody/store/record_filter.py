"""Which records a question is about: all, or only those that were recorded here as it happened."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from custody.core.ids import StoreId
from custody.store.db import SqlValue


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Records that stand in one of ``chains`` and are neither of one of ``kinds`` nor of an event named ``event``…

    Without an event everything is meant.
    """

    event: str = ""
    kinds: tuple[str, ...] = ()
    chains: tuple[StoreId, ...] = ()

    def where(self, table: str) -> str:
        """What a condition on rows of ``table`` is followed by; its values are ``values``."""
        if not self.event:
            return ""
        return (
            f" AND EXISTS (SELECT 1 FROM record WHERE record.store_id = {table}.store_id AND record.seq = {table}.seq"
            f" AND record.event_id NOT LIKE ? AND record.kind NOT IN ({_marks(self.kinds)})"
            f" AND record.store_id IN ({_marks(self.chains)}))"
        )

    @property
    def values(self) -> tuple[SqlValue, ...]:
        """The values of the condition, in its order."""
        return (f"{self.event}%", *_ensure_not_empty(self.kinds), *_ensure_not_empty(self.chains)) if self.event else ()


EVERYTHING: Final = RecordFilter()


def _ensure_not_empty(names: Sequence[str]) -> tuple[str, ...]:
    """At least one name, since no database takes an empty list; nothing is called by the empty one."""
    return tuple(names) or ("",)


def _marks(names: Sequence[str]) -> str:
    return ", ".join("?" * len(_ensure_not_empty(names)))
