"""Chains through a service: sent in stretches where they end there, taken in stretches where they end here."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.foreign_states import (
    chain_origins,
    have_origins_changed,
    origin_digests,
    origin_lists,
    put_origins,
    read_origins,
)
from custody.attribution.app.origin_maps import origin_files
from custody.attribution.wire import FileOrigins, encode_origins
from custody.core.errors import InputError, WorldError
from custody.core.ids import PENDING, Seq, StoreId, digest_of
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Damage, DamageCode, Record, empty_head
from custody.core.wire.body import digest_text
from custody.core.wire.report import IntegrityFinding
from custody.share.chain_exchange import (
    UNREADABLE,
    ChainReader,
    check_origins,
    fork_at,
    outcome_of,
    own_heads,
    report_damages,
    report_sent,
    report_taken,
    stretch_lines,
    take,
)
from custody.share.remote import NamedRemote, RemoteService, ServiceRefusal
from custody.share.wire import (
    NDJSON,
    STRETCH_BYTES_MAX,
    STRETCH_RECORDS_MAX,
    ChainReceipt,
    ChainState,
    ChainStates,
    OriginDigests,
    OriginsLine,
    PullReport,
    PushReport,
    SharedChain,
    ShareOutcome,
    about_of,
    decode_answer,
    encode_about,
    encode_line,
)
from custody.store import Body, Store
from custody.workspace.workspace import Workspace

CHAINS = "/api/v1/chains"
CONFLICT = 409


def push_service(
    workspace: Workspace, remote: NamedRemote, *, texts: bool = False, dry_run: bool = False
) -> PushReport:
    """Send every chain that this store appends to or once appended to, behind what the service has of it."""
    with workspace.writing():
        pass  # what waits in the spool is part of the chain before it is looked at
    with RemoteService(remote) as service, open_attribution(workspace) as evidence:
        there = _there(service)
        heads = own_heads(evidence.store)
        chains = [
            _ChainUpload(service, evidence, head, texts).sent(there.get(head.store), dry_run=dry_run) for head in heads
        ]
    return PushReport(
        outcome=outcome_of(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


@dataclass(frozen=True, slots=True)
class _ChainUpload:
    """One chain on its way to a service."""

    service: RemoteService
    evidence: AttributionContext
    head: ChainTip
    texts: bool

    def sent(self, held: ChainState | None, *, dry_run: bool) -> SharedChain:
        """Send what the service lacks."""
        there = empty_head(self.head.store) if held is None else held.head
        if there.seq > self.head.seq:
            what = f"the service has {there.seq:,} records of our own chain, more than this store wrote"
            return self._report(there, "refused", [Damage(DamageCode.CHAIN_CUT, what)])
        fork = fork_at(self.evidence.store, there)
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
        for head, lines in self._stretches(there):
            self._post(head, lines)
            self.evidence.workspace.progress.step(int(head.seq - reached.seq))
            reached = head
        batch: list[bytes] = []
        for data in origins.values():
            batch.append(encode_line(OriginsLine(self.head.store, data.decode())))
            if sum(map(len, batch)) > STRETCH_BYTES_MAX:
                self._post(self.head, batch)
                batch = []
        if batch:
            self._post(self.head, batch)

    def _post(self, head: ChainTip, lines: list[bytes]) -> None:
        about = encode_about(about_of(head, texts=self.texts, tips=[]))
        kept = decode_answer(self.service.post(CHAINS, about + b"".join(lines), NDJSON), ChainReceipt)
        if (kept.seq, kept.link) != (int(head.seq), head.link.hex()):
            raise InputError("the service did not keep what it was sent", hint="push again")

    def _stretches(self, there: ChainTip) -> Iterator[tuple[ChainTip, list[bytes]]]:
        """The records that the service lacks, in pieces that it takes at once."""
        store, chain, after = self.evidence.store, self.head.store, int(there.seq)
        while after < self.head.seq:
            lines: list[bytes] = []
            first, size = after, 0
            while after < self.head.seq and after - first < STRETCH_RECORDS_MAX and size < STRETCH_BYTES_MAX:
                record_lines = list(stretch_lines(store, chain, after=after, until=after + 1, texts=self.texts))
                lines += record_lines
                size += sum(map(len, record_lines))
                after += 1
            record = next(iter(store.tables.records(chain, after=after - 1)))
            yield ChainTip(chain, Seq(after), record.link), lines

    def _changed_origins(self, there: ChainTip) -> dict[RepoPath, bytes]:
        """What the service should be told of lines and was not; a file of which nothing is left is told empty."""
        evidence, chain = self.evidence, self.head.store
        made = origin_files(evidence, chain, evidence.repository.tips())
        kept = decode_answer(self.service.get(f"{CHAINS}/{chain}/origins"), OriginDigests).files if there.seq else {}
        gone = (RepoPath.of(path) for path in kept if RepoPath.of(path) not in made)
        fresh = {path: data for path, data in made.items() if kept.get(str(path)) != digest_text(digest_of(data))}
        return fresh | {path: encode_origins(FileOrigins(1, str(path), [], [])) for path in gone}

    def _report(self, there: ChainTip, outcome: ShareOutcome, damages: Sequence[Damage] = ()) -> SharedChain:
        return report_sent(self.head, int(there.seq), outcome, texts=self.texts, findings=report_damages(damages))


def pull_service(
    workspace: Workspace,
    remote: NamedRemote,
    *,
    texts: bool = False,
    dry_run: bool = False,
    ours: Collection[StoreId] = (),
) -> PullReport:
    """Take every chain that the service has and that is not our own, be it in this store or one of ``ours``."""
    with RemoteService(remote) as service, workspace.writing() as store:
        there_are = sorted(item for item in _there(service).items() if item[0] not in ours)
        chains = [_take_chain(service, store, held, texts=texts, dry_run=dry_run) for _, held in there_are]
        store.catch_up()
    return PullReport(
        outcome=outcome_of(chains), remote=remote.name, transport="service", dry_run=dry_run, chains=chains
    )


def _take_chain(service: RemoteService, store: Store, held: ChainState, *, texts: bool, dry_run: bool) -> SharedChain:
    there = held.head
    here = store.tables.head(there.store)
    if there.store in store.tables.owned():
        return SharedChain(there.store, int(here.seq), 0, texts=True, outcome="own")
    report = partial(report_taken, there, here, texts=texts)
    fork = fork_at(store, there)
    if fork is not None:
        return report("refused", findings=report_damages([fork]))
    if there.seq < here.seq:
        return report("behind")
    if dry_run:
        return report("waits" if there.seq > here.seq else "same")
    whole = texts and there.store in origin_lists(store)
    begin = empty_head(there.store) if whole else here
    try:
        items, damages = _fetched(service, store, there, begin, texts=texts)
        origins = None if texts else _origins(service, store, there)
    except ServiceRefusal:
        raise
    except InputError as error:
        return report("refused", findings=[IntegrityFinding(UNREADABLE, error.message)])
    if damages:
        return report("refused", findings=report_damages(damages))
    has_changed = origins is not None and have_origins_changed(store, there.store, origins)
    is_new = there.seq > here.seq or whole or has_changed
    if is_new:
        take(store, there.store, items, origins)
    return report("taken" if is_new else "same")


def _fetched(
    service: RemoteService, store: Store, there: ChainTip, begin: ChainTip, *, texts: bool
) -> tuple[list[Record | Body], list[Damage]]:
    """The records behind ``begin``, checked; a chain is held in memory until it is known to be whole."""
    reader = ChainReader(begin, store)
    items: list[Record | Body] = []
    while reader.head.seq < there.seq:
        before = reader.head
        count = int(min(STRETCH_RECORDS_MAX, there.seq - before.seq))
        words: dict[str, str | int] = {"after": int(before.seq), "limit": count, "texts": str(texts).lower()}
        data = service.get(f"{CHAINS}/{there.store}", words)
        items.extend(reader.read(data.splitlines(keepends=True)))
        if reader.head == before:
            break  # the service promises more than it has: finish says so
    return items, reader.finish(there)


def _origins(service: RemoteService, store: Store, there: ChainTip) -> dict[RepoPath, bytes]:
    """What the chain tells of lines; a file that is here as it is there is not fetched again."""
    path = f"{CHAINS}/{there.store}/origins"
    told = decode_answer(service.get(path), OriginDigests).files
    kept = origin_digests(store, there.store)
    files = []
    for name, digest in sorted(told.items()):
        known = kept.get(RepoPath.of(name))
        same = known is not None and digest_text(known) == digest
        if same and known is not None:
            files.append(read_origins(store, known))
        else:
            files.append(service.get(path, {"digest": digest}))
    return check_origins(files, there)


def _there(service: RemoteService) -> dict[StoreId, ChainState]:
    return {StoreId(chain.store): chain for chain in decode_answer(service.get(CHAINS), ChainStates).chains}


# Answers from a service's evidence beside our own: copied into a store apart, which answers as any other does.


FOLDER = "remotes"
RECORDS_MAX = 1000
"""Copied from our own store at a time."""


@dataclass(frozen=True)
class CacheWorkspace(Workspace):
    """A workspace whose store is the copy of a service's evidence; nothing of it is ever mixed into our own."""

    cache: Path = field(default=Path())

    @property
    def folder_of_project(self) -> Path | None:
        """Where the copy lies."""
        return self.cache


def cached(workspace: Workspace, remote: NamedRemote) -> CacheWorkspace:
    """A workspace with everything that is here and everything that the service has, brought up to date."""
    if workspace.home is None or workspace.database is not None:
        raise InputError("a team database is asked as it is", hint="leave out --remote, or --database")
    made = CacheWorkspace(
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
        made.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WorldError(f"cannot make '{made.cache}': {error.strerror}", hint="make the folder writable") from error
    with workspace.reading() as own, made.writing() as copy:
        for head in own.tables.chains():
            if head.store != PENDING:
                _copied(own, copy, head)
        copy.catch_up()
        ours = own.tables.owned()
    _report_skipped_chains(workspace, pull_service(made, remote, ours=ours))
    return made


def _copied(own: Store, copy: Store, head: ChainTip) -> None:
    """Bring a chain of our own store into the copy, texts and all."""
    begin = copy.tables.head(head.store)
    reader = ChainReader(begin, copy)
    while reader.head.seq < head.seq:
        after = int(reader.head.seq)
        until = min(int(head.seq), after + RECORDS_MAX)
        lines = list(stretch_lines(own, head.store, after=after, until=until, texts=True))
        copy.copy(list(reader.read(lines)))
    with copy.writing():
        if head.store in own.tables.owned() or head.store in own.tables.pulled():
            copy.tables.mark_pulled(head.store)
        if files := chain_origins(own, head.store):
            put_origins(copy, head.store, files)


def _report_skipped_chains(workspace: Workspace, report: PullReport) -> None:
    for chain in report.chains:
        for finding in chain.findings:
            workspace.talk(f"chain {chain.store} of '{report.remote}' was left out: {finding.what}")
