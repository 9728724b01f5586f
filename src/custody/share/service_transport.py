"""Chains through a service: sent and fetched in batches, each starting where the other side ends."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.foreign_states import (
    has_changed_line_origins,
    list_line_origin_chains,
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
from custody.core.wire.body import format_digest
from custody.core.wire.report import IntegrityFinding
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_shared_origins,
    find_chain_fork,
    iterate_chain_lines,
    list_own_chain_tips,
    report_chain_damages,
    report_pulled_chain,
    report_pushed_chain,
    store_shared_chain,
    summarize_share_outcome,
)
from custody.share.remote import NamedRemote, RemoteService, ServiceRefusal
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
    ShareOutcome,
    decode_service_answer,
    encode_export_line,
    encode_share_manifest,
    make_share_manifest,
)
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

CHAINS = "/api/v1/chains"
CONFLICT = 409


def push_to_service(
    workspace: Workspace, remote: NamedRemote, *, texts: bool = False, dry_run: bool = False
) -> PushReport:
    """Send every chain that this store appends to or once appended to, starting where the service ends."""
    with workspace.writing():
        pass  # ingests the spool, so that its events are part of the chain
    with RemoteService(remote) as service, open_attribution(workspace) as evidence:
        there = _list_service_chains(service)
        heads = list_own_chain_tips(evidence.store)
        chains = [
            _ChainUpload(service, evidence, head, texts).send(there.get(head.store), dry_run=dry_run) for head in heads
        ]
    return PushReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


@dataclass(frozen=True, slots=True)
class _ChainUpload:
    """One chain that is sent to a service."""

    service: RemoteService
    evidence: AttributionContext
    head: ChainTip
    texts: bool

    def send(self, held: ChainState | None, *, dry_run: bool) -> SharedChain:
        """Send the records and origins that the service lacks."""
        there = empty_chain_tip(self.head.store) if held is None else held.head
        if there.seq > self.head.seq:
            what = f"the service has {there.seq:,} records of this store's chain, more than this store wrote"
            return self._report(there, "refused", [Damage(DamageCode.CHAIN_CUT, what)])
        fork = find_chain_fork(self.evidence.store, there)
        if fork is not None:
            return self._report(there, "refused", [fork])
        origins = self._changed_origins(there)
        if there == self.head and not origins:
            return self._report(there, "same")
        if dry_run:
            return self._report(there, "waits")
        try:
            self._send_all(there, origins)
        except ServiceRefusal as error:
            if error.status != CONFLICT:
                raise
            return self._report(there, "refused", [Damage(DamageCode.CHAIN_FORK, error.message)])
        return self._report(there, "sent")

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

    def _changed_origins(self, there: ChainTip) -> dict[RepoPath, bytes]:
        """Return the origins that the service lacks; a file without origins is sent empty."""
        evidence, chain = self.evidence, self.head.store
        origins = build_line_origin_files(evidence, chain, evidence.repository.tips())
        stored = (
            decode_service_answer(self.service.get(f"{CHAINS}/{chain}/origins"), OriginDigests).files
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

    def _report(self, there: ChainTip, outcome: ShareOutcome, damages: Sequence[Damage] = ()) -> SharedChain:
        return report_pushed_chain(
            self.head, int(there.seq), outcome, texts=self.texts, findings=report_chain_damages(damages)
        )


def pull_from_service(
    workspace: Workspace,
    remote: NamedRemote,
    *,
    texts: bool = False,
    dry_run: bool = False,
    ours: Collection[StoreId] = (),
) -> PullReport:
    """Store every chain of the service that was not written by this store or one of ``ours``."""
    with RemoteService(remote) as service, workspace.writing() as store:
        states = sorted(item for item in _list_service_chains(service).items() if item[0] not in ours)
        chains = [_pull_service_chain(service, store, state, texts=texts, dry_run=dry_run) for _, state in states]
        store.catch_up()
    return PullReport(
        outcome=summarize_share_outcome(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


def _pull_service_chain(
    service: RemoteService, store: Store, state: ChainState, *, texts: bool, dry_run: bool
) -> SharedChain:
    there = state.head
    here = store.tables.head(there.store)
    if there.store in store.tables.list_owned_chains():
        return SharedChain(there.store, int(here.seq), 0, texts=True, outcome="own")
    report = partial(report_pulled_chain, there, here, texts=texts)
    fork = find_chain_fork(store, there)
    if fork is not None:
        return report("refused", findings=report_chain_damages([fork]))
    if there.seq < here.seq:
        return report("behind")
    if dry_run:
        return report("waits" if there.seq > here.seq else "same")
    whole = texts and there.store in list_line_origin_chains(store)
    begin = empty_chain_tip(there.store) if whole else here
    try:
        items, damages = _fetch_chain_records(service, store, there, begin, texts=texts)
        origins = None if texts else _fetch_chain_origins(service, store, there)
    except ServiceRefusal:
        raise
    except InputError as error:
        return report("refused", findings=[IntegrityFinding(UNREADABLE, error.message)])
    if damages:
        return report("refused", findings=report_chain_damages(damages))
    has_changed = origins is not None and has_changed_line_origins(store, there.store, origins)
    is_new = there.seq > here.seq or whole or has_changed
    if is_new:
        store_shared_chain(store, there.store, items, origins)
    return report("taken" if is_new else "same")


def _fetch_chain_records(
    service: RemoteService, store: Store, there: ChainTip, begin: ChainTip, *, texts: bool
) -> tuple[list[Record | Body], list[Damage]]:
    """Fetch and check the records after ``begin``; they stay in memory until the whole chain is checked."""
    reader = ChainReader(begin, store)
    items: list[Record | Body] = []
    while reader.head.seq < there.seq:
        before = reader.head
        count = int(min(BATCH_RECORDS_MAX, there.seq - before.seq))
        query: dict[str, str | int] = {"after": int(before.seq), "limit": count, "texts": str(texts).lower()}
        data = service.get(f"{CHAINS}/{there.store}", query)
        items.extend(reader.read(data.splitlines(keepends=True)))
        if reader.head == before:
            break  # the service has less than it promised: finish reports that
    return items, reader.finish(there)


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


def _list_service_chains(service: RemoteService) -> dict[StoreId, ChainState]:
    return {StoreId(chain.store): chain for chain in decode_service_answer(service.get(CHAINS), ChainStates).chains}


# Answers that include a service's evidence: copied into a separate store, which is then queried like any other.


FOLDER = "remotes"
RECORDS_MAX = 1000
"""Copied from the local store at a time."""


@dataclass(frozen=True)
class CacheWorkspace(Workspace):
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
    _report_skipped_chains(workspace, pull_from_service(cached, remote, ours=ours))
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
