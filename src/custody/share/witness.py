"""Countersignatures: which heads this store and others saw at a remote, and what a remote offers against that.

May touch the store and the repository of the workspace that is passed in, ``ssh-keygen``, and the environment variable
with the key of a witness. Whoever pulls learns from any countersignature that a chain was rolled back, forked or
rewritten, also in a fresh clone.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct, field

from custody.config import TeamPolicy
from custody.core.errors import InputError
from custody.core.ids import Link, Seq, StoreId
from custody.core.patterns import lazy_pattern
from custody.core.record import ChainTip, Damage, DamageCode
from custody.core.tree_head import TreeHash, verify_consistency_proof
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import dump_canonical_json
from custody.core.wire.head_statement import (
    WITNESS_NAMESPACE,
    ChainHeadStatement,
    HeadSighting,
    StatementEnvelope,
    WitnessEntry,
    decode_statement,
    decode_statement_file,
    encode_statement,
)
from custody.core.wire.time import format_timestamp
from custody.share.heads import (
    ChainTree,
    OfferedHead,
    SigningKey,
    check_owner_statement,
    describe_head,
    describe_key,
    find_owner_statements,
    find_repository_fault,
    find_store_key,
    list_repository_roots,
    make_head_fault,
)
from custody.share.queries import (
    SeenHead,
    forget_seen_heads,
    list_seen_heads,
    list_statements,
    put_seen_heads,
    put_statement,
)
from custody.signing import SigningError, allowed_signers_from_key, derive_public_key, find_signer, sign_message
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_team_policy
from custody.workspace.store_key import read_store_public_key
from custody.workspace.workspace import Workspace

WITNESS_KEY_VARIABLE = "CUSTODY_WITNESS_KEY"
"""Environment variable with the file of the key that countersigns, in place of the store's own."""
ENTRY_BYTES_MAX = 64 * 1024
ENTRIES_MAX = 4096
"""Maximum countersignatures that are read from one remote."""
NAME_DIGITS = 32
SEVERAL = 2
_STORE = lazy_pattern(r"[0-9a-f]{32}", re.ASCII)


class Countersignature(Struct, frozen=True):
    """A verified statement that somebody saw a head, with the owner's statement if the head was signed."""

    seen: HeadSighting
    signer: str
    head: ChainHeadStatement | None
    head_key: str | None

    @property
    def as_seen_head(self) -> SeenHead:
        """Return the head as a store remembers it."""
        root = None if self.seen.root is None else TreeHash(bytes.fromhex(self.seen.root))
        signed_ns = None if self.head is None else self.head.at
        tip = self.seen.head
        return SeenHead(tip.store, int(tip.seq), Link(tip.link), root, signed_ns, self.head_key, self.seen.at)


# --- entries ----------------------------------------------------------------------------------------------------------


def encode_witness_entry(entry: WitnessEntry) -> bytes:
    """Return the canonical bytes of a countersignature, as a line."""
    return dump_canonical_json(msgspec.to_builtins(entry)) + b"\n"


def decode_witness_entry(data: bytes) -> WitnessEntry:
    """Decode a countersignature; raise ``InputError`` if it is too large or has another shape."""
    return decode_statement_file(data, WitnessEntry, bytes_max=ENTRY_BYTES_MAX)


def name_witness_entry(chain: str, key: str) -> str:
    """Return the name of the file with a signer's countersignature of a chain."""
    return f"{chain}/{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:NAME_DIGITS]}.json"


def check_witness_entry(entry: WitnessEntry) -> Countersignature:
    """Return a countersignature whose signatures are valid; raise ``InputError`` for any other."""
    seen = decode_statement(entry.seen.data, HeadSighting)
    head = None if entry.head is None else check_owner_statement(entry.head, StoreId(seen.store))
    stated = None if entry.head is None else format_digest(entry.head.digest)
    if seen.statement != stated or (seen.root is None) != (head is None):
        raise InputError("it names another statement than it has")
    if head is not None and (head.head, head.root) != (seen.head, seen.root):
        raise InputError("it differs from the statement of the chain's owner")
    allowed = allowed_signers_from_key(entry.seen.key)
    if find_signer(entry.seen.data, entry.seen.signature, WITNESS_NAMESPACE, allowed) is None:
        raise InputError("its signature is invalid")
    return Countersignature(seen, entry.seen.key, head, None if entry.head is None else entry.head.key)


def find_witness_key(workspace: Workspace) -> SigningKey | None:
    """Return the key that countersigns: the one that the environment names, else that of the store."""
    named = os.environ.get(WITNESS_KEY_VARIABLE)
    if not named:
        return find_store_key(workspace)
    try:
        return SigningKey(Path(named), derive_public_key(Path(named)))
    except SigningError as error:
        workspace.talk(f"cannot use the key in {WITNESS_KEY_VARIABLE}: {error.message}; heads are not countersigned")
        return None


def countersign_head(offer: OfferedHead, repository: tuple[str, ...], key: SigningKey, at_ns: int) -> WitnessEntry:
    """Return a countersignature of a head that was checked."""
    tip = offer.tip if offer.statement is None else offer.statement.head
    seen = HeadSighting(
        1,
        "head-seen",
        repository if offer.statement is None else offer.statement.repository,
        tip.store,
        int(tip.seq),
        tip.link.hex(),
        None if offer.statement is None else offer.statement.root,
        None if offer.signed is None else format_digest(offer.signed.digest),
        at_ns,
    )
    data = encode_statement(seen)
    signature = sign_message(data, key.file, WITNESS_NAMESPACE)
    return WitnessEntry(1, StatementEnvelope(data.decode(), key.public, signature), offer.signed)


class WitnessOptions(Struct, frozen=True):
    """Whether a pull countersigns what it saw, and the chains that it stores whatever was seen of them before."""

    countersign: bool = True
    accepted: frozenset[StoreId] = frozenset()


USUAL = WitnessOptions()


def check_store_id(text: str) -> StoreId:
    """Return ``text`` if it is a store id; raise ``InputError`` otherwise."""
    if not _STORE.fullmatch(text):
        raise InputError(f"invalid store id {text[:80]!a}", hint="a store id has 32 lower-case hex digits")
    return StoreId(text)


# --- watch ------------------------------------------------------------------------------------------------------------


class HeadWatch(Struct):
    """The heads of one remote as this store and those who countersigned them there saw them."""

    workspace: Workspace
    remote: str
    """The hashed URL of the remote."""
    policy: TeamPolicy
    memory: Mapping[StoreId, SeenHead]
    entries: Mapping[StoreId, list[WitnessEntry]]
    accepted: Collection[StoreId] = ()
    """Chains whose earlier heads are forgotten: the user accepts what the remote has."""
    offers: dict[StoreId, OfferedHead] = field(default_factory=dict)
    """The heads that were accepted."""
    _checked: dict[StoreId, list[Countersignature]] = field(default_factory=dict)

    def list_countersignatures(self, store: Store, chain: StoreId) -> list[Countersignature]:
        """Return the valid countersignatures of a chain; a warning names each invalid one."""
        if chain not in self._checked:
            self._checked[chain] = list(self._check_entries(store, chain))
        return self._checked[chain]

    def _check_entries(self, store: Store, chain: StoreId) -> Iterator[Countersignature]:
        verified = frozenset(list_statements(store, chain))
        for entry in self.entries.get(chain, ()):
            try:
                if entry.seen in verified and (entry.head is None or entry.head in verified):
                    yield _read_verified_entry(entry)
                    continue
                found = check_witness_entry(entry)
                fault = find_repository_fault(self.workspace, found.seen.repository)
            except InputError as error:
                what = f"ignored a countersignature of chain {chain} by {describe_key(entry.seen.key)}: {error.message}"
                self.workspace.talk(what)
                continue
            if fault is None:
                yield found

    def find_contradiction(self, store: Store, offer: OfferedHead, tree: ChainTree | None) -> Damage | None:
        """Return the damage if a head does not extend one that was seen at this remote.

        Without the ``tree`` of the chain only later heads, and those at the same position, are compared.
        """
        compared = (_compare_heads(offer, seen, who, tree) for seen, who in self._iterate_seen_heads(store, offer))
        return next((damage for damage in compared if damage is not None), None)

    def find_later_head(self, store: Store, offer: OfferedHead) -> Damage | None:
        """Return the damage if a later head than the offered one was seen at this remote."""
        later = [item for item in self._iterate_seen_heads(store, offer) if item[0].seq > offer.tip.seq]
        if not later:
            return None
        seen, who = max(later, key=lambda item: item[0].seq)
        return _make_rollback_damage(offer.tip.store, describe_head(offer.tip), seen, who)

    def _iterate_seen_heads(self, store: Store, offer: OfferedHead) -> Iterator[tuple[SeenHead, str]]:
        """Yield the heads that count against an offered one, each with who saw it."""
        chain = offer.tip.store
        if chain in self.accepted:
            return
        if chain in self.memory:
            yield self.memory[chain], "this clone"
        for found in self.list_countersignatures(store, chain):
            if self._is_believed(store, found, offer):
                yield found.as_seen_head, self._name_signer(found.signer)

    def find_latest_signed_head(self, store: Store, offer: OfferedHead) -> tuple[SeenHead, str] | None:
        """Return the longest signed head that an offered one must extend, with who saw it; None if there is none."""
        end = 0 if offer.statement is None else offer.statement.seq
        earlier = [item for item in self._iterate_seen_heads(store, offer) if item[0].root and item[0].seq < end]
        return max(earlier, key=lambda item: item[0].seq, default=None)

    def needs_tree(self, store: Store, offer: OfferedHead) -> bool:
        """Return whether some earlier head can only be compared with the links and outlines of the chain."""
        chain = offer.tip.store
        known = [found.as_seen_head for found in self.list_countersignatures(store, chain)]
        known += [self.memory[chain]] if chain in self.memory else []
        here = None if offer.statement is None else offer.statement.tree_root
        return any((seen.seq, seen.link, seen.root) != (offer.tip.seq, offer.tip.link, here) for seen in known)

    def find_missing_chains(self, store: Store, offered: Collection[StoreId]) -> list[tuple[StoreId, Damage]]:
        """Return the damages of chains that were seen at this remote and are not there any more."""
        missing = []
        for chain in sorted((set(self.memory) | set(self.entries)) - {*offered, *self.accepted}):
            known = [(seen, "this clone") for seen in (self.memory.get(chain),) if seen is not None]
            known += [
                (found.as_seen_head, self._name_signer(found.signer))
                for found in self.list_countersignatures(store, chain)
                if found.head is not None or self._is_trusted(found.signer)
            ]
            if known:
                seen, who = max(known, key=lambda item: item[0].seq)
                missing.append((chain, _make_rollback_damage(chain, "no records", seen, who)))
        return missing

    def list_other_signers(self, store: Store, offer: OfferedHead) -> list[str]:
        """Return the keys that countersigned a chain, without its owner's and our own."""
        ours = read_store_public_key(self.workspace.home)
        signers = {found.signer for found in self.list_countersignatures(store, offer.tip.store)}
        return sorted(signers - {ours, offer.signer})

    def choose_signer(self, store: Store, chain: StoreId, keys: Collection[str]) -> str | None:
        """Return the key that counts if several signed a chain: the listed one, or the one that signed it before."""
        listed = self.policy.find_store(chain, self.workspace.now_ns())
        before = {signed.key for _, signed in find_owner_statements(store, chain)}
        preferred = [key for key in ({listed.key} if listed is not None else before) if key in keys]
        if preferred or len(keys) < SEVERAL:
            return min(preferred or keys, default=None)
        names = ", ".join(sorted(map(describe_key, keys)))
        what = f"several keys signed it ({names}): list the right one under [stores] in custody.toml"
        raise make_head_fault(chain, what)

    def accept(self, offer: OfferedHead) -> None:
        """Remember that a head was checked and accepted."""
        self.offers[offer.tip.store] = offer

    def remember(self, store: Store) -> None:
        """Store the accepted heads and the countersignatures of their chains, inside a write."""
        now_ns = self.workspace.now_ns()
        forget_seen_heads(store, self.remote, self.accepted)
        put_seen_heads(store, self.remote, [_make_seen_head(offer, now_ns) for offer in self.offers.values()])
        for chain, offer in self.offers.items():
            for found, entry in self._iterate_checked_entries(chain):
                # A statement by another key than the owner's is not stored: it would look as if the owner made it.
                if found.head_key != offer.signer or found.seen.seq > offer.tip.seq or entry.head is None:
                    continue
                put_statement(store, chain, found.seen.seq, entry.head)
                if found.signer != found.head_key:
                    put_statement(store, chain, found.seen.seq, entry.seen)

    def _iterate_checked_entries(self, chain: StoreId) -> Iterator[tuple[Countersignature, WitnessEntry]]:
        by_statement = {entry.seen.statement: entry for entry in self.entries.get(chain, ())}
        for found in self._checked.get(chain, ()):
            yield found, by_statement[encode_statement(found.seen).decode()]

    def list_new_entries(self, store: Store, key: SigningKey, own: Iterable[OfferedHead] = ()) -> list[WitnessEntry]:
        """Countersign each accepted head, and the ``own`` ones, unless this key already did so at the remote."""
        entries, now_ns = [], self.workspace.now_ns()
        for offer in (*own, *self.offers.values()):
            root = None if offer.statement is None else offer.statement.root
            tip = offer.tip if offer.statement is None else offer.statement.head
            done = {
                (found.seen.head, found.seen.root)
                for found in self.list_countersignatures(store, tip.store)
                if found.signer == key.public
            }
            if (tip, root) not in done:
                entries.append(countersign_head(offer, list_repository_roots(self.workspace), key, now_ns))
        return entries

    def _is_believed(self, store: Store, found: Countersignature, offer: OfferedHead) -> bool:
        """Return whether a countersignature counts against a head: its signer is known, or the owner signed the head.

        A statement by another key than the owner's proves nothing where the owner's key is known.
        """
        if self._is_trusted(found.signer):
            return True
        if found.head_key is None:
            return False
        return found.head_key == offer.signer or not self._is_known_owner(store, offer)

    def _is_trusted(self, signer: str) -> bool:
        listed = any(member.key == signer for member in self.policy.stores.values())
        return listed or signer == read_store_public_key(self.workspace.home)

    def _is_known_owner(self, store: Store, offer: OfferedHead) -> bool:
        """Return whether the key of a head is the one that the team lists, or the one that signed it before."""
        if offer.signer is None:
            return False
        listed = self.policy.find_store(offer.tip.store, self.workspace.now_ns())
        if listed is not None:
            return listed.key == offer.signer
        return bool(find_owner_statements(store, offer.tip.store, offer.signer))

    def _name_signer(self, signer: str) -> str:
        named = [name for name, member in self.policy.stores.items() if member.key == signer]
        return f"{named[0]} ({describe_key(signer)})" if named else describe_key(signer)


def open_head_watch(
    workspace: Workspace,
    store: Store,
    remote: str,
    entries: Iterable[WitnessEntry],
    accepted: Collection[StoreId] = (),
) -> HeadWatch:
    """Return what is known about the heads of a remote."""
    by_chain: dict[StoreId, list[WitnessEntry]] = {}
    for entry in entries:
        try:
            chain = StoreId(decode_statement(entry.seen.data, HeadSighting).store)
        except InputError as error:
            workspace.talk(f"ignored a countersignature by {describe_key(entry.seen.key)}: {error.message}")
            continue
        by_chain.setdefault(chain, []).append(entry)
    memory = list_seen_heads(store, remote)
    return HeadWatch(workspace, remote, load_workspace_team_policy(workspace), memory, by_chain, accepted)


def find_unproven_extension(
    offer: OfferedHead, seen: SeenHead, who: str, proof: Sequence[TreeHash] | None
) -> Damage | None:
    """Return the damage unless ``proof`` shows that a signed head extends one that ``who`` saw."""
    statement = offer.statement
    assert statement is not None and seen.root is not None, "both heads are signed"
    if proof is not None and verify_consistency_proof(seen.seq, seen.root, statement.seq, statement.tree_root, proof):
        return None
    fault = "sent no proof" if proof is None else "cannot prove"
    what = f"{describe_head(statement.head)} of chain {statement.store} extends {_describe_seen_head(seen, who)}"
    return Damage(DamageCode.CHAIN_FORK, f"the remote {fault} that {what}: the chain was forked or rewritten")


def _read_verified_entry(entry: WitnessEntry) -> Countersignature:
    """Return a countersignature with statements that this store verified before."""
    head = None if entry.head is None else decode_statement(entry.head.data, ChainHeadStatement)
    seen = decode_statement(entry.seen.data, HeadSighting)
    return Countersignature(seen, entry.seen.key, head, None if entry.head is None else entry.head.key)


def _make_seen_head(offer: OfferedHead, now_ns: int) -> SeenHead:
    statement = offer.statement
    root = None if statement is None else statement.tree_root
    tip = offer.tip if statement is None else statement.head
    signed_ns = None if statement is None else statement.at
    return SeenHead(tip.store, int(tip.seq), tip.link, root, signed_ns, offer.signer, now_ns)


def _compare_heads(offer: OfferedHead, seen: SeenHead, who: str, tree: ChainTree | None) -> Damage | None:
    """Return the damage if a head does not extend one that ``who`` saw."""
    tip, statement = offer.tip, offer.statement
    if seen.seq > tip.seq:
        return _make_rollback_damage(tip.store, describe_head(tip), seen, who)
    if seen.root is not None and (statement is None or statement.seq < seen.seq):
        what = f"its owner signed it up to {_describe_seen_head(seen, who)}, and now not up to there"
        return Damage(DamageCode.HEAD_SIGNATURE, f"chain {tip.store} ends at {describe_head(tip)}: {what}")
    link = tip.link if tip.seq == seen.seq else None if tree is None else tree.link_at(seen.seq)
    if link is not None and link != seen.link:
        offered = describe_head(ChainTip(tip.store, Seq(seen.seq), link))
        what = f"{_describe_seen_head(seen, who)}: the chain was forked or rewritten"
        return Damage(DamageCode.CHAIN_FORK, f"the remote has {offered} of chain {tip.store}, not {what}")
    if statement is None or seen.root is None:
        return None
    root = statement.tree_root if statement.seq == seen.seq else _find_root(tree, seen.seq)
    if root is not None and root != seen.root:
        what = f"the outlines of chain {tip.store} up to {_describe_seen_head(seen, who)} were rewritten"
        return Damage(DamageCode.OUTLINE_CHANGED, f"{what}: they had root {seen.root.hex()[:8]}, not {root.hex()[:8]}")
    is_older = statement.seq == seen.seq and offer.signer == seen.signer and statement.at < (seen.signed_ns or 0)
    if is_older and seen.signed_ns is not None:
        offered = f"a statement of {format_timestamp(statement.at)}"
        what = f"{offered} about {describe_head(tip)}, but {who} saw one of {format_timestamp(seen.signed_ns)}"
        return Damage(DamageCode.HEAD_ROLLBACK, f"the remote has {what} of chain {tip.store}: it was rolled back")
    return None


def _find_root(tree: ChainTree | None, seq: int) -> TreeHash | None:
    return None if tree is None else tree.roots_at((seq,)).get(seq)


def _make_rollback_damage(chain: StoreId, offered: str, seen: SeenHead, who: str) -> Damage:
    what = f"the remote has chain {chain} up to {offered}, not {_describe_seen_head(seen, who)}"
    return Damage(DamageCode.HEAD_ROLLBACK, f"{what}: it was rolled back")


def _describe_seen_head(seen: SeenHead, who: str) -> str:
    tip = describe_head(ChainTip(seen.store, Seq(seen.seq), seen.link))
    return f"{tip}, which {who} saw at {format_timestamp(seen.seen_ns)}"
