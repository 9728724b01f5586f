"""Heads of chains as their owners sign them when they share, and their check on arrival.

May touch the store of the workspace that is passed in, its repository, and ``ssh-keygen``. Heads are signed by
a push or an export only: a hook never waits for a signature.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.ids import Digest, Link, RecordRef, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.plural import count_noun
from custody.core.record import ChainTip, Damage, DamageCode, Record
from custody.core.tree_head import NO_OUTLINE, GrowingTree, TreeHash, hash_record_leaf, make_consistency_proof
from custody.core.wire.body import VERBATIM, encode_view_outline, format_digest
from custody.core.wire.head_statement import (
    HEAD_NAMESPACE,
    ChainHeadStatement,
    StatementEnvelope,
    decode_statement,
    encode_statement,
    format_key_fingerprint,
    make_head_statement,
)
from custody.core.wire.time import format_timestamp
from custody.graph.app.call_chances import shorten_tool_call_command
from custody.share.queries import list_statements, put_statement
from custody.share.wire import OriginDigests, encode_origin_digests
from custody.signing import SigningError, allowed_signers_from_key, find_signer, sign_message
from custody.store import Store, split_row_batches
from custody.workspace.store_key import KEY_FILE, ensure_store_key
from custody.workspace.workspace import Workspace

HASH_BYTES = 32
AHEAD_NS_MAX = 24 * 3600 * 1_000_000_000
"""How far the clock of another machine may be ahead of ours."""
PAGE = 500


class SigningKey(Struct, frozen=True):
    """A private key in a file, and its public key."""

    file: Path
    public: str


class ChainTree(Struct, frozen=True):
    """The links and outline digests of a chain's first records, each as bytes in order."""

    links: bytes
    outlines: bytes

    def link_at(self, seq: int) -> Link | None:
        """Return the link of a record; None if the chain is shorter."""
        return Link(self.links[(seq - 1) * HASH_BYTES : seq * HASH_BYTES]) if 0 < seq <= self.count else None

    @property
    def count(self) -> int:
        """Return the number of records."""
        return len(self.links) // HASH_BYTES

    def roots_at(self, sizes: Iterable[int]) -> dict[int, TreeHash]:
        """Return the roots over the first records, for each of these counts that the tree reaches."""
        wanted, tree, roots = set(sizes), GrowingTree(), dict[int, TreeHash]()
        for leaf in self._iterate_leaves():
            tree.append(leaf)
            if tree.size in wanted:
                roots[tree.size] = tree.root
        return roots

    def prove_extension(self, size: int) -> list[TreeHash]:
        """Return the proof that this tree extends the one over its first ``size`` records."""
        return make_consistency_proof(list(self._iterate_leaves()), size)

    def _iterate_leaves(self) -> Iterator[TreeHash]:
        for start in range(0, min(len(self.links), len(self.outlines)), HASH_BYTES):
            end = start + HASH_BYTES
            yield hash_record_leaf(Link(self.links[start:end]), Digest(self.outlines[start:end]))


class OfferedHead(Struct, frozen=True):
    """The head of a chain that a remote offers: its owner's statement, if it is signed, and the outline digests."""

    tip: ChainTip
    signed: StatementEnvelope | None = None
    statement: ChainHeadStatement | None = None
    outlines: bytes = b""

    @property
    def signer(self) -> str | None:
        """Return the public key of the owner."""
        return None if self.signed is None else self.signed.key

    def digest_at(self, seq: int) -> Digest | None:
        """Return the signed outline digest of a record; None if the statement does not cover it."""
        found = self.outlines[(seq - 1) * HASH_BYTES : seq * HASH_BYTES]
        return Digest(found) if len(found) == HASH_BYTES else None


# --- signing ----------------------------------------------------------------------------------------------------------


def find_store_key(workspace: Workspace) -> SigningKey | None:
    """Return the key of this store, made if it is missing; None where it cannot have one, with a warning."""
    if workspace.home is None:
        return None
    try:
        return SigningKey(workspace.home / KEY_FILE, ensure_store_key(workspace.home))
    except SigningError as error:
        workspace.talk(f"cannot use the key of this store: {error.message}; heads are not signed")
        return None


def sign_chain_head(  # noqa: PLR0913 - the parts of a statement
    workspace: Workspace,
    store: Store,
    tip: ChainTip,
    origins: Mapping[RepoPath, Digest],
    named: SigningKey | None = None,
    repository: tuple[str, ...] = (),
    excerpts: bytes = b"",
) -> OfferedHead:
    """Return the head of one of our chains, signed with the ``named`` key or the store's; unsigned if neither exists.

    ``excerpts`` is the file of the prompts that are published with it. The same head is signed once: sharing it again
    returns the same statement.
    """
    key = named or find_store_key(workspace)
    if key is None:
        return OfferedHead(tip)
    tree = ChainTree(read_chain_links(store, tip), fix_record_outlines(store, tip))
    root = tree.roots_at((int(tip.seq),))[int(tip.seq)]
    repository = repository or list_repository_roots(workspace)
    known = find_owner_statements(store, tip.store, key.public)
    latest = max((statement.at for statement, _ in known), default=0)
    prompts = digest_from_bytes(excerpts) if excerpts else None
    at_ns = max(workspace.now_ns(), latest)
    made = make_head_statement(tip, root, digest_shared_origins(origins), repository, at_ns, prompts)
    for statement, signed in known:
        if statement == replace(made, at=statement.at):
            return OfferedHead(tip, signed, statement, tree.outlines)
    data = encode_statement(made)
    signed = StatementEnvelope(data.decode(), key.public, sign_message(data, key.file, HEAD_NAMESPACE))
    with store.writing():
        put_statement(store, tip.store, int(tip.seq), signed)
    return OfferedHead(tip, signed, made, tree.outlines)


def list_repository_roots(workspace: Workspace) -> tuple[str, ...]:
    """Return the root commits that identify the repository; none outside one, or in a shallow clone."""
    if workspace.home is None or workspace.repository.list_shallow_commits():
        return ()
    return workspace.once(("root commits", workspace.folder), lambda: tuple(workspace.repository.roots()[:64]))


def digest_shared_origins(origins: Mapping[RepoPath, Digest]) -> Digest:
    """Return the digest over the origins of lines that are shared with a chain."""
    files = {str(path): format_digest(digest) for path, digest in origins.items()}
    return digest_from_bytes(encode_origin_digests(OriginDigests(files)))


def read_chain_links(store: Store, tip: ChainTip) -> bytes:
    """Return the links of a stored chain up to ``tip``."""
    links = bytearray()
    for record in store.tables.records(tip.store):
        if record.seq > tip.seq:
            break
        links += record.link
    return bytes(links)


def fix_record_outlines(store: Store, tip: ChainTip) -> bytes:
    """Return the outline digests of an own chain's records, and fix those that were never shared.

    An outline stays what it was when it was first signed, also when a later version would write another one.
    """
    fixed = store.tables.outline_digests(tip.store)[: int(tip.seq)]
    new: list[tuple[Digest, bytes | None]] = []
    chosen: dict[Digest, tuple[Digest, bytes | None]] = {}
    after = len(fixed)
    for records in split_row_batches(store.tables.records(tip.store, after=after), PAGE):
        covered = [record for record in records if record.seq <= tip.seq]
        earlier = store.tables.outline_digests_of(tip.store, {record.entry.digest for record in covered})
        for record in covered:
            payload = record.entry.digest
            if payload not in chosen:
                chosen[payload] = _choose_record_outline(store, record, earlier.get(payload), fixed)
            new.append(chosen[payload])
        if len(covered) < len(records):
            break
    if new:
        with store.writing():
            store.tables.put_record_outlines(tip.store, after, new)
    return b"".join((*fixed, *(digest for digest, _ in new)))


def _choose_record_outline(
    store: Store, record: Record, earlier: RecordRef | None, fixed: Sequence[Digest]
) -> tuple[Digest, bytes | None]:
    """Return the outline digest of a record, and the outline if it is made from a text that is here."""
    if earlier is not None:
        return fixed[int(earlier.seq) - 1], store.tables.own_outline(earlier)
    body = store.tables.bodies([record.entry.digest]).get(record.entry.digest)
    if body is None or record.entry.kind in VERBATIM:
        return NO_OUTLINE, None
    if body.data is None:
        outline = store.tables.record_outline(record)
        return (NO_OUTLINE if outline is None else digest_from_bytes(outline)), None
    outline = make_record_outline(store, record)
    return digest_from_bytes(outline), outline


def make_record_outline(store: Store, record: Record) -> bytes:
    """Return the outline of a record with its texts: the signed one, or a new one."""
    fixed = store.tables.own_outline(record.ref)
    return fixed or encode_view_outline(
        tuple(shorten_tool_call_command(view) for view in store.views.read_views(record))
    )


def find_owner_statements(
    store: Store, chain: StoreId, key: str | None = None
) -> list[tuple[ChainHeadStatement, StatementEnvelope]]:
    """Return the stored statements of a chain's owner, optionally by one key, the latest position first."""
    return [
        (decode_statement(signed.data, ChainHeadStatement), signed)
        for signed in list_statements(store, chain)
        if (key is None or signed.key == key) and b'"type":"chain-head"' in signed.data
    ]


def find_stored_head(store: Store, tip: ChainTip) -> OfferedHead | None:
    """Return the head of a chain with a stored statement of its owner about exactly this head."""
    outlines = b"".join(store.tables.outline_digests(tip.store)[: int(tip.seq)])
    found = [item for item in find_owner_statements(store, tip.store) if item[0].head == tip]
    if not found or len(outlines) != int(tip.seq) * HASH_BYTES:
        return None
    statement, signed = max(found, key=lambda item: (item[0].at, item[1].key))
    return OfferedHead(tip, signed, statement, outlines)


# --- check ------------------------------------------------------------------------------------------------------------


class HeadFault(InputError):
    """A statement about a head that cannot be believed; the chain is refused."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.what)
        self.damage = damage


def check_owner_statement(signed: StatementEnvelope, chain: StoreId) -> ChainHeadStatement:
    """Return the statement of a chain's owner; raise ``HeadFault`` if it is forged or about another chain."""
    try:
        statement = decode_statement(signed.data, ChainHeadStatement)
    except InputError as error:
        raise make_head_fault(chain, error.message) from error
    if statement.store != chain:
        raise make_head_fault(chain, f"it is about chain {statement.store}")
    allowed = allowed_signers_from_key(signed.key)
    if find_signer(signed.data, signed.signature, HEAD_NAMESPACE, allowed) is None:
        raise make_head_fault(chain, "its signature is invalid")
    return statement


def find_repository_fault(workspace: Workspace, repository: Sequence[str]) -> str | None:
    """Return why a statement cannot be matched with this repository, if it cannot; raise ``InputError`` for another."""
    if workspace.home is None:
        return None
    ours = list_repository_roots(workspace)
    if not ours and workspace.repository.list_shallow_commits():
        return "this clone is shallow: run 'git fetch --unshallow', then pull again"
    if not ours:
        return "this repository has no commits yet"
    if not repository:
        return "it was signed before the repository had a commit"
    if not set(ours) & set(repository):
        raise InputError(
            f"it is about another repository (root commit {repository[0]})", hint="check the URL of the remote"
        )
    return None


def check_offered_head(
    workspace: Workspace, tip: ChainTip, signed: StatementEnvelope, outlines: bytes
) -> tuple[OfferedHead, str | None]:
    """Return the head that a remote offers, and why its statement does not count if it does not.

    Raises ``HeadFault`` for a statement that is forged, about another chain or repository, or dated in the future.
    """
    statement = check_owner_statement(signed, tip.store)
    try:
        fault = find_repository_fault(workspace, statement.repository)
    except InputError as error:
        raise make_head_fault(tip.store, error.message) from error
    if fault is not None:
        return OfferedHead(tip), fault
    if statement.at > workspace.now_ns() + AHEAD_NS_MAX:
        what = f"it was signed at {format_timestamp(statement.at)}, later than now: compare the clocks of both machines"
        raise make_head_fault(tip.store, what)
    if statement.seq > tip.seq or (statement.seq == tip.seq and statement.head != tip):
        what = f"it is about record {statement.seq} (link {statement.link[:8]}), not {describe_head(tip)}"
        raise make_head_fault(tip.store, what)
    if len(outlines) < statement.seq * HASH_BYTES:
        raise make_head_fault(tip.store, f"it covers {count_noun(statement.seq, 'record')}, but outlines are missing")
    return OfferedHead(tip, signed, statement, outlines[: statement.seq * HASH_BYTES]), None


def find_tree_damage(offer: OfferedHead, tree: ChainTree) -> Damage | None:
    """Return the damage if the records of a chain, with their outlines, are not those that its owner signed."""
    statement = offer.statement
    if statement is None:
        return None
    if tree.link_at(statement.seq) != statement.head.link:
        return make_head_fault(offer.tip.store, f"record {statement.seq} has another link").damage
    if tree.roots_at((statement.seq,))[statement.seq] != statement.tree_root:
        what = f"the outlines of chain {offer.tip.store} are not those that its owner signed"
        return Damage(DamageCode.OUTLINE_CHANGED, what)
    return None


def find_origins_damage(offer: OfferedHead, origins: Mapping[RepoPath, bytes] | None) -> Damage | None:
    """Return the damage if received origins of lines are not those that the owner of the chain signed."""
    if offer.statement is None or origins is None or offer.statement.seq < offer.tip.seq:
        return None
    found = digest_shared_origins({path: digest_from_bytes(data) for path, data in origins.items()})
    if format_digest(found) == offer.statement.origins:
        return None
    what = f"the origins of lines of chain {offer.tip.store} are not those that its owner signed"
    return Damage(DamageCode.OUTLINE_CHANGED, f"{what}: ask its owner to push again")


def find_excerpts_damage(offer: OfferedHead, excerpts: bytes) -> Damage | None:
    """Return the damage if received excerpts of prompts are not those that the owner of the chain signed."""
    if offer.statement is None or not excerpts or offer.statement.prompts == format_digest(digest_from_bytes(excerpts)):
        return None
    what = f"the excerpts of prompts of chain {offer.tip.store} are not those that its owner signed"
    return Damage(DamageCode.OUTLINE_CHANGED, f"{what}: ask its owner to push again")


def describe_head(tip: ChainTip) -> str:
    """Return a head for people: its last record and the beginning of its link."""
    return f"record {tip.seq} (link {tip.link.hex()[:8]})"


def describe_key(key: str) -> str:
    """Return a public key for people."""
    return format_key_fingerprint(key)


def hash_remote_url(url: str) -> str:
    """Return the name under which the heads of a remote are remembered; the URL may hold a password."""
    return sha256(url.encode("utf-8", "surrogateescape")).hexdigest()


def make_head_fault(chain: StoreId, what: str) -> HeadFault:
    """Return the error for a statement about a chain that cannot be believed."""
    return HeadFault(
        Damage(DamageCode.HEAD_SIGNATURE, f"the signed statement about chain {chain} cannot be used: {what}")
    )
