"""Origins of lines that came with chains whose texts did not: stored as they came, by chain and file."""

from collections.abc import Collection, Mapping

from custody.attribution.queries.origins import OriginTables
from custody.core.ids import Digest, StoreId
from custody.core.paths import RepoPath
from custody.store import Store


def origin_lists(store: Store) -> dict[StoreId, Digest]:
    """Return the chains that origins came with, each with the digest of its list."""
    return OriginTables(store).lists()


def origin_digests(store: Store, chain: StoreId) -> dict[RepoPath, Digest]:
    """Return the digest of each file's origins; none for a chain without any."""
    return OriginTables(store).files(chain)


def read_origins(store: Store, digest: Digest) -> bytes:
    """Return the origins of one file as they came."""
    return OriginTables(store).read(digest)


def chain_origins(store: Store, chain: StoreId) -> dict[RepoPath, bytes]:
    """Return the origins of every file of a chain as they came."""
    tables = OriginTables(store)
    return {path: tables.read(digest) for path, digest in tables.files(chain).items()}


def have_origins_changed(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> bool:
    """Return whether ``files`` are other origins of a chain than the stored ones."""
    return OriginTables(store).differ(chain, files)


def put_origins(store: Store, chain: StoreId, files: Mapping[RepoPath, bytes]) -> None:
    """Inside a write: store these origins of a chain instead of those that were there."""
    OriginTables(store).put(chain, files)


def drop_origins(store: Store, chain: StoreId) -> None:
    """Inside a write: drop the origins of a chain whose texts are here now."""
    OriginTables(store).drop(chain)


def copy_origins(source: Store, chains: Collection[StoreId], into: Store) -> None:
    """Copy the origins that came with these chains into a store that holds the chains."""
    with into.writing():
        for chain in origin_lists(source).keys() & set(chains):
            put_origins(into, chain, chain_origins(source, chain))
