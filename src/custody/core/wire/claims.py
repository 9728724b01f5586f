"""Which records are only claims, and how far the records of each chain can be believed."""

from collections.abc import Collection

from msgspec import Struct

from custody.core.assurance import Assurance
from custody.core.ids import StoreId
from custody.core.record import Record
from custody.core.wire.arrival import SPANS
from custody.core.wire.event import GENERIC

# An import makes records claims, whatever they were in their own store. Only this file decides that.


IMPORT_EVENT = "import"
"""The prefix of event names that were not recorded live."""
IMPORTED_KINDS = frozenset(("transcript", "trace", "trace_link"))
"""The kinds of records that only imports create."""
GENERIC_KINDS = frozenset((SPANS, *(str(event.__struct_config__.tag) for event in GENERIC)))
"""The kinds of generic events: any program can record one under any agent's name."""
CLAIM_KINDS = IMPORTED_KINDS | GENERIC_KINDS


def is_imported_record(record: Record, owned: Collection[StoreId]) -> bool:
    """Return whether a record was imported: by the name of its event, or because its chain was copied here."""
    return record.entry.event.startswith(IMPORT_EVENT) or record.store not in owned


def is_claim_record(record: Record, believed: Collection[StoreId]) -> bool:
    """Return whether a record is only a claim: imported, generic, or in a chain that is not among the believed."""
    return record.entry.kind in CLAIM_KINDS or is_imported_record(record, believed)


class ChainRatings(Struct, frozen=True):
    """The assurance of every chain of a store, under one policy.

    ``owned`` are the chains that the store appended to. Records recorded live in these chains and in enrolled ones are
    believed to be recorded; any other record is a claim. ``witnesses`` are the enrolled chains of a witness: what
    agents did there was recorded out of their reach.
    """

    owned: frozenset[StoreId] = frozenset()
    enrolled: frozenset[StoreId] = frozenset()
    witnesses: frozenset[StoreId] = frozenset()

    @property
    def believed(self) -> frozenset[StoreId]:
        """Return the chains whose live recordings count as recorded."""
        return self.owned | self.enrolled

    def rate_chain(self, chain: StoreId) -> Assurance:
        """Return how far the records of a chain can be believed."""
        return Assurance.ENROLLED if chain in self.enrolled else Assurance.SELF_REPORTED

    def rate_record(self, record: Record) -> Assurance:
        """Return how far a record about who wrote lines can be believed: a claim is always self-reported."""
        if is_claim_record(record, self.believed):
            return Assurance.SELF_REPORTED
        return Assurance.WITNESSED if record.store in self.witnesses else self.rate_chain(record.store)

    def list_equals(self, chain: StoreId) -> frozenset[StoreId]:
        """Return the believed chains that may add details to a recording in ``chain``: none that is rated lower."""
        if chain in self.witnesses:
            return self.witnesses
        return self.enrolled if chain in self.enrolled else self.believed
