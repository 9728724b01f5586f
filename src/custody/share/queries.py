"""SQL of sharing: signed statements about heads, and the heads that this store saw at its remotes."""

from collections.abc import Iterable

from msgspec import Struct

from custody.core.ids import Link, StoreId
from custody.core.tree_head import TreeHash
from custody.core.wire.head_statement import StatementEnvelope
from custody.store import Store
from custody.store.tables import bytes_from_sql, integer_from_sql

STATEMENTS_MAX = 10_000
"""Statements about one chain that are read together."""


class SeenHead(Struct, frozen=True):
    """The last head of a chain that this store saw at a remote.

    ``root``, ``signed_ns`` and ``signer`` come from its owner's statement; None if its owner did not sign it.
    """

    store: StoreId
    seq: int
    link: Link
    root: TreeHash | None
    signed_ns: int | None
    signer: str | None
    seen_ns: int


def put_statement(store: Store, chain: StoreId, seq: int, signed: StatementEnvelope) -> None:
    """Store a verified statement about a chain, inside a write; it replaces an earlier one about the same position."""
    store.db.run(
        "INSERT INTO head_statement (store_id, seq, signer, statement, signature) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (store_id, seq, signer)"
        " DO UPDATE SET statement = excluded.statement, signature = excluded.signature",
        (chain, seq, signed.key, signed.data, signed.signature),
    )


def list_statements(store: Store, chain: StoreId) -> list[StatementEnvelope]:
    """Return the statements about a chain, by its owner and by those who saw it, the latest positions first."""
    rows = store.db.rows(
        "SELECT statement, signer, signature FROM head_statement WHERE store_id = ? ORDER BY seq DESC, signer LIMIT ?",
        (chain, STATEMENTS_MAX),
    )
    return [
        StatementEnvelope(bytes_from_sql(data).decode("utf-8", "surrogatepass"), str(key), str(signature))
        for data, key, signature in rows
    ]


def list_stated_chains(store: Store) -> list[StoreId]:
    """Return the chains with a statement."""
    return [StoreId(str(row[0])) for row in store.db.rows("SELECT DISTINCT store_id FROM head_statement ORDER BY 1")]


def put_seen_heads(store: Store, remote: str, heads: Iterable[SeenHead]) -> None:
    """Store the heads that were seen at a remote, inside a write."""
    store.db.run_for_each(
        "INSERT INTO head_seen (remote, store_id, seq, link, root, signed_ns, signer, seen_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (remote, store_id) DO UPDATE SET seq = excluded.seq,"
        " link = excluded.link, root = excluded.root, signed_ns = excluded.signed_ns, signer = excluded.signer,"
        " seen_ns = excluded.seen_ns",
        [
            (remote, head.store, head.seq, head.link, head.root, head.signed_ns, head.signer, head.seen_ns)
            for head in heads
        ],
    )


def forget_seen_heads(store: Store, remote: str, chains: Iterable[StoreId]) -> None:
    """Forget what was seen of these chains at a remote, inside a write."""
    for chain in sorted(chains):
        store.db.run("DELETE FROM head_seen WHERE remote = ? AND store_id = ?", (remote, chain))


def list_seen_heads(store: Store, remote: str) -> dict[StoreId, SeenHead]:
    """Return the heads that were seen at a remote, by chain."""
    rows = store.db.rows(
        "SELECT store_id, seq, link, root, signed_ns, signer, seen_ns FROM head_seen WHERE remote = ?", (remote,)
    )
    return {
        StoreId(str(chain)): SeenHead(
            StoreId(str(chain)),
            integer_from_sql(seq),
            Link(bytes_from_sql(link)),
            None if root is None else TreeHash(bytes_from_sql(root)),
            None if signed is None else integer_from_sql(signed),
            None if signer is None else str(signer),
            integer_from_sql(seen),
        )
        for chain, seq, link, root, signed, signer, seen in rows
    }


def count_records_by_kind(store: Store, chain: StoreId) -> dict[str, int]:
    """Return the number of records of each kind in a chain."""
    rows = store.db.rows("SELECT kind, count(*) FROM record WHERE store_id = ? GROUP BY kind ORDER BY kind", (chain,))
    return {str(kind): integer_from_sql(count) for kind, count in rows}
