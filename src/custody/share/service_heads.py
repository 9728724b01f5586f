"""Signed heads and countersignatures as a service stores them for others.

May touch the store of the workspace that is passed in, and ``ssh-keygen``.
"""

from base64 import b64encode

from custody.attribution.app.foreign_states import list_line_origin_digests
from custody.core.errors import InputError
from custody.core.ids import PENDING, RecordRef, Seq, StoreId, digest_from_bytes
from custody.core.record import ChainTip, Damage, DamageCode, chain_tip_from_record
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import EVENT_BYTES_MAX
from custody.core.wire.head_statement import (
    ROOT_COMMITS_MAX,
    ChainHeadStatement,
    HeadSighting,
    StatementEnvelope,
    WitnessEntry,
    decode_statement,
    decode_statement_file,
)
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts
from custody.ledger.queries import put_prompt_excerpts, read_prompt_excerpts
from custody.share.chain_exchange import Conflict, find_outline_rewrite, put_offered_outlines, refuse_own_chain
from custody.share.heads import (
    HASH_BYTES,
    ChainTree,
    OfferedHead,
    check_owner_statement,
    describe_head,
    describe_key,
    digest_shared_origins,
    find_owner_statements,
    find_tree_damage,
    read_chain_links,
    sign_chain_head,
)
from custody.share.queries import list_stated_chains, list_statements, put_statement
from custody.share.wire import (
    WITNESS_ENTRIES_MAX,
    SharedHead,
    SharedHeads,
    WitnessEntries,
    WitnessReceipt,
    decode_outline_digests,
)
from custody.share.witness import check_witness_entry, countersign_head, find_witness_key
from custody.signing import SigningError
from custody.store import Store
from custody.workspace.workspace import Workspace

SIGNERS_MAX = 16
"""Keys that may sign the heads of one chain."""


def read_chain_heads(
    workspace: Workspace, chain: StoreId, *, after: int, until: int | None = None, seen: int | None = None
) -> SharedHeads:
    """Return the latest signed head of a chain by each key, with the digests of outlines after record ``after``.

    Each comes with the proof that it extends the chain's first ``seen`` records. The service puts its signature on its
    own chain up to record ``until``, or its end.
    """
    with workspace.reading() as store:
        if chain in store.tables.list_owned_chains():
            _sign_own_head(workspace, store, chain, until)
        digests, end = b"".join(store.tables.outline_digests(chain)), store.tables.head(chain).seq
        latest: dict[str, tuple[ChainHeadStatement, StatementEnvelope]] = {}
        for statement, signed in find_owner_statements(store, chain):
            # A countersignature may tell of a head that was lost here.
            if statement.seq <= (end if until is None else min(end, until)):
                latest.setdefault(signed.key, (statement, signed))
        return SharedHeads(
            [
                SharedHead(
                    signed,
                    after,
                    b64encode(digests[after * HASH_BYTES : statement.seq * HASH_BYTES]).decode(),
                    _prove_extension(store, statement.head, digests, seen),
                )
                for _, (statement, signed) in sorted(latest.items())
            ]
        )


def _prove_extension(store: Store, head: ChainTip, outlines: bytes, seen: int | None) -> list[str] | None:
    """Return the proof that a head extends the first ``seen`` records; None if it does not reach so far."""
    if seen is None or not 0 < seen <= head.seq:
        return None
    tree = ChainTree(read_chain_links(store, head), outlines[: int(head.seq) * HASH_BYTES])
    return [node.hex() for node in tree.prove_extension(seen)]


def _sign_own_head(workspace: Workspace, store: Store, chain: StoreId, until: int | None) -> None:
    """Sign the head of the service's own chain with its key, if it has one."""
    head = store.tables.head(chain)
    record = store.tables.record(RecordRef(chain, Seq(min(int(head.seq), until or int(head.seq)))))
    key = find_witness_key(workspace)
    if record is None or key is None:
        return
    try:
        repository = _list_stated_roots(store, chain)
        sign_chain_head(workspace, store, chain_tip_from_record(record), {}, key, repository)
    except SigningError as error:
        workspace.talk(f"cannot sign the head of the service's chain: {error.message}")


def _list_stated_roots(store: Store, own: StoreId) -> tuple[str, ...]:
    """Return the root commits of the repository of this project, as the owners of its other chains stated them."""
    roots = {
        root
        for chain in list_stated_chains(store)
        if chain != own
        for statement, _ in find_owner_statements(store, chain)
        for root in statement.repository
    }
    return tuple(sorted(roots)[:ROOT_COMMITS_MAX])


def receive_chain_head(workspace: Workspace, chain: StoreId, data: bytes) -> SharedHeads:
    """Store the signed head of a chain if it fits the stored records, outlines and origins; then countersign it."""
    shared = decode_statement_file(data, SharedHead, bytes_max=EVENT_BYTES_MAX)
    statement = check_owner_statement(shared.head, chain)
    with workspace.writing() as store:
        refuse_own_chain(store, chain)
        offer = _make_offer(store, statement, shared)
        for damage in _find_head_damages(store, offer):
            raise Conflict(damage.what, hint="push again; a head is stored after its records and origins")
        put_offered_outlines(store, offer)
        with store.writing():
            put_statement(store, chain, statement.seq, shared.head)
        _countersign_stored_head(workspace, store, offer)
    return read_chain_heads(workspace, chain, after=statement.seq)


def _make_offer(store: Store, statement: ChainHeadStatement, shared: SharedHead) -> OfferedHead:
    """Return the sent head with all of its outline digests; raise ``Conflict`` if it does not fit what is stored."""
    chain, known = statement.head.store, store.tables.outline_digests(statement.head.store)
    signers = {signed.key for _, signed in find_owner_statements(store, chain)} | {shared.head.key}
    if len(signers) > SIGNERS_MAX:
        raise Conflict(f"more than {SIGNERS_MAX} keys signed this chain", hint="ask the operator of the service")
    later = [old for old, _ in find_owner_statements(store, chain, shared.head.key) if old.at > statement.at]
    if later:
        what = f"{describe_key(shared.head.key)} signed {describe_head(later[0].head)} later than this head"
        raise Conflict(what, hint="pull, and check the clock of this machine")
    if shared.after > len(known):
        raise Conflict("outlines are missing", hint=f"send the digests after record {len(known)}")
    digests = b"".join(known[: shared.after]) + decode_outline_digests(shared.outlines)
    if len(digests) != statement.seq * HASH_BYTES:
        raise InputError("a head needs one digest of an outline for each record")
    return OfferedHead(store.tables.head(chain), shared.head, statement, digests)


def _find_head_damages(store: Store, offer: OfferedHead) -> list[Damage]:
    """Return what does not fit between a sent head and the stored chain."""
    statement = offer.statement
    assert statement is not None, "a sent head has a statement"
    if statement.seq > offer.tip.seq:
        what = f"the service has {describe_head(offer.tip)}, and the head is {describe_head(statement.head)}"
        return [Damage(DamageCode.CHAIN_CUT, what)]
    tree = ChainTree(read_chain_links(store, statement.head), offer.outlines)
    found = [find_outline_rewrite(store, offer), find_tree_damage(offer, tree), _find_stored_outline(store, offer)]
    origins = digest_shared_origins(list_line_origin_digests(store, offer.tip.store))
    if statement.seq == offer.tip.seq and format_digest(origins) != statement.origins:
        found.append(Damage(DamageCode.OUTLINE_CHANGED, "the origins of lines are not those that the head covers"))
    return [damage for damage in found if damage is not None]


def _find_stored_outline(store: Store, offer: OfferedHead) -> Damage | None:
    """Return the damage if a stored outline is not the one that a head covers."""
    after = len(store.tables.outline_digests(offer.tip.store))
    for record in store.tables.records(offer.tip.store, after=after):
        expected = offer.digest_at(int(record.seq))
        if expected is None:
            return None
        outline = store.tables.record_outline(record)
        if outline is not None and digest_from_bytes(outline) != expected:
            what = f"the stored outline of record {record.seq} is not the one that the head covers"
            return Damage(DamageCode.OUTLINE_CHANGED, what, RecordRef(record.store, Seq(record.seq)))
    return None


def _countersign_stored_head(workspace: Workspace, store: Store, offer: OfferedHead) -> None:
    """Countersign a head with the key of the service, if it has one."""
    key = find_witness_key(workspace)
    if key is None or offer.statement is None:
        return
    try:
        entry = countersign_head(offer, offer.statement.repository, key, workspace.now_ns())
    except SigningError as error:
        workspace.talk(f"cannot countersign a head: {error.message}")
        return
    with store.writing():
        put_statement(store, offer.tip.store, offer.statement.seq, entry.seen)


def read_chain_excerpts(workspace: Workspace, chain: StoreId) -> bytes:
    """Return the excerpts of prompts that the owner of a chain publishes; empty without any."""
    with workspace.reading() as store:
        return read_prompt_excerpts(store, chain)


def receive_chain_excerpts(workspace: Workspace, chain: StoreId, data: bytes) -> None:
    """Replace the excerpts of prompts of a stored chain; empty data removes them."""
    decode_prompt_excerpts(data, chain)
    with workspace.writing() as store:
        refuse_own_chain(store, chain)
        if not store.tables.head(chain).seq:
            raise Conflict("this chain is not stored", hint="send its records first")
        with store.writing():
            put_prompt_excerpts(store, chain, data)


def list_witness_entries(workspace: Workspace) -> WitnessEntries:
    """Return the latest countersignature of each chain by each key."""
    entries: list[WitnessEntry] = []
    with workspace.reading() as store:
        for chain in list_stated_chains(store):
            statements = list_statements(store, chain)
            by_digest = {format_digest(signed.digest): signed for signed in statements}
            signers = set[str]()
            for signed in statements:
                if b'"type":"head-seen"' in signed.data and signed.key not in signers:
                    named = decode_statement(signed.data, HeadSighting).statement
                    if named is None or named in by_digest:
                        signers.add(signed.key)
                        entries.append(WitnessEntry(1, signed, None if named is None else by_digest[named]))
    return WitnessEntries(entries[:WITNESS_ENTRIES_MAX])


def receive_witness_entries(workspace: Workspace, data: bytes) -> WitnessReceipt:
    """Store valid countersignatures of chains that are stored here, all or none."""
    sent = decode_statement_file(data, WitnessEntries, bytes_max=EVENT_BYTES_MAX)
    with workspace.writing() as store:
        stored = {head.store for head in store.tables.chains() if head.store != PENDING}
        checked = [(check_witness_entry(entry), entry) for entry in sent.entries]
        new = 0
        with store.writing():
            for found, entry in checked:
                chain = found.seen.head.store
                if chain not in stored:
                    raise InputError(f"unknown chain {chain}", hint="send its records first")
                if found.signer == found.head_key:
                    continue  # its own statement says as much
                if found.head_key not in {signed.key for _, signed in find_owner_statements(store, chain)}:
                    raise InputError(f"unknown key of chain {chain}", hint="send its signed head first")
                new += entry.seen not in list_statements(store, chain)
                put_statement(store, chain, found.seen.seq, entry.seen)
                if entry.head is not None:
                    put_statement(store, chain, found.seen.seq, entry.head)
    return WitnessReceipt(new)
