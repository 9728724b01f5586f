"""The shared budget of lines that merge without review: reservations of all clones, by compare-and-swap.

They are under one reference of a git remote, a file each, or in the store of a service.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field

from custody.core.errors import InputError, WorldError
from custody.core.ids import CommitSha, digest_from_bytes
from custody.core.plural import count_noun, noun_for_count
from custody.core.wire.arrival import Arrival
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp, parse_timestamp
from custody.git import BUDGET_REF, Exchange, RemoteMoveError, RemoteUrl
from custody.share.git_transport import read_shared_file
from custody.share.remote import NamedRemote, RemoteService, ServiceRefusal
from custody.share.sync import find_added_service, open_share_exchange, resolve_share_remote
from custody.share.wire import (
    ReservationBody,
    ReservationLine,
    ReservationList,
    decode_reservation,
    decode_service_answer,
    digest_reservation_lines,
    encode_reservation,
    encode_reservation_body,
)
from custody.store import Store
from custody.trust.app.approval_case import list_reservations
from custody.trust.app.approval_decision import EXACT, RESUMES
from custody.trust.app.decision_log import arrival_from_decision
from custody.trust.app.decisions import append_decision
from custody.trust.app.reservations import BudgetLedger, LedgerState, Reservation
from custody.workspace.workspace import Workspace

NS_PER_HOUR = 3_600 * 1_000_000_000
RETAINED_NS = 7 * 24 * NS_PER_HOUR
"""How long a reservation stays under the reference, at least: another clone's window may be longer."""
FILES_MAX = 10_000
"""Reservations under a reference; more are not read."""
JSON_MEDIA = "application/json"
CONFLICT = 409


def open_shared_ledger(workspace: Workspace, name: str) -> BudgetLedger:
    """Return the ledger of a remote: a service that the user added under this name, else a git remote."""
    service = find_added_service(name)
    if service is not None:
        return ServiceLedger(service)
    remote = resolve_share_remote(workspace, name)
    resolve = workspace.repository.resolve_remote_url
    return GitLedger(workspace, open_share_exchange(workspace), resolve(remote.fetch), resolve(remote.push))


# A git remote: the commit under ``refs/custody/budget`` holds a file for each reservation.


class GitLedger(Struct):
    """The reservations under the reference of a git remote."""

    workspace: Workspace
    exchange: Exchange
    fetch_url: RemoteUrl
    push_url: RemoteUrl
    _files: dict[str, Reservation] = field(default_factory=dict)
    _since_ns: int = 0

    def read(self, since_ns: int) -> LedgerState:
        """Return the reservations after a time; ``WorldError`` if the remote lacks one that this clone saw there."""
        self._since_ns = since_ns
        seen = self.exchange.read_known_refs().get(BUDGET_REF)
        refs = self.exchange.fetch(self.fetch_url, [BUDGET_REF])
        commit = refs[0].id if refs else None
        self._files = {} if commit is None else self._read_files(commit)
        before = {} if seen in (None, commit) else self._read_seen_files(str(seen))
        lost = [name for name, known in before.items() if name not in self._files and known.at_ns > since_ns]
        if lost:
            self.exchange.note_ref(BUDGET_REF, str(seen))
            count = f"{count_noun(len(lost), 'reservation')} {noun_for_count(len(lost), 'was', 'were')}"
            raise WorldError(f"{count} removed from '{BUDGET_REF}' of the remote", hint=RESUMES)
        held = [reservation for _, reservation in sorted(self._files.items())]
        within = tuple(reservation for reservation in held if reservation.at_ns > since_ns)
        return LedgerState(within, commit, frozenset(reservation.patch for reservation in held))

    def extend(self, state: LedgerState, added: Sequence[Reservation], now_ns: int) -> bool:
        """Push the reservations; False if somebody else pushed meanwhile."""
        # A store may record a reservation up to one window later than it was made here.
        oldest_ns = min(now_ns - RETAINED_NS, 2 * self._since_ns - now_ns)
        kept = [reservation for reservation in self._files.values() if reservation.at_ns > oldest_ns]
        contents = [encode_reservation(_line_from_reservation(reservation)) for reservation in (*kept, *added)]
        files = {f"{digest_from_bytes(data).hex()}.json".encode(): self.exchange.keep(data) for data in contents}
        message = f"{count_noun(len(files), 'reservation')} of lines that merge without review"
        parents = [] if state.version is None else [state.version]
        commit = self.exchange.commit(files, parents, message, now_ns // 1_000_000_000)
        try:
            self.exchange.push(self.push_url, BUDGET_REF, commit, state.version)
        except RemoteMoveError:
            return False
        return True

    def _read_seen_files(self, commit: str) -> dict[str, Reservation]:
        try:
            return self._read_files(commit)
        except InputError:
            return {}  # the objects of an earlier exchange were deleted; what the remote has counts

    def _read_files(self, commit: str) -> dict[str, Reservation]:
        files = self.exchange.files(CommitSha(commit))
        if len(files) > FILES_MAX:
            raise InputError(f"'{BUDGET_REF}' has {len(files):,} files, over the limit of {FILES_MAX:,}")
        with self.exchange.objects() as objects:
            return {
                name.decode("utf-8", "replace"): _reservation_from_line(
                    decode_reservation(read_shared_file(objects, sha))
                )
                for name, sha in files.items()
            }


def _line_from_reservation(reservation: Reservation) -> ReservationLine:
    return ReservationLine(
        patch=reservation.patch,
        head=reservation.head,
        agent=reservation.agent,
        operator=reservation.operator,
        areas=list(reservation.areas),
        lines=reservation.lines,
        at=format_timestamp(reservation.at_ns),
    )


def _reservation_from_line(line: ReservationLine) -> Reservation:
    return Reservation(
        patch=line.patch,
        head=line.head,
        agent=line.agent,
        operator=line.operator,
        areas=tuple(line.areas),
        lines=line.lines,
        at_ns=parse_timestamp(line.at),
    )


# A service: the client sends what it has read, and the service adds to it only if that is still so.


RESERVATIONS = "/api/v1/reservations"


class ServiceLedger(Struct):
    """The reservations in the store of a service."""

    remote: NamedRemote
    _since: str = ""

    def read(self, since_ns: int) -> LedgerState:
        """Return the reservations after a time."""
        self._since = format_timestamp(since_ns)
        with RemoteService(self.remote) as service:
            data = service.get(RESERVATIONS, {"since": self._since})
        answer = decode_service_answer(data, ReservationList)
        return LedgerState(tuple(map(_reservation_from_line, answer.reservations)), answer.version)

    def extend(self, state: LedgerState, added: Sequence[Reservation], now_ns: int) -> bool:
        """Send the reservations; False if the service has others by now."""
        lines = [_line_from_reservation(reservation) for reservation in added]
        body = ReservationBody(since=self._since, version=state.version or "", reservations=lines)
        try:
            with RemoteService(self.remote) as service:
                service.post(RESERVATIONS, encode_reservation_body(body), JSON_MEDIA)
        except ServiceRefusal as error:
            if error.status != CONFLICT:
                raise
            return False
        return True


# The service's side.


class ReservationConflict(InputError):
    """Other lines were reserved since the caller asked."""


def list_shared_reservations(workspace: Workspace, since: str) -> ReservationList:
    """Return the reservations of a project after a time, and their version."""
    since_ns = parse_timestamp(since)
    with workspace.reading() as store:
        return _list_stored_reservations(store, since_ns)


def accept_shared_reservations(workspace: Workspace, body: ReservationBody, actor: str) -> ReservationList:
    """Record reservations; a ``ReservationConflict`` if others were recorded since the caller read the version."""
    since_ns, now_ns = parse_timestamp(body.since), workspace.now_ns()
    with workspace.writing() as store:

        def look() -> list[Arrival]:
            if _list_stored_reservations(store, since_ns).version != body.version:
                raise ReservationConflict("other lines were reserved meanwhile", hint="read the reservations again")
            make = partial(_arrival_from_line, workspace, actor=actor, now_ns=now_ns)
            return [make(line) for line in body.reservations]

        append_decision(store, look)
        return _list_stored_reservations(store, since_ns)


def _list_stored_reservations(store: Store, since_ns: int) -> ReservationList:
    lines = [_line_from_reservation(reservation) for reservation in list_reservations(store, since_ns)]
    lines.sort(key=encode_reservation)
    return ReservationList(reservations=lines, version=digest_reservation_lines(lines))


def _arrival_from_line(workspace: Workspace, line: ReservationLine, *, actor: str, now_ns: int) -> Arrival:
    """Return the record of a reservation, with the service's own time."""
    fields: dict[str, Json] = {
        "decision": "accepted",
        "unreviewed": True,
        "actor": actor,
        "patch": line.patch,
        "head": line.head,
        "commit": line.head,
        "operator": line.operator,
        "areas": list(line.areas) or None,
        "changed_lines": line.lines,
    }
    id_ = f"reserved:{line.patch}:{workspace.token()}"
    return arrival_from_decision(workspace, line.agent, id_, fields, now_ns, exact=EXACT)
