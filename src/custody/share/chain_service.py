"""Chains that a service keeps for others: told of, read in stretches, and gone on with where they end."""

from collections.abc import Iterator, Mapping

from custody.attribution.app.chain_origins import chain_origins, origin_digests, origin_lists, read_origins
from custody.attribution.wire.origins import decode_origins
from custody.core.errors import InputError
from custody.core.ids import PENDING, Digest, RecordRef, Seq, StoreId
from custody.core.paths import RepoPath
from custody.core.record import ChainTip
from custody.core.wire.body import digest_text
from custody.share.chain_exchange import ChainReader, check_origins, make_fork_error, stretch_lines, take
from custody.share.wire.chains import STRETCH_BYTES_MAX, ChainReceipt, ChainState, ChainStates, OriginDigests
from custody.share.wire.export import OriginsLine, decode_line
from custody.share.wire.sharing import decode_about
from custody.store import Store
from custody.workspace.workspace import Workspace


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
