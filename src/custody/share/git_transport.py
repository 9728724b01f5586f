"""Chains in git: one reference per store; its commit holds a manifest, chunks of records and origins of lines.

A full chunk never changes, so a push sends only new records. After a record was erased, or when texts are no longer
shared, the next commit has no parent: the data is then gone from the reference's history too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.origin_maps import PreviousOrigins, build_line_origin_files
from custody.core.errors import InputError
from custody.core.ids import CommitSha, StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip
from custody.core.wire.arrival import ERASED
from custody.git import Exchange, FileAt, NoObject, Object, ObjectReader
from custody.share.chain_exchange import iterate_chain_lines
from custody.share.wire import (
    ABOUT,
    CHUNK_RECORDS,
    ORIGINS,
    ShareManifest,
    decode_share_manifest,
    encode_share_manifest,
    find_chain_chunk,
    make_chain_chunk_name,
    make_share_manifest,
)
from custody.store import Store

REF = "refs/custody/"


@dataclass(frozen=True, slots=True)
class SharedRef:
    """The content of a reference: its commit, its manifest, and the ids of its files by name."""

    commit: CommitSha
    manifest: ShareManifest
    files: dict[bytes, str]

    @property
    def origins(self) -> list[bytes]:
        """Return the names of the files with origins."""
        return sorted(name for name in self.files if name.startswith(ORIGINS.encode() + b"/"))


def make_chain_ref(store: StoreId) -> str:
    """Return the reference of a store's chain."""
    return f"{REF}{store}"


def read_shared_ref(exchange: Exchange, ref: str, commit: str) -> SharedRef:
    """Read a fetched reference; raise ``InputError`` if custody did not write it."""
    with exchange.objects() as objects:
        sha = CommitSha(commit)
        manifest = decode_share_manifest(read_shared_file(objects, FileAt(sha, RepoPath(ABOUT.encode()))))
    if ref != make_chain_ref(StoreId(manifest.store)):
        raise InputError(f"'{ref}' holds the chain of another store, {manifest.store}", hint="another program wrote it")
    return SharedRef(sha, manifest, exchange.files(sha))


def read_shared_file(objects: ObjectReader[Object], name: str | FileAt) -> bytes:
    """Return the content of an exchanged file."""
    item = objects.read(name)
    if isinstance(item, NoObject) or item.info.kind != "blob":
        reason = item.reason if isinstance(item, NoObject) else "not a file"
        raise InputError(f"'{name}' is {reason}", hint="the shared data is incomplete; ask its owner to push again")
    return item.content


def iterate_chunk_lines(objects: ObjectReader[Object], shared: SharedRef, after: int) -> Iterator[list[bytes]]:
    """Yield the lines of each chunk, from the one that holds the record after ``after``."""
    for number in range(find_chain_chunk(after + 1), find_chain_chunk(shared.manifest.seq) + 1):
        sha = shared.files.get(make_chain_chunk_name(number))
        if sha is None:
            raise InputError(
                f"'{make_chain_chunk_name(number).decode()}' is missing", hint="ask its owner to push again"
            )
        yield read_shared_file(objects, sha).splitlines(keepends=True)


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """The part of a chain to share: up to its ``head``, with texts or without."""

    head: ChainTip
    texts: bool


def commit_shared_chain(
    exchange: Exchange, evidence: AttributionContext, request: ShareRequest, old: SharedRef | None
) -> str | None:
    """Return the commit that shares a chain; None when ``old`` already does."""
    store, head = evidence.store, request.head
    stale = old is not None and _is_share_stale(store, old.manifest, request)
    usable = old if old is not None and not stale and old.manifest.texts == request.texts else None
    files = dict(_write_chain_chunks(exchange, store, request, usable))
    ends = [] if request.texts else evidence.repository.tips()
    if not request.texts:
        files |= _write_shared_origins(exchange, evidence, head.store, ends, usable)
    files[ABOUT.encode()] = exchange.keep(
        encode_share_manifest(make_share_manifest(head, texts=request.texts, tips=list(ends)))
    )
    if old is not None and old.files == files:
        return None
    parents = [old.commit] if old is not None and not stale else []
    message = f"chain {head.store} up to record {head.seq}"
    return exchange.commit(files, parents, message, evidence.workspace.now_ns() // 1_000_000_000)


def _is_share_stale(store: Store, old: ShareManifest, request: ShareRequest) -> bool:
    """Return whether the reference holds data that must be removed."""
    if old.texts and not request.texts:
        return True
    later = store.tables.records(request.head.store, after=old.seq)
    return any(record.entry.kind == ERASED for record in later)


def _write_chain_chunks(
    exchange: Exchange, store: Store, request: ShareRequest, old: SharedRef | None
) -> Iterator[tuple[bytes, str]]:
    chain, end = request.head.store, int(request.head.seq)
    for number in range(find_chain_chunk(end) + 1):
        name, last = make_chain_chunk_name(number), min((number + 1) * CHUNK_RECORDS, end)
        if old is not None and old.manifest.seq >= last and name in old.files:
            yield name, old.files[name]
            continue
        lines = iterate_chain_lines(store, chain, after=number * CHUNK_RECORDS, until=last, texts=request.texts)
        yield name, exchange.keep(b"".join(lines))


def _write_shared_origins(
    exchange: Exchange, evidence: AttributionContext, chain: StoreId, ends: Sequence[CommitSha], old: SharedRef | None
) -> dict[bytes, str]:
    with exchange.objects() as objects:

        def read_old_origins(path: RepoPath) -> bytes | None:
            sha = None if old is None else old.files.get(_make_origins_file_name(path))
            return None if sha is None else read_shared_file(objects, sha)

        before = None if old is None else PreviousOrigins(tuple(map(CommitSha, old.manifest.tips)), read_old_origins)
        origins = build_line_origin_files(evidence, chain, ends, before)
    return {_make_origins_file_name(path): exchange.keep(data) for path, data in origins.items()}


def _make_origins_file_name(path: RepoPath) -> bytes:
    digits = sha256(path.raw).hexdigest()
    return f"{ORIGINS}/{digits[:2]}/{digits[2:]}.json".encode()
