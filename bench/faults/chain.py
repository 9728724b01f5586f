"""Damage a chain of records in memory: no change of a record may leave its links intact."""

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from bench.faults.frame import Fault, Figures, Trial, all_of, none_of, seen
from custody.core.ids import Digest, EventId, Link, NaturalKey, StoreId, digest_from_bytes
from custody.core.record import ChainTip, Record, RecordDraft, chain_tip_from_record, empty_chain_tip, record_from_draft

RECORDS_MAX = 20
STORE = StoreId("0" * 32)

Chain = list[Record]
Damage = Callable[[random.Random, Chain], Chain]


def a_chain(chance: random.Random) -> Chain:
    """Between two and ``RECORDS_MAX`` records, no two alike."""
    chain: Chain = []
    for n in range(chance.randint(2, RECORDS_MAX)):
        head = chain_tip_from_record(chain[-1]) if chain else empty_chain_tip(STORE)
        chain.append(record_from_draft(head, an_entry(chance, n)))
    return chain


def an_entry(chance: random.Random, n: int) -> RecordDraft:
    """Make a new random entry."""
    kind = chance.choice(("session", "prompt", "call", "edit"))
    key = NaturalKey(f"hook:agent:{n}:{chance.getrandbits(32)}")
    return RecordDraft(
        EventId(f"{n}-{chance.getrandbits(32)}"), kind, key, chance.getrandbits(60), digest_from_bytes(key.encode())
    )


def intact(chain: Sequence[Record], head: ChainTip) -> bool:
    """Return whether every record follows from its entry and its predecessor, up to ``head``."""
    so_far = empty_chain_tip(head.store)
    for record in chain:
        if record != record_from_draft(so_far, record.entry):
            return False
        so_far = chain_tip_from_record(record)
    return so_far == head


def flip_link(chance: random.Random, chain: Chain) -> Chain:
    """Flip one bit of one link."""
    n = chance.randrange(len(chain))
    return [*chain[:n], replace(chain[n], link=Link(flipped(chance, chain[n].link))), *chain[n + 1 :]]


def change_entry(chance: random.Random, chain: Chain) -> Chain:
    """Change one field of one record."""
    n = chance.randrange(len(chain))
    entry = chain[n].entry
    changed = chance.choice(
        (
            replace(entry, event=EventId(entry.event + "x")),
            replace(entry, kind=entry.kind + "x"),
            replace(entry, key=NaturalKey(entry.key[:-1])),
            replace(entry, at_ns=entry.at_ns + 1),
            replace(entry, digest=Digest(flipped(chance, entry.digest))),
        )
    )
    return [*chain[:n], replace(chain[n], entry=changed), *chain[n + 1 :]]


def move_boundary(chance: random.Random, chain: Chain) -> Chain:
    """Move the last letter of one field to the start of the next: the joined bytes stay the same."""
    n = chance.randrange(len(chain))
    entry = chain[n].entry
    moved = replace(entry, kind=entry.kind[:-1], key=NaturalKey(entry.kind[-1] + entry.key))
    return [*chain[:n], replace(chain[n], entry=moved), *chain[n + 1 :]]


def delete(chance: random.Random, chain: Chain) -> Chain:
    """Delete one record, possibly the last."""
    n = chance.randrange(len(chain))
    return chain[:n] + chain[n + 1 :]


def swap(chance: random.Random, chain: Chain) -> Chain:
    """Swap two records, but not their positions' numbers."""
    one, other = sorted(chance.sample(range(len(chain)), 2))
    swapped = list(chain)
    swapped[one] = replace(chain[one], entry=chain[other].entry)
    swapped[other] = replace(chain[other], entry=chain[one].entry)
    return swapped


def rewrite(chance: random.Random, chain: Chain) -> Chain:
    """Change an entry and recompute every later link: only the stored head can show it."""
    n = chance.randrange(len(chain))
    rewritten = chain[:n]
    for record in chain[n:]:
        entry = replace(record.entry, at_ns=record.entry.at_ns + 1) if record is chain[n] else record.entry
        rewritten.append(
            record_from_draft(chain_tip_from_record(rewritten[-1]) if rewritten else empty_chain_tip(STORE), entry)
        )
    return rewritten


def flipped(chance: random.Random, data: bytes) -> bytes:
    """Return ``data`` with one bit changed."""
    bit = chance.randrange(len(data) * 8)
    return (int.from_bytes(data, "big") ^ (1 << bit)).to_bytes(len(data), "big")


DAMAGES: Mapping[str, Damage] = MappingProxyType(
    {damage.__name__: damage for damage in (flip_link, change_entry, move_boundary, delete, swap, rewrite)}
)


def damaged(trial: Trial) -> Figures:
    """Cause every kind of damage once per round, each on a fresh chain."""
    tried, silent, refused = 0, 0, 0
    for round_ in trial.each():
        for name, damage in DAMAGES.items():
            chance = trial.random(name, round_.number)
            chain = a_chain(chance)
            head = chain_tip_from_record(chain[-1])
            refused += not intact(chain, head)
            silent += intact(damage(chance, chain), head)
            tried += 1
    return {
        "chains damaged": seen(tried),
        "damage found": all_of(tried - silent, tried),
        "damage silent": none_of(silent),
        "sound chains refused": none_of(refused),
    }


FAULTS = (
    Fault(
        name="chain-damage",
        what="bit flips, changes, deletions, reorderings and rewrites of a chain are found by its links and its head",
        run=damaged,
        rounds=500,
    ),
)
