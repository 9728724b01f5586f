"""Chains in git: one reference per store; its commit holds a manifest, chunks of records and origins of lines.

A full chunk never changes, so a push sends only new records. After a record was erased, or when texts are no longer
shared, the next commit has no parent: the data is then gone from the reference's history too.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct

from custody.attribution.app.context import AttributionContext
from custody.attribution.app.origin_maps import PreviousOrigins, build_line_origin_files
from custody.core.errors import InputError
from custody.core.ids import CommitSha, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.record import ChainTip
from custody.core.wire.arrival import ERASED
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.head_statement import (
    HeadSighting,
    StatementEnvelope,
    WitnessEntry,
    decode_statement,
    decode_statement_file,
)
from custody.core.wire.prompt_excerpts import EXCERPTS_BYTES_MAX, decode_prompt_excerpts
from custody.git import Exchange, FileAt, NoObject, Object, ObjectReader, RemoteMoveError, RemoteUrl
from custody.share.chain_exchange import iterate_chain_lines
from custody.share.heads import HASH_BYTES, OfferedHead, sign_chain_head
from custody.share.wire import (
    ABOUT,
    CHUNK_RECORDS,
    HEAD_BYTES_MAX,
    HEAD_FILE,
    ORIGINS,
    PROMPTS_FILE,
    ShareManifest,
    decode_share_manifest,
    encode_share_manifest,
    find_chain_chunk,
    make_chain_chunk_name,
    make_outlines_chunk_name,
    make_share_manifest,
)
from custody.share.witness import (
    ENTRIES_MAX,
    ENTRY_BYTES_MAX,
    decode_witness_entry,
    encode_witness_entry,
    name_witness_entry,
)
from custody.store import Store

REF = "refs/custody/"
WITNESS_REF = "refs/custody/witness"
PUSH_ATTEMPTS_MAX = 5
"""How often a push is repeated when another push came first."""
HEX_DIGITS = 2 * HASH_BYTES
OUTLINES_BYTES_MAX = CHUNK_RECORDS * (HEX_DIGITS + 2)
FAULTS_MAX = 10
"""Invalid countersignatures that are named."""


class SharedRef(Struct, frozen=True):
    """The content of a reference: its commit, its manifest, and the ids of its files by name."""

    commit: CommitSha
    manifest: ShareManifest
    files: dict[bytes, str]

    @property
    def is_signed(self) -> bool:
        """Return whether the owner of the chain signed its head."""
        return HEAD_FILE.encode() in self.files

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


def read_signed_head(exchange: Exchange, shared: SharedRef) -> tuple[StatementEnvelope, bytes] | None:
    """Return the signed statement of a chain's owner and its outline digests; None if the head is not signed."""
    if not shared.is_signed:
        return None
    with exchange.objects(HEAD_BYTES_MAX) as objects:
        data = read_shared_file(objects, shared.files[HEAD_FILE.encode()])
    signed = decode_statement_file(data, StatementEnvelope, bytes_max=HEAD_BYTES_MAX)
    with exchange.objects(OUTLINES_BYTES_MAX) as objects:
        numbers = range(find_chain_chunk(shared.manifest.seq) + 1)
        names = [make_outlines_chunk_name(number) for number in numbers]
        if missing := [name for name in names if name not in shared.files]:
            raise InputError(f"'{missing[0].decode()}' is missing", hint="ask its owner to push again")
        lines = b"".join(read_shared_file(objects, shared.files[name]) for name in names).split()
    try:
        digests = b"".join(bytes.fromhex(line.decode("ascii")) for line in lines if len(line) == HEX_DIGITS)
    except ValueError as error:
        raise InputError("cannot read the digests of outlines", hint="ask its owner to push again") from error
    return signed, digests


def read_shared_excerpts(exchange: Exchange, shared: SharedRef) -> bytes:
    """Return the file with the excerpts of prompts of a chain; empty if it has none."""
    sha = shared.files.get(PROMPTS_FILE.encode())
    if sha is None:
        return b""
    with exchange.objects(EXCERPTS_BYTES_MAX) as objects:
        return read_shared_file(objects, sha)


def read_witness_entries(exchange: Exchange, commit: str) -> tuple[list[WitnessEntry], list[str]]:
    """Return the countersignatures of a fetched reference, and what is wrong with the files that are none."""
    entries, faults = [], []
    files = exchange.files(commit)
    if len(files) > ENTRIES_MAX:
        what = f"ignored '{WITNESS_REF}': it has more than {ENTRIES_MAX:,} files"
        return [], [f"{what}; ask an administrator of the remote to delete it"]
    with exchange.objects(ENTRY_BYTES_MAX) as objects:
        for name, sha in sorted(files.items()):
            try:
                entry = decode_witness_entry(read_shared_file(objects, sha))
                if name_witness_entry(decode_statement(entry.seen.data, HeadSighting).store, entry.seen.key) != (
                    name.decode("ascii", "replace")
                ):
                    raise InputError("its name does not match its content")
            except InputError as error:
                faults.append(f"ignored the countersignature {ascii(name)[1:100]}: {error.message}")
            else:
                entries.append(entry)
    return entries, faults[:FAULTS_MAX]


def push_witness_entries(exchange: Exchange, url: RemoteUrl, entries: Sequence[WitnessEntry], now_ns: int) -> None:
    """Add countersignatures to those at the remote; those of others do not change."""
    for attempts_left in reversed(range(PUSH_ATTEMPTS_MAX)):
        refs = exchange.fetch(url, [WITNESS_REF])
        old = refs[0].id if refs else None
        files = {} if old is None else exchange.files(old)
        for entry in entries:
            name = name_witness_entry(decode_statement(entry.seen.data, HeadSighting).store, entry.seen.key)
            files[name.encode()] = exchange.keep(encode_witness_entry(entry))
        commit = exchange.commit(files, [] if old is None else [old], "heads that were seen", now_ns // 1_000_000_000)
        try:
            exchange.push(url, WITNESS_REF, commit, old)
        except RemoteMoveError:
            if not attempts_left:
                raise
            continue  # add them to what is there now
        return


class ShareRequest(Struct, frozen=True):
    """The part of a chain to share: up to its ``head``, with texts or without; ``excerpts`` is the file of prompts."""

    head: ChainTip
    texts: bool
    excerpts: bytes = b""


def commit_shared_chain(
    exchange: Exchange, evidence: AttributionContext, request: ShareRequest, old: SharedRef | None
) -> tuple[str | None, OfferedHead]:
    """Return the commit that shares a chain, None when ``old`` already does, and the signed head."""
    store, head = evidence.store, request.head
    stale = old is not None and (
        _is_share_stale(store, old.manifest, request) or _withdraws_excerpts(exchange, old, request)
    )
    usable = old if old is not None and not stale and old.manifest.texts == request.texts else None
    ends = [] if request.texts else evidence.repository.tips()
    origins = {} if request.texts else _build_shared_origins(exchange, evidence, head.store, ends, usable)
    offer = _sign_shared_head(evidence, request, origins, old)
    # Before the first signature, outlines of an earlier version may be there: they are written again.
    chunks_of = usable if usable is not None and (usable.is_signed or offer.signed is None) else None
    files = dict(_write_chain_chunks(exchange, store, request, chunks_of))
    files |= {_make_origins_file_name(path): exchange.keep(data) for path, data in origins.items()}
    files |= dict(_write_signed_head(exchange, offer))
    if request.excerpts:
        files[PROMPTS_FILE.encode()] = exchange.keep(request.excerpts)
    files[ABOUT.encode()] = exchange.keep(
        encode_share_manifest(make_share_manifest(head, texts=request.texts, tips=list(ends)))
    )
    if old is not None and old.files == files:
        return None, offer
    parents = [old.commit] if old is not None and not stale else []
    message = f"chain {head.store} up to record {head.seq}"
    return exchange.commit(files, parents, message, evidence.workspace.now_ns() // 1_000_000_000), offer


def _is_share_stale(store: Store, old: ShareManifest, request: ShareRequest) -> bool:
    """Return whether the reference holds data that must be removed."""
    if old.texts and not request.texts:
        return True
    later = store.tables.records(request.head.store, after=old.seq)
    return any(record.entry.kind == ERASED for record in later)


def _withdraws_excerpts(exchange: Exchange, old: SharedRef, request: ShareRequest) -> bool:
    """Return whether the reference holds an excerpt that is not shared any more."""
    if PROMPTS_FILE.encode() not in old.files:
        return False
    try:
        before = decode_prompt_excerpts(read_shared_excerpts(exchange, old), request.head.store)
    except InputError:
        return True
    return not set(before) <= set(decode_prompt_excerpts(request.excerpts, request.head.store))


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


def _sign_shared_head(
    evidence: AttributionContext, request: ShareRequest, origins: Mapping[RepoPath, bytes], old: SharedRef | None
) -> OfferedHead:
    head, digests = request.head, {path: digest_from_bytes(data) for path, data in origins.items()}
    offer = sign_chain_head(evidence.workspace, evidence.store, head, digests, excerpts=request.excerpts)
    if offer.signed is None and old is not None and old.is_signed:
        # Others would refuse the chain: without a signature it looks as if another program wrote it.
        raise InputError(
            f"cannot sign the head of chain {head.store}, which was signed before",
            hint="install OpenSSH: custody signs with 'ssh-keygen'",
        )
    return offer


def _write_signed_head(exchange: Exchange, offer: OfferedHead) -> Iterator[tuple[bytes, str]]:
    if offer.signed is None:
        return
    yield HEAD_FILE.encode(), exchange.keep(dump_canonical_json(msgspec.to_builtins(offer.signed)) + b"\n")
    size = CHUNK_RECORDS * HASH_BYTES
    for number in range(find_chain_chunk(int(offer.tip.seq)) + 1):
        digests = offer.outlines[number * size : (number + 1) * size]
        lines = (digests[start : start + HASH_BYTES].hex() for start in range(0, len(digests), HASH_BYTES))
        yield make_outlines_chunk_name(number), exchange.keep("".join(f"{line}\n" for line in lines).encode())


def _build_shared_origins(
    exchange: Exchange, evidence: AttributionContext, chain: StoreId, ends: Sequence[CommitSha], old: SharedRef | None
) -> dict[RepoPath, bytes]:
    with exchange.objects() as objects:

        def read_old_origins(path: RepoPath) -> bytes | None:
            sha = None if old is None else old.files.get(_make_origins_file_name(path))
            return None if sha is None else read_shared_file(objects, sha)

        before = None if old is None else PreviousOrigins(tuple(map(CommitSha, old.manifest.tips)), read_old_origins)
        return build_line_origin_files(evidence, chain, ends, before)


def _make_origins_file_name(path: RepoPath) -> bytes:
    digits = sha256(path.raw).hexdigest()
    return f"{ORIGINS}/{digits[:2]}/{digits[2:]}.json".encode()
