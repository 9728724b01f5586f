"""The budget of lines that may merge without review: reservations, and what they use of it.

A reservation is about a patch, not about a commit: an amended message or another base costs nothing more.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from custody.trust.approval import BudgetUse
from custody.trust.model import ChangeAuthor

HEAD = "head:"
"""What the name of a reservation begins with that was recorded without its patch."""


class Reservation(Struct, frozen=True, kw_only=True):
    """Lines that one agent's change takes from the budgets of the agent, its operator and the areas of the change."""

    patch: str
    agent: str
    operator: str | None
    areas: tuple[str, ...]
    lines: int
    at_ns: int
    head: str | None = None

    def covers(self, other: "Reservation") -> bool:
        """Return whether a second reservation for the same lines of the same patch would add nothing."""
        return (
            (self.patch, self.agent, self.operator) == (other.patch, other.agent, other.operator)
            and set(self.areas) >= set(other.areas)
            and self.lines >= other.lines
        )


class LedgerState(Struct, frozen=True):
    """The reservations of a shared ledger within the budget window, and the ledger's version.

    ``patches`` are those of all reservations that it holds, also earlier ones; None if it cannot lose any.
    """

    reservations: tuple[Reservation, ...] = ()
    version: str | None = None
    patches: frozenset[str] | None = None


class BudgetLedger(Protocol):
    """A place outside this store that several clones reserve lines in, by compare-and-swap."""

    def read(self, since_ns: int) -> LedgerState:
        """Return the reservations after a time; a ``CustodyError`` if the ledger cannot be read."""

    def extend(self, state: LedgerState, added: Sequence[Reservation], now_ns: int) -> bool:
        """Add reservations to ``state``; False if the ledger has changed since it was read."""


class BudgetPlace(Struct, frozen=True):
    """Where lines are reserved: in this store, or in the ledger of a ``remote``."""

    remote: str | None = None


STORE = BudgetPlace()


def sum_reserved_lines(
    reservations: Iterable[Reservation], author: ChangeAuthor, areas: Iterable[str], own: frozenset[str]
) -> BudgetUse:
    """Return the budget that other patches than ``own`` use; a patch of several agents counts once."""
    others = [reservation for reservation in reservations if reservation.patch not in own]
    return BudgetUse(
        agent=_sum_lines(reservation for reservation in others if reservation.agent == author.agent),
        operator=_sum_lines(reservation for reservation in others if reservation.operator == author.operator),
        areas={area: _sum_lines(reservation for reservation in others if area in reservation.areas) for area in areas},
    )


def _sum_lines(reservations: Iterable[Reservation]) -> int:
    patches: dict[str, int] = {}
    for reservation in reservations:
        patches[reservation.patch] = max(patches.get(reservation.patch, 0), reservation.lines)
    return sum(patches.values())
