"""Chains as they are shared: stretches of records as lines, checked on arrival, copied verbatim or refused whole."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Literal

from custody.attribution.app.foreign_states import (
    chain_origins,
    drop_origins,
    origin_digests,
    origin_lists,
    origin_named,
    put_origins,
    read_origins,
)
from custody.attribution.wire import FileOrigins, decode_origins, text_keys, unpacked_states
from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, RecordRef, Seq, StoreId, digest_of
from custody.core.paths import RepoPath
from custody.core.record import ChainTip, Damage, DamageCode, Record, find_missing_tail, head_at, misfit
from custody.core.wire.arrival import ERASED
from custody.core.wire.body import VERBATIM, digest_from, digest_text, outline_of, parts, views_from
from custody.core.wire.canonical import dump, parse
from custody.core.wire.report import IntegrityFinding, finding_of
from custody.graph.app.call_chances import shorten_command
from custody.share.wire import (
    STRETCH_BYTES_MAX,
    BodyLine,
    ChainReceipt,
    ChainState,
    ChainStates,
    OriginDigests,
    OriginsLine,
    OutlineLine,
    RecordLine,
    SharedChain,
    ShareOutcome,
    body_line,
    decode_about,
    decode_line,
    encode_line,
    record_from,
    record_line,
    stored_body,
)
from custody.store import Body, CopyResult, Store, read_erased_digest
from custody.workspace.workspace import Workspace

NOT_OURS = "no custody writes this"
UNREADABLE = "UNREADABLE"
"""The code of a finding about data that cannot be read as a chain."""


# --- out --------------------------------------------------------------------------------------------------------------


def stretch_lines(store: Store, chain: StoreId, *, after: int, until: int, texts: bool) -> Iterator[bytes]:
    """The lines of a chain's records from behind ``after`` to ``until``, each with what it says before it."""
    brought: set[Digest] = set()
    for record in takewhile(lambda record: record.seq <= until, store.tables.records(chain, after=after)):
        yield from _iterate_payload(store, record, brought, texts=texts)
        yield encode_line(record_line(record))


def _iterate_payload(store: Store, record: Record, brought: set[Digest], *, texts: bool) -> Iterator[bytes]:
    """What a record says, unless a line before it has brought that."""
    payload = record.entry.digest
    if payload in brought:
        return
    body = store.tables.bodies([payload]).get(payload) or Body(payload, None)
    if body.data is not None and not (texts or record.entry.kind in VERBATIM):
        brought.add(payload)
        yield encode_line(OutlineLine(digest_text(payload), _outline(store, record).decode()))
        return
    if body.data is None and body.outline is not None:
        brought.add(payload)
        yield encode_line(OutlineLine(digest_text(payload), body.outline.decode()))
        return
    held = parts(parse(body.data, bytes_max=len(body.data))) if body.data is not None else frozenset()
    for digest, part in sorted(store.tables.bodies(held - brought).items()):
        brought.add(digest)
        yield encode_line(body_line(digest, part.data))
    brought.add(payload)
    yield encode_line(body_line(payload, body.data))


def _outline(store: Store, record: Record) -> bytes:
    return outline_of(tuple(shorten_command(view) for view in store.views.of(record)))


# --- in ---------------------------------------------------------------------------------------------------------------


class ChainReader:
    """Reads and checks the records of one chain, part by part, behind what the store holds of it.

    Records that are held are passed on too: more may have come of what they say.
    """

    def __init__(self, held: ChainTip, store: Store) -> None:
        self.head = held
        self.damages: list[Damage] = []
        self._held = held
        self._tables = store.tables
        self._recent: dict[Digest, bytes | None] = {}
        self._empty: set[Digest] = set()
        self._erased: set[Digest] = set()
        self._is_forked = False

    def read(self, lines: Iterable[bytes]) -> Iterator[Record | Body]:
        """The records and bodies of a stretch; an ``InputError`` for what is no line of this chain."""
        self._recent.clear()
        for data in lines:
            line = decode_line(data)
            match line:
                case OutlineLine():
                    yield self._outlined(line)
                case BodyLine():
                    yield self._body(line)
                case RecordLine(store=store) if type(line) is RecordLine and store == self._held.store:
                    yield self._record(record_from(line))
                case _:
                    raise InputError("a line that is no part of this chain", hint=NOT_OURS)

    def finish(self, promised: ChainTip) -> list[Damage]:
        """Everything that was wrong, now that all has come that was to lead to ``promised``."""
        for digest in sorted(self._empty - self._erased):
            if not self._tables.is_erased(digest):
                what = f"the bytes of {digest_text(digest)} did not come, and no record says that they were erased"
                self.damages.append(Damage(DamageCode.BODY_MISSING, what))
        if self.head != promised and self.head.seq < promised.seq:
            self.damages.extend(find_missing_tail(self.head, promised))
        elif self.head != promised and not self.damages:
            what = f"chain {promised.store} does not end where it is said to: it was made again or continued"
            self.damages.append(Damage(DamageCode.HEAD_DIFFERS, what))
        return self.damages

    def _outlined(self, line: OutlineLine) -> Body:
        digest, outline = digest_from(line.digest), line.views.encode("utf-8", "surrogatepass")
        if outline_of(views_from(outline)) != outline:
            raise InputError("an outline is not in canonical form", hint=NOT_OURS)
        self._recent[digest] = None
        return Body(digest, None, outline)

    def _body(self, line: BodyLine) -> Body:
        digest, data = stored_body(line)
        self._recent[digest] = data
        if data is None:
            self._empty.add(digest)
        else:
            self.damages.extend(check_bytes(digest, data))
        return Body(digest, data)

    def _record(self, record: Record) -> Record:
        if record.seq > self._held.seq:
            self.damages.extend(misfit(self.head, record))
            self.head = head_at(record)
        elif not self._is_forked and self._differs(record):
            self._is_forked = True  # whatever follows differs too
            self.damages.append(make_fork_error(record))
        self.damages.extend(self._unsaid(record))
        return record

    def _differs(self, record: Record) -> bool:
        """Whether another record has the place that this one claims."""
        there = self._tables.record(record.ref)
        return there is not None and there.link != record.link

    def _unsaid(self, record: Record) -> Iterator[Damage]:
        """What a record names that neither came with it nor is here."""
        payload = self._recent.get(record.entry.digest)
        wanted = {record.entry.digest}
        if payload is not None:
            named, erased = read_payload(payload, record.entry.kind, hint=NOT_OURS)
            wanted |= named
            self._erased |= erased
        for digest in sorted(wanted):
            if digest not in self._recent and not self._tables.held([digest]):
                what = f"record {record.seq} of chain {record.store} names {digest_text(digest)}, which did not come"
                yield Damage(DamageCode.BODY_MISSING, what, record.ref)


def check_bytes(digest: Digest, data: bytes) -> Iterator[Damage]:
    """Yield what is wrong if these are not the bytes of this digest."""
    if digest_of(data) != digest:
        what = f"the bytes of {digest_text(digest)} are not those that were stored"
        yield Damage(DamageCode.BODY_CHANGED, what)


def read_payload(payload: bytes, kind: str, *, hint: str) -> tuple[frozenset[Digest], frozenset[Digest]]:
    """The texts that a record's payload names, and those that it reports as erased; it has to be canonical JSON."""
    value = parse(payload)
    if dump(value) != payload:
        raise InputError("a payload is not in canonical form", hint=hint)
    return parts(value), frozenset(read_erased_digest(value) if kind == ERASED else ())


def own_heads(store: Store) -> list[ChainTip]:
    """The ends of the chains that this store appends to or once appended to, and that hold anything."""
    return [head for head in map(store.tables.head, sorted(store.tables.owned())) if head.seq > 0]


def outcome_of(chains: Iterable[SharedChain]) -> Literal["fine", "found"]:
    """The outcome of sharing these chains: ``found`` when one was refused."""
    return "found" if any(chain.outcome == "refused" for chain in chains) else "fine"


def report_damages(damages: Iterable[Damage]) -> list[IntegrityFinding]:
    """What is wrong, as reports list it."""
    return [finding_of(damage) for damage in damages]


def report_sent(
    head: ChainTip, there: int, outcome: ShareOutcome, *, texts: bool, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    """What became of a chain of ours, of which the other side had ``there`` records."""
    new = max(0, int(head.seq) - there)
    return SharedChain(head.store, int(head.seq), new, texts=texts, outcome=outcome, findings=list(findings))


def report_taken(
    there: ChainTip, here: ChainTip, outcome: ShareOutcome, *, texts: bool, findings: Sequence[IntegrityFinding] = ()
) -> SharedChain:
    """What became of a chain that is shared up to ``there`` and was held up to ``here``."""
    records = there.seq if outcome in ("taken", "same") else here.seq
    new = max(0, there.seq - here.seq) if outcome in ("taken", "waits") else 0
    return SharedChain(there.store, int(records), int(new), texts=texts, outcome=outcome, findings=list(findings))


def make_fork_error(record: Record) -> Damage:
    """That a chain's record at a place is not the one that is here."""
    what = (
        f"record {record.seq} of chain {record.store} is not the one that is here: the chain was forked or made again"
    )
    return Damage(DamageCode.CHAIN_FORK, what, record.ref)


def fork_at(store: Store, head: ChainTip) -> Damage | None:
    """How a chain that is said to have ``head`` contradicts what is held of it."""
    there = store.tables.record(RecordRef(head.store, head.seq)) if head.seq else None
    return make_fork_error(there) if there is not None and there.link != head.link else None


def check_origins(files: Iterable[bytes], head: ChainTip) -> dict[RepoPath, bytes]:
    """Origins of lines as they came, by file, if every one of them can be used for this chain."""
    made: dict[RepoPath, bytes] = {}
    for data in files:
        told = decode_origins(data)
        if any(state.seq > head.seq for state, _, _ in unpacked_states(told)):
            raise InputError(f"origins of '{told.path[:80]}' name records that did not come", hint=NOT_OURS)
        _check_names(told)
        made[RepoPath.of(told.path)] = data
    return made


def _check_names(told: FileOrigins) -> None:
    """An ``InputError`` for origins that could be kept and never adopted: every later question would fail of them."""
    runs = {name for state in told.states for _, name, _ in state.runs}
    for name in runs | {name for like in told.likes for _, _, name, _ in like.lines}:
        origin_named(name, 0.0, lambda _ref, _n: None)
    for state in told.states:
        text_keys(state.brought)


def take(
    store: Store, chain: StoreId, items: Iterable[Record | Body], origins: Mapping[RepoPath, bytes] | None
) -> CopyResult:
    """Copy checked records and what they say, all or none; ``origins`` is None when the texts came."""
    copied = store.copy(items)
    with store.writing():
        store.tables.mark_pulled(chain)
        if origins is None:
            drop_origins(store, chain)
        else:
            put_origins(store, chain, origins)
    return next(iter(copied), CopyResult(chain, 0, 0, 0))


# Chains that a service keeps for others: told of, read in stretches, and gone on with where they end.


class Conflict(InputError):
    """What was sent contradicts the chain that is kept, or does not go on where it ends."""


def held_chains(workspace: Workspace) -> ChainStates:
    """Every chain that is kept."""
    with workspace.reading() as store:
        owned, lists = store.tables.owned(), origin_lists(store)
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        return ChainStates([_report_chain_state(head, owned=head.store in owned, lists=lists) for head in heads])


def _report_chain_state(head: ChainTip, *, owned: bool, lists: Mapping[StoreId, bytes]) -> ChainState:
    listed = lists.get(head.store)
    return ChainState(
        head.store, int(head.seq), head.link.hex(), owned, None if listed is None else digest_text(listed)
    )


def chain_stretch(workspace: Workspace, chain: StoreId, *, after: int, limit: int, texts: bool) -> bytes:
    """The lines of the next records of a chain behind ``after``: at most ``limit``, and not too many bytes."""
    with workspace.reading() as store, store.reading():
        until = min(int(store.tables.head(chain).seq), after + limit)
        return b"".join(_bounded(stretch_lines(store, chain, after=after, until=until, texts=texts)))


def _bounded(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines up to the record with which they become too many bytes."""
    size, waiting = 0, []
    for line in lines:
        waiting.append(line)
        if b'"line":"record"' in line:
            if size and size + sum(map(len, waiting)) > STRETCH_BYTES_MAX:
                return
            size += sum(map(len, waiting))
            yield from waiting
            waiting = []


def origins_held(workspace: Workspace, chain: StoreId) -> OriginDigests:
    """Which origins of a chain are kept."""
    with workspace.reading() as store:
        return OriginDigests({str(path): digest_text(digest) for path, digest in origin_digests(store, chain).items()})


def origins_of(workspace: Workspace, chain: StoreId, digest: Digest) -> bytes | None:
    """What a chain tells of the lines of one file, by its digest."""
    with workspace.reading() as store:
        return read_origins(store, digest) if digest in origin_digests(store, chain).values() else None


def take_stretch(workspace: Workspace, data: bytes) -> ChainReceipt:
    """Append a stretch of somebody's chain, whole or not at all; the same again changes nothing.

    The first line says what is sent, then come records with what they say, then origins of lines.
    """
    first, *lines = data.splitlines(keepends=True) or [b""]
    about = decode_about(first)
    told = [line for line in lines if b'"line":"origins"' in line]
    said = [line for line in lines if b'"line":"origins"' not in line]
    with workspace.writing() as store:
        held = store.tables.head(about.head.store)
        _refuse_ours(store, about.head.store)
        _refuse_fork(store, about.head, held)
        reader = ChainReader(held, store)
        items = list(reader.read(said))
        damages = reader.finish(max(about.head, held, key=lambda head: head.seq))
        if damages:
            conflict = any(damage.code.name in ("CHAIN_FORK", "CHAIN_GAP", "CHAIN_CUT") for damage in damages)
            words = "; ".join(damage.what for damage in damages[:5])
            raise Conflict(words, hint=f"{held.seq} record(s) are kept") if conflict else InputError(words)
        origins = _merged(store, about.head.store, told, reader.head)
        copied = take(store, about.head.store, items, origins)
        head = store.tables.head(about.head.store)
    return ChainReceipt(head.store, int(head.seq), head.link.hex(), copied.new)


def _merged(store: Store, chain: StoreId, lines: list[bytes], head: ChainTip) -> dict[RepoPath, bytes]:
    """All origins of a chain: those that are kept, with those that came in their place; one without states is gone."""
    kept = chain_origins(store, chain)
    came = []
    for data in lines:
        line = decode_line(data)
        if not isinstance(line, OriginsLine) or line.store != chain:
            raise InputError("origins of another chain", hint="send each chain by itself")
        came.append(line.data.encode("utf-8", "surrogatepass"))
    merged = kept | check_origins(came, head)
    return {path: data for path, data in merged.items() if decode_origins(data).states}


def _refuse_ours(store: Store, chain: StoreId) -> None:
    if chain in store.tables.owned():
        raise Conflict("this chain is the service's own", hint="send events to /api/v1/evidence")


def _refuse_fork(store: Store, said: ChainTip, held: ChainTip) -> None:
    """Refuse an end that is held otherwise."""
    there = store.tables.record(RecordRef(said.store, Seq(said.seq))) if said.seq <= held.seq else None
    if there is not None and there.link != said.link:
        raise Conflict(make_fork_error(there).what, hint="whoever owns the chain says which of the two is right")
