"""One chain on its way in from a remote: what its owner signed, what others saw of it, and what is stored already.

May touch the open store of its caller, and ``ssh-keygen`` through the statements that it checks.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct, field

from custody.attribution.app.foreign_states import has_changed_line_origins, list_line_origin_chains
from custody.core.paths import RepoPath
from custody.core.plural import count_noun
from custody.core.record import ChainTip, Damage, Record, empty_chain_tip
from custody.core.wire.head_statement import StatementEnvelope
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts
from custody.ledger.queries import put_prompt_excerpts, read_prompt_excerpts
from custody.share.chain_exchange import (
    ChainReader,
    find_outline_rewrite,
    report_chain_damages,
    report_pulled_chain,
    store_shared_chain,
)
from custody.share.heads import (
    ChainTree,
    OfferedHead,
    check_offered_head,
    describe_key,
    find_excerpts_damage,
    find_origins_damage,
    find_owner_statements,
    find_tree_damage,
    read_chain_links,
)
from custody.share.wire import SharedChain, ShareOutcome
from custody.share.witness import HeadWatch
from custody.signing import SigningError
from custody.store import Body, Store

NO_COUNTERSIGNATURE = "no countersignature: a roll-back would not be noticed"
UNSIGNED = "not signed by its owner: its evidence is self-reported"


class ChainIntake(Struct):
    """A chain that a remote offers, compared with the store."""

    store: Store
    watch: HeadWatch
    offer: OfferedHead
    held: ChainTip
    begin: ChainTip
    """The tip after which records are read: the held one, or none to read everything again."""
    texts: bool
    is_new_statement: bool
    notes: list[str] = field(default_factory=list)
    replaced: dict[int, bytes] = field(default_factory=dict)
    has_changed: bool = False
    """Whether the origins of lines, or the excerpts of prompts, are others than the stored ones."""
    excerpts: bytes = b""
    """The file with excerpts of prompts."""

    @classmethod
    def open(
        cls,
        store: Store,
        watch: HeadWatch,
        tip: ChainTip,
        signed: tuple[StatementEnvelope, bytes] | None,
        *,
        texts: bool,
    ) -> "ChainIntake":
        """Compare the head that a remote offers with the store; raise ``HeadFault`` if its statement is invalid."""
        offer, fault = _read_offer(watch, tip, signed)
        held = store.tables.head(tip.store)
        # Texts were withheld before and are shared now, or outlines came before their owner signed them: read all.
        is_covered = len(store.tables.outline_digests(tip.store)) >= held.seq
        whole = (texts and tip.store in list_line_origin_chains(store)) or (
            offer.statement is not None and not is_covered
        )
        known = [item for _, item in find_owner_statements(store, tip.store)]
        is_new = offer.signed is not None and offer.signed not in known
        begin = empty_chain_tip(tip.store) if whole else held
        intake = cls(store, watch, offer, held, begin, texts, is_new)
        intake.notes += intake._describe_signature(fault)
        return intake

    @property
    def reads_records(self) -> bool:
        """Return whether the remote has records to read."""
        return self.offer.tip.seq > self.begin.seq

    def take_excerpts(self, excerpts: bytes) -> None:
        """Take the excerpts of prompts that came with the chain; raise ``InputError`` if they are not about it."""
        decode_prompt_excerpts(excerpts, self.offer.tip.store)
        self.excerpts = excerpts

    def open_reader(self) -> ChainReader:
        """Return a reader of the records after those that are stored."""
        return ChainReader(self.begin, self.store, self.offer)

    def finish(self, reader: ChainReader, origins: Mapping[RepoPath, bytes] | None) -> list[Damage]:
        """Return all damages of the chain, once it was read."""
        damages = reader.finish(self.offer.tip)
        self.replaced = dict(reader.replaced)
        if damages:
            return damages
        tree = self._find_tree(reader)
        found = (
            find_outline_rewrite(self.store, self.offer),
            None if tree is None else find_tree_damage(self.offer, tree),
            find_origins_damage(self.offer, origins),
            find_excerpts_damage(self.offer, self.excerpts),
            self.watch.find_contradiction(self.store, self.offer, tree),
        )
        return [damage for damage in found if damage is not None]

    def _find_tree(self, reader: ChainReader) -> ChainTree | None:
        """Return the links and outlines of the chain if something has to be compared with them."""
        if not (self.is_new_statement or self.watch.needs_tree(self.store, self.offer)):
            return None
        before = b"" if self.begin.seq == 0 else read_chain_links(self.store, self.begin)
        return ChainTree(before + bytes(reader.links), self.offer.outlines)

    def store_all(self, items: Iterable[Record | Body], origins: Mapping[RepoPath, bytes] | None) -> None:
        """Store the records and bodies, the origins and the statement of the chain, which was checked."""
        chain = self.offer.tip.store
        self.has_changed = origins is not None and has_changed_line_origins(self.store, chain, origins)
        self.has_changed = self.has_changed or read_prompt_excerpts(self.store, chain) != self.excerpts
        store_shared_chain(self.store, self.offer, items, origins, self.replaced)
        with self.store.writing():
            put_prompt_excerpts(self.store, chain, self.excerpts)

    def report_accepted(self, origins: Mapping[RepoPath, bytes] | None, *, dry_run: bool) -> SharedChain:
        """Report the chain as stored, unchanged, or waiting if nothing was to be stored."""
        is_longer = self.offer.tip.seq > self.held.seq
        if dry_run:
            return self.report("waits" if is_longer else "same")
        self.watch.accept(self.offer)
        is_new = is_longer or (self.texts and self.begin != self.held) or self.has_changed
        return self.report("taken" if is_new else "same")

    def report(self, outcome: ShareOutcome, damages: Iterable[Damage] = ()) -> SharedChain:
        """Report the chain with who signed it and who countersigned it."""
        others = self.watch.list_other_signers(self.store, self.offer)
        notes = list(self.notes)
        if not others and self.offer.tip.store not in self.watch.memory and outcome in ("taken", "same"):
            notes.append(NO_COUNTERSIGNATURE)
        return msgspec.structs.replace(
            report_pulled_chain(
                self.offer.tip, self.held, outcome, texts=self.texts, findings=report_chain_damages(damages)
            ),
            signed_by=None if self.offer.signer is None else describe_key(self.offer.signer),
            countersigned_by=sorted(map(describe_key, others)),
            notes=notes if outcome != "refused" else [],
            prompts=0 if outcome == "refused" else len(decode_prompt_excerpts(self.excerpts, self.offer.tip.store)),
        )

    def _describe_signature(self, fault: str | None) -> list[str]:
        """Return what the signature of the head leaves open."""
        statement = self.offer.statement
        if fault is not None:
            return [f"its signature was not checked: {fault}"]
        if statement is None:
            return [UNSIGNED]
        if statement.seq < self.offer.tip.seq:
            count = int(self.offer.tip.seq) - statement.seq
            return [f"its owner did not sign the last {count_noun(count, 'record')}"]
        before = {signed.key for _, signed in find_owner_statements(self.store, statement.head.store)}
        if before and self.offer.signer not in before:
            keys = ", ".join(sorted(map(describe_key, before)))
            return [f"signed by another key than before ({keys}): 'custody.toml' decides which key counts"]
        return []


def _read_offer(
    watch: HeadWatch, tip: ChainTip, signed: tuple[StatementEnvelope, bytes] | None
) -> tuple[OfferedHead, str | None]:
    if signed is None:
        return OfferedHead(tip), None
    try:
        return check_offered_head(watch.workspace, tip, *signed)
    except SigningError as error:
        return OfferedHead(tip), error.message
