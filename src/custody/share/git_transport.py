"""Chains in git: one reference for each store, its commit a tree of what is said of the chain, chunks and origins.

A full chunk never changes, so a push sends what is new. When a record was erased, or texts are no longer shared, the
next commit has no parent: what is gone is then gone from the reference's history too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.origin_maps import PreviousOrigins, origin_files
from custody.core.errors import InputError
from custody.core.ids import CommitSha, StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip
from custody.core.wire.arrival import ERASED
from custody.git import Exchange, FileAt, NoObject, Object, ObjectReader
from custody.share.chain_exchange import stretch_lines
from custody.share.wire import (
    ABOUT,
    CHUNK_RECORDS,
    ORIGINS,
    ShareManifest,
    about_of,
    chunk_name,
    chunk_of,
    decode_about,
    encode_about,
)
from custody.store import Store

REF = "refs/custody/"


@dataclass(frozen=True, slots=True)
class SharedRef:
    """What a reference holds: its commit, what is said of the chain, and the ids of its files by name."""

    commit: CommitSha
    about: ShareManifest
    files: dict[bytes, str]

    @property
    def origins(self) -> list[bytes]:
        """The names of the files with origins."""
        return sorted(name for name in self.files if name.startswith(ORIGINS.encode() + b"/"))


def ref_of(store: StoreId) -> str:
    """The reference of a store's chain."""
    return f"{REF}{store}"


def read_shared(exchange: Exchange, ref: str, commit: str) -> SharedRef:
    """What a fetched reference holds, or an ``InputError`` that says why it is none of custody's."""
    with exchange.objects() as objects:
        sha = CommitSha(commit)
        about = decode_about(content(objects, FileAt(sha, RepoPath(ABOUT.encode()))))
    if ref != ref_of(StoreId(about.store)):
        raise InputError(f"'{ref}' holds the chain of another store, {about.store}", hint="somebody put it there")
    return SharedRef(sha, about, exchange.files(sha))


def content(objects: ObjectReader[Object], name: str | FileAt) -> bytes:
    """The content of a file that was exchanged."""
    found = objects.read(name)
    if isinstance(found, NoObject) or found.info.kind != "blob":
        reason = found.reason if isinstance(found, NoObject) else "no file"
        raise InputError(f"'{name}' is {reason}", hint="what is shared is not whole; its owner can push again")
    return found.content


def chunk_lines(objects: ObjectReader[Object], shared: SharedRef, after: int) -> Iterator[list[bytes]]:
    """The lines of each chunk from the one on that holds the record behind ``after``."""
    for number in range(chunk_of(after + 1), chunk_of(shared.about.seq) + 1):
        sha = shared.files.get(chunk_name(number))
        if sha is None:
            raise InputError(f"'{chunk_name(number).decode()}' is missing", hint="its owner can push again")
        yield content(objects, sha).splitlines(keepends=True)


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """What to share of a chain: up to its ``head``, with texts or without."""

    head: ChainTip
    texts: bool


def commit_of(
    exchange: Exchange, evidence: AttributionContext, wanted: ShareRequest, old: SharedRef | None
) -> str | None:
    """The commit that shares a chain; None when ``old`` does so already."""
    store, head = evidence.store, wanted.head
    stale = old is not None and _is_stale(store, old.about, wanted)
    usable = old if old is not None and not stale and old.about.texts == wanted.texts else None
    files = dict(_chunks(exchange, store, wanted, usable))
    ends = [] if wanted.texts else evidence.repository.tips()
    if not wanted.texts:
        files |= _origins(exchange, evidence, head.store, ends, usable)
    files[ABOUT.encode()] = exchange.keep(encode_about(about_of(head, texts=wanted.texts, tips=list(ends))))
    if old is not None and old.files == files:
        return None
    parents = [old.commit] if old is not None and not stale else []
    message = f"chain {head.store} up to record {head.seq}"
    return exchange.commit(files, parents, message, evidence.workspace.now_ns() // 1_000_000_000)


def _is_stale(store: Store, old: ShareManifest, wanted: ShareRequest) -> bool:
    """Whether the reference holds something that it must not hold any more."""
    if old.texts and not wanted.texts:
        return True
    later = store.tables.records(wanted.head.store, after=old.seq)
    return any(record.entry.kind == ERASED for record in later)


def _chunks(
    exchange: Exchange, store: Store, wanted: ShareRequest, old: SharedRef | None
) -> Iterator[tuple[bytes, str]]:
    chain, end = wanted.head.store, int(wanted.head.seq)
    for number in range(chunk_of(end) + 1):
        name, last = chunk_name(number), min((number + 1) * CHUNK_RECORDS, end)
        if old is not None and old.about.seq >= last and name in old.files:
            yield name, old.files[name]
            continue
        lines = stretch_lines(store, chain, after=number * CHUNK_RECORDS, until=last, texts=wanted.texts)
        yield name, exchange.keep(b"".join(lines))


def _origins(
    exchange: Exchange, evidence: AttributionContext, chain: StoreId, ends: Sequence[CommitSha], old: SharedRef | None
) -> dict[bytes, str]:
    with exchange.objects() as objects:

        def earlier(path: RepoPath) -> bytes | None:
            sha = None if old is None else old.files.get(_origins_name(path))
            return None if sha is None else content(objects, sha)

        before = None if old is None else PreviousOrigins(tuple(map(CommitSha, old.about.tips)), earlier)
        made = origin_files(evidence, chain, ends, before)
    return {_origins_name(path): exchange.keep(data) for path, data in made.items()}


def _origins_name(path: RepoPath) -> bytes:
    digits = sha256(path.raw).hexdigest()
    return f"{ORIGINS}/{digits[:2]}/{digits[2:]}.json".encode()
