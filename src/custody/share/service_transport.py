"""Chains through a service: sent and fetched in batches, each starting where the other side ends."""

from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.foreign_states import (
    list_line_origin_digests,
    put_line_origins,
    read_chain_line_origins,
    read_line_origins,
)
from custody.attribution.app.origin_maps import build_line_origin_files
from custody.attribution.wire import FileOrigins, encode_line_origins
from custody.core.errors import InputError, WorldError
from custody.core.ids import PENDING, Seq, StoreId, digest_from_bytes
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Damage, DamageCode, Record, empty_chain_tip
from custody.core.tree_head import TreeHash
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import EVENT_BYTES_MAX, dump_canonical_json
from custody.core.wire.head_statement import (
    ChainHeadStatement,
    StatementEnvelope,
    decode_statement,
    decode_statement_file,
)
from custody.core.wire.prompt_excerpts import decode_prompt_excerpts
from custody.core.wire.report import IntegrityFinding
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_shared_origins,
    find_chain_fork,
    iterate_chain_lines,
    list_own_chain_tips,
    report_chain_damages,
    report_missing_chain,
    report_pulled_chain,
    report_pushed_chain,
    summarize_share_outcome,
)
from custody.share.chain_intake import ChainIntake
from custody.share.heads import (
    HASH_BYTES,
    ChainTree,
    HeadFault,
    OfferedHead,
    describe_key,
    hash_remote_url,
    read_chain_links,
    sign_chain_head,
)
from custody.share.published_prompts import NOT_PUBLISHED, find_prompt_policy, make_published_prompts
from custody.share.remote import ANSWER_BYTES_MAX, NamedRemote, RemoteService, ServiceRefusal
from custody.share.wire import (
    BATCH_BYTES_MAX,
    BATCH_RECORDS_MAX,
    NDJSON,
    ChainReceipt,
    ChainState,
    ChainStates,
    OriginDigests,
    OriginsLine,
    PullReport,
    PushReport,
    SharedChain,
    SharedHead,
    SharedHeads,
    ShareOutcome,
    WitnessEntries,
    decode_outline_digests,
    decode_service_answer,
    encode_export_line,
    encode_share_manifest,
    make_share_manifest,
)
from custody.share.witness import (
    USUAL,
    HeadWatch,
    WitnessOptions,
    find_unproven_extension,
    find_witness_key,
    open_head_watch,
)
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

CHAINS = "/api/v1/chains"
WITNESS = "/api/v1/witness"
JSON = "application/json"
CONFLICT = 409
NOT_OFFERED = (404, 405)
"""The answers of a service of an older version to requests about signed heads."""


def push_to_service(
    workspace: Workspace, remote: NamedRemote, *, texts: bool = False, dry_run: bool = False
) -> PushReport:
    """Send every chain that this store appends to or once appended to, starting where the service ends."""
    with workspace.writing():
        pass  # ingests the spool, so that its events are part of the chain
    with RemoteService(remote) as service, open_attribution(workspace) as evidence:
        there = _list_service_chains(service)
        heads = list_own_chain_tips(evidence.store)
        watch = _open_service_watch(service, workspace, evidence.store, remote)
        policy = NOT_PUBLISHED if texts else find_prompt_policy(workspace, None)
        chains = []
        for head in heads:
            excerpts = make_published_prompts(workspace, evidence.store, head.store, policy)
            upload = _ChainUpload(service, evidence, head, texts, watch, excerpts)
            chains.append(upload.send(there.get(head.store), dry_run=dry_run))
        if not dry_run:
            _countersign_service_heads(service, evidence.store, watch)
    return PushReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


def _open_service_watch(
    service: RemoteService, workspace: Workspace, store: Store, remote: NamedRemote, accepted: Collection[StoreId] = ()
) -> HeadWatch:
    """Return what is known about the heads of a service; an older one has no countersignatures."""
    try:
        entries = decode_statement_file(service.get(WITNESS), WitnessEntries, bytes_max=EVENT_BYTES_MAX).entries
    except ServiceRefusal as error:
        if error.status not in NOT_OFFERED:
            raise
        entries = []
    return open_head_watch(workspace, store, hash_remote_url(remote.url), entries, accepted)


def _countersign_service_heads(service: RemoteService, store: Store, watch: HeadWatch) -> None:
    """Remember the accepted heads, and send our countersignatures to the service; a failure is a warning."""
    with store.writing():
        watch.remember(store)
    key = find_witness_key(watch.workspace) if watch.offers else None
    if key is None:
        return
    try:
        entries = [entry for entry in watch.list_new_entries(store, key) if entry.head is not None]
        if entries:
            service.post(WITNESS, dump_canonical_json(msgspec.to_builtins(WitnessEntries(entries))), JSON)
    except (WorldError, InputError) as error:
        if not (isinstance(error, ServiceRefusal) and error.status in NOT_OFFERED):
            watch.workspace.talk(f"cannot countersign the heads at the service: {error.message}")


class _ChainUpload(Struct, frozen=True):
    """One chain that is sent to a service."""

    service: RemoteService
    evidence: AttributionContext
    head: ChainTip
    texts: bool
    watch: HeadWatch
    excerpts: bytes

    def send(self, held: ChainState | None, *, dry_run: bool) -> SharedChain:
        """Send the records, origins and excerpts that the service lacks, then the signed head."""
        there = empty_chain_tip(self.head.store) if held is None else held.head
        if there.seq > self.head.seq:
            what = f"the service has {there.seq:,} records of this store's chain, more than this store wrote"
            return self._report(there, "refused", [Damage(DamageCode.CHAIN_CUT, what)])
        fork = find_chain_fork(self.evidence.store, there)
        if fork is not None:
            return self._report(there, "refused", [fork])
        origins = build_line_origin_files(self.evidence, self.head.store, self.evidence.repository.tips())
        changed = self._find_changed_origins(there, origins)
        digests = {path: digest_from_bytes(data) for path, data in origins.items()}
        stored_excerpts = _fetch_chain_excerpts(self.service, there)
        if stored_excerpts is None and self.excerpts:
            self.evidence.workspace.talk("the service is too old for excerpts of prompts; none are sent")
            return msgspec.structs.replace(self, excerpts=b"").send(held, dry_run=dry_run)
        offer = sign_chain_head(
            self.evidence.workspace, self.evidence.store, self.head, digests, excerpts=self.excerpts
        )
        damage = self._find_seen_contradiction(offer)
        if damage is not None:
            return self._report(there, "refused", [damage])
        has_excerpts = stored_excerpts is not None and stored_excerpts != self.excerpts
        has_records = there != self.head or bool(changed) or has_excerpts
        stored = self._find_stored_head(offer)
        if dry_run:
            return self._report(there, "waits" if has_records else "same")
        try:
            if has_records:
                self._send_all(there, changed)
            if has_excerpts:
                self.service.post(f"{CHAINS}/{self.head.store}/prompts", self.excerpts, JSON)
            is_head_new = self._send_head(offer, stored)
        except ServiceRefusal as error:
            if error.status != CONFLICT:
                raise
            return self._report(there, "refused", [Damage(DamageCode.CHAIN_FORK, error.message)])
        self.watch.accept(offer)
        return self._report(there, "sent" if has_records or is_head_new else "same", signer=offer.signer)

    def _find_seen_contradiction(self, offer: OfferedHead) -> Damage | None:
        """Return the damage if somebody saw another or a longer state of this chain at the service."""
        store = self.evidence.store
        is_needed = self.watch.needs_tree(store, offer)
        tree = ChainTree(read_chain_links(store, offer.tip), offer.outlines) if is_needed else None
        return self.watch.find_contradiction(store, offer, tree)

    def _find_stored_head(self, offer: OfferedHead) -> SharedHead | None:
        """Return the head that this store signed and that the service has."""
        if offer.signed is None:
            return None
        heads = _fetch_service_heads(self.service, self.head, int(self.head.seq))
        return next((head for head in heads if head.head.key == offer.signer), None)

    def _send_head(self, offer: OfferedHead, stored: SharedHead | None) -> bool:
        """Send the signed head unless the service has it; return whether it was sent."""
        if offer.signed is None or (stored is not None and stored.head == offer.signed):
            return False
        after = 0 if stored is None else decode_statement(stored.head.data, ChainHeadStatement).seq
        digests = b64encode(offer.outlines[after * HASH_BYTES :]).decode()
        shared = SharedHead(offer.signed, after, digests)
        try:
            self.service.post(
                f"{CHAINS}/{self.head.store}/head", dump_canonical_json(msgspec.to_builtins(shared)), JSON
            )
        except ServiceRefusal as error:
            if error.status not in NOT_OFFERED:
                raise
            self.evidence.workspace.talk("the service is too old for signed heads")
            return False
        return True

    def _send_all(self, there: ChainTip, origins: dict[RepoPath, bytes]) -> None:
        self.evidence.workspace.progress.start("sending", int(self.head.seq - there.seq))
        reached = there
        for head, lines in self._iterate_record_batches(there):
            self._post(head, lines)
            self.evidence.workspace.progress.step(int(head.seq - reached.seq))
            reached = head
        batch: list[bytes] = []
        for data in origins.values():
            batch.append(encode_export_line(OriginsLine(self.head.store, data.decode())))
            if sum(map(len, batch)) > BATCH_BYTES_MAX:
                self._post(self.head, batch)
                batch = []
        if batch:
            self._post(self.head, batch)

    def _post(self, head: ChainTip, lines: list[bytes]) -> None:
        manifest = encode_share_manifest(make_share_manifest(head, texts=self.texts, tips=[]))
        receipt = decode_service_answer(self.service.post(CHAINS, manifest + b"".join(lines), NDJSON), ChainReceipt)
        if (receipt.seq, receipt.link) != (int(head.seq), head.link.hex()):
            raise InputError("the service did not store the sent records", hint="push again")

    def _iterate_record_batches(self, there: ChainTip) -> Iterator[tuple[ChainTip, list[bytes]]]:
        """Yield the records that the service lacks, in batches within its limits."""
        store, chain, after = self.evidence.store, self.head.store, int(there.seq)
        while after < self.head.seq:
            lines: list[bytes] = []
            first, size = after, 0
            while after < self.head.seq and after - first < BATCH_RECORDS_MAX and size < BATCH_BYTES_MAX:
                record_lines = list(iterate_chain_lines(store, chain, after=after, until=after + 1, texts=self.texts))
                lines += record_lines
                size += sum(map(len, record_lines))
                after += 1
            record = next(iter(store.tables.records(chain, after=after - 1)))
            yield ChainTip(chain, Seq(after), record.link), lines

    def _find_changed_origins(self, there: ChainTip, origins: Mapping[RepoPath, bytes]) -> dict[RepoPath, bytes]:
        """Return the origins that the service lacks; a file without origins is sent empty."""
        stored = (
            decode_service_answer(self.service.get(f"{CHAINS}/{self.head.store}/origins"), OriginDigests).files
            if there.seq
            else {}
        )
        removed = (RepoPath.of(path) for path in stored if RepoPath.of(path) not in origins)
        changed = {
            path: data
            for path, data in origins.items()
            if stored.get(str(path)) != format_digest(digest_from_bytes(data))
        }
        return changed | {path: encode_line_origins(FileOrigins(1, str(path), [], [])) for path in removed}

    def _report(
        self, there: ChainTip, outcome: ShareOutcome, damages: Sequence[Damage] = (), signer: str | None = None
    ) -> SharedChain:
        chain = report_pushed_chain(
            self.head, int(there.seq), outcome, texts=self.texts, findings=report_chain_damages(damages)
        )
        return msgspec.structs.replace(
            chain,
            signed_by=None if signer is None else describe_key(signer),
            prompts=0 if outcome == "refused" else len(decode_prompt_excerpts(self.excerpts, self.head.store)),
        )


def pull_from_service(
    workspace: Workspace,
    remote: NamedRemote,
    *,
    texts: bool = False,
    dry_run: bool = False,
    ours: Collection[StoreId] = (),
    witness: WitnessOptions = USUAL,
) -> PullReport:
    """Store every chain of the service that was not written by this store or one of ``ours``."""
    with RemoteService(remote) as service, workspace.writing() as store:
        watch = _open_service_watch(service, workspace, store, remote, witness.accepted)
        listed = _list_service_chains(service)
        pull = _ServicePull(service, store, watch, texts, dry_run)
        chains = [pull.take(state) for chain, state in sorted(listed.items()) if chain not in ours]
        missing = watch.find_missing_chains(store, listed.keys())
        chains += [report_missing_chain(store, chain, damage) for chain, damage in missing]
        store.catch_up()
        if not dry_run and witness.countersign:
            _countersign_service_heads(service, store, watch)
        elif not dry_run:
            with store.writing():
                watch.remember(store)
    return PullReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


class _ServicePull(Struct, frozen=True):
    """A pull from a service into an open store."""

    service: RemoteService
    store: Store
    watch: HeadWatch
    texts: bool
    dry_run: bool

    def take(self, state: ChainState) -> SharedChain:
        """Store a chain, or report why it was refused."""
        there, here = state.head, self.store.tables.head(state.head.store)
        fork = find_chain_fork(self.store, there)
        if there.store in self.store.tables.list_owned_chains():
            damage = fork or self.watch.find_later_head(self.store, OfferedHead(there))
            if damage is None:
                return SharedChain(there.store, int(here.seq), 0, texts=True, outcome="own")
            return self._refuse(there, here, IntegrityFinding(damage.code.label, damage.what))
        if fork is not None:
            return self._refuse(there, here, IntegrityFinding(fork.code.label, fork.what))
        try:
            return self._take_shared(there)
        except ServiceRefusal:
            raise
        except HeadFault as error:
            return self._refuse(there, here, IntegrityFinding(error.damage.code.label, error.damage.what))
        except InputError as error:
            return self._refuse(there, here, IntegrityFinding(UNREADABLE, error.message))

    def _refuse(self, there: ChainTip, here: ChainTip, finding: IntegrityFinding) -> SharedChain:
        return report_pulled_chain(there, here, "refused", texts=self.texts, findings=[finding])

    def _take_shared(self, there: ChainTip) -> SharedChain:
        intake = ChainIntake.open(self.store, self.watch, there, self._choose_head(there), texts=self.texts)
        later = self.watch.find_later_head(self.store, intake.offer)
        if later is not None:
            return intake.report("refused", [later])
        unproven = self._find_unproven_extension(intake.offer)
        if unproven is not None:
            return intake.report("refused", [unproven])
        if there.seq < intake.held.seq:
            return intake.report("behind")
        if self.dry_run:
            return intake.report_accepted(None, dry_run=True)
        intake.take_excerpts(_fetch_chain_excerpts(self.service, there) or b"")
        reader = intake.open_reader()
        items = _fetch_chain_records(self.service, reader, there, texts=self.texts)
        origins = None if self.texts else _fetch_chain_origins(self.service, self.store, there)
        damages = intake.finish(reader, origins)
        if damages:
            return intake.report("refused", damages)
        intake.store_all(items, origins)
        return intake.report_accepted(origins, dry_run=False)

    def _find_unproven_extension(self, offer: OfferedHead) -> Damage | None:
        """Return the damage if the service cannot prove, before records are fetched, that a head extends a seen one."""
        earlier = self.watch.find_latest_signed_head(self.store, offer)
        if earlier is None or offer.statement is None:
            return None
        seen, who = earlier
        heads = _fetch_service_heads(self.service, offer.statement.head, offer.statement.seq, seen.seq)
        proof = next((head.proof for head in heads if head.head == offer.signed), None)
        nodes = None if proof is None else [TreeHash(bytes.fromhex(node)) for node in proof]
        return find_unproven_extension(offer, seen, who, nodes)

    def _choose_head(self, there: ChainTip) -> tuple[StatementEnvelope, bytes] | None:
        """Return the signed head by the key that the team lists, or that signed before, and all outline digests."""
        known = b"".join(self.store.tables.outline_digests(there.store))
        after = len(known) // HASH_BYTES
        found = _fetch_service_heads(self.service, there, after)
        heads = {head.head.key: head for head in found}
        key = self.watch.choose_signer(self.store, there.store, heads.keys())
        if key is None:
            return None
        return heads[key].head, known + decode_outline_digests(heads[key].outlines)


def _fetch_service_heads(
    service: RemoteService, tip: ChainTip, after: int, seen: int | None = None
) -> list[SharedHead]:
    """Return the signed heads that a service has of a chain up to ``tip``; none from a service of an older version.

    Each comes with the proof that it extends the first ``seen`` records.
    """
    query: dict[str, str | int] = {"after": after, "until": int(tip.seq)}
    try:
        data = service.get(f"{CHAINS}/{tip.store}/head", query if seen is None else {**query, "from": seen})
    except ServiceRefusal as error:
        if error.status in NOT_OFFERED:
            return []
        raise
    return decode_statement_file(data, SharedHeads, bytes_max=ANSWER_BYTES_MAX).heads


def _fetch_chain_records(
    service: RemoteService, reader: ChainReader, there: ChainTip, *, texts: bool
) -> list[Record | Body]:
    """Fetch the records after those that are stored; they stay in memory until the whole chain is checked."""
    items: list[Record | Body] = []
    while reader.head.seq < there.seq:
        before = reader.head
        count = int(min(BATCH_RECORDS_MAX, there.seq - before.seq))
        query: dict[str, str | int] = {"after": int(before.seq), "limit": count, "texts": str(texts).lower()}
        data = service.get(f"{CHAINS}/{there.store}", query)
        items.extend(reader.read(data.splitlines(keepends=True)))
        if reader.head == before:
            break  # the service has less than it promised: the check at the end reports that
    return items


def _fetch_chain_origins(service: RemoteService, store: Store, there: ChainTip) -> dict[RepoPath, bytes]:
    """Return the chain's origins of lines; files that are already stored are not fetched again."""
    path = f"{CHAINS}/{there.store}/origins"
    digests = decode_service_answer(service.get(path), OriginDigests).files
    stored = list_line_origin_digests(store, there.store)
    files = []
    for name, digest in sorted(digests.items()):
        known = stored.get(RepoPath.of(name))
        if known is not None and format_digest(known) == digest:
            files.append(read_line_origins(store, known))
        else:
            files.append(service.get(path, {"digest": digest}))
    return check_shared_origins(files, there)


def _fetch_chain_excerpts(service: RemoteService, there: ChainTip) -> bytes | None:
    """Return the excerpts of prompts that a service has of a chain; None from a service of an older version."""
    if not there.seq:
        return b""
    try:
        return service.get(f"{CHAINS}/{there.store}/prompts")
    except ServiceRefusal as error:
        if error.status in NOT_OFFERED:
            return None
        raise


def _list_service_chains(service: RemoteService) -> dict[StoreId, ChainState]:
    return {StoreId(chain.store): chain for chain in decode_service_answer(service.get(CHAINS), ChainStates).chains}


# Answers that include a service's evidence: copied into a separate store, which is then queried like any other.


FOLDER = "remotes"
RECORDS_MAX = 1000
"""Copied from the local store at a time."""


class CacheWorkspace(Workspace, frozen=True):
    """A workspace whose store is a copy of a service's evidence, separate from the local store."""

    cache: Path = field(default=Path())

    @property
    def folder_of_project(self) -> Path | None:
        """Return the folder of the copy."""
        return self.cache


def open_remote_cache(workspace: Workspace, remote: NamedRemote) -> CacheWorkspace:
    """Return a workspace with the local evidence and the service's, brought up to date."""
    if workspace.home is None or workspace.database is not None:
        raise InputError("--remote cannot be combined with --database", hint="leave out one of them")
    cached = CacheWorkspace(
        folder=workspace.folder,
        talk=workspace.talk,
        progress=workspace.progress,
        now_ns=workspace.now_ns,
        token=workspace.token,
        spooled=False,
        resources=workspace.resources,
        cache=workspace.home / FOLDER / remote.name,
    )
    try:
        cached.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WorldError(
            f"cannot create '{cached.cache}': {error.strerror}", hint="make the folder writable"
        ) from error
    with workspace.reading() as own, cached.writing() as copy:
        for head in own.tables.chains():
            if head.store != PENDING:
                _copy_own_chain(own, copy, head)
        copy.catch_up()
        ours = own.tables.list_owned_chains()
    _report_skipped_chains(
        workspace, pull_from_service(cached, remote, ours=ours, witness=WitnessOptions(countersign=False))
    )
    return cached


def _copy_own_chain(own: Store, copy: Store, head: ChainTip) -> None:
    """Copy a chain of the local store into the cache, with its texts."""
    begin = copy.tables.head(head.store)
    reader = ChainReader(begin, copy)
    while reader.head.seq < head.seq:
        after = int(reader.head.seq)
        until = min(int(head.seq), after + RECORDS_MAX)
        lines = list(iterate_chain_lines(own, head.store, after=after, until=until, texts=True))
        copy.copy(list(reader.read(lines)))
    with copy.writing():
        if head.store in own.tables.list_owned_chains() or head.store in own.tables.list_pulled_chains():
            copy.tables.mark_pulled(head.store)
        if files := read_chain_line_origins(own, head.store):
            put_line_origins(copy, head.store, files)


def _report_skipped_chains(workspace: Workspace, report: PullReport) -> None:
    for chain in report.chains:
        for finding in chain.findings:
            workspace.talk(f"skipped chain {chain.store} of '{report.remote}': {finding.what}")
