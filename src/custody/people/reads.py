"""Who read which hunks of a change: record it, and list it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import EventId
from custody.core.paths import RepoPath
from custody.core.views import HunkRead
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp
from custody.dupes.app.patch_identity import IdentifiedHunk, list_identified_hunks
from custody.git import FileDiff
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.people.queries import find_hunk_reads
from custody.people.read_assurance import EVENT_PREFIX, rate_hunk_read
from custody.people.wire import HunkReader, HunkReadState, ReadReport, ReadVia
from custody.store import ObservedView, Store
from custody.trust.app.decision_assurance import DecisionPolicy, list_commit_people, load_decision_policy
from custody.workspace.change import ChangeRange, resolve_change_range
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

HUNK_DIGITS_MIN = 6
"""The least digits that identify a hunk of a change."""
NAME_CHARACTERS_MAX = 200
HUNKS_MAX = 20_000
"""Maximum hunks of one change that are recorded at once."""


class ChangedHunk(Struct, frozen=True):
    """A hunk of a change with its file."""

    path: RepoPath
    hunk: IdentifiedHunk


class ReadRequest(Struct, frozen=True, kw_only=True):
    """The hunks of ``BASE..HEAD`` that a person read: named by identity or path, or all of them.

    ``host_account`` approved the change, as the code host itself reported.
    """

    change: str
    hunks: Sequence[str] = ()
    paths: Sequence[str] = ()
    is_whole: bool = False
    person: str | None = None
    via: ReadVia = "command"
    host_account: str | None = None


def list_changed_hunks(files: Iterable[FileDiff]) -> list[ChangedHunk]:
    """Return the hunks of a change in the order of its files and lines."""
    return [ChangedHunk(file.change.path, hunk) for file in files for hunk in list_identified_hunks(file)]


def find_recorded_reads(store: Store, hunks: Iterable[str]) -> list[ObservedView[HunkRead]]:
    """Return what was recorded about these hunks, oldest first."""
    return find_hunk_reads(store, hunks)


def record_reads(workspace: Workspace, request: ReadRequest) -> ReadReport:
    """Record that a person read hunks of a change, each once; raise an ``InputError`` for a hunk it does not have."""
    change = resolve_change_range(workspace.repository, request.change)
    chosen = _choose_hunks(list_changed_hunks(change.files), request)
    with workspace.writing() as store:
        made = _append_reads(workspace, store, change, chosen, request)
        return _report_reads(workspace, store, change, recorded=made)


def list_change_reads(workspace: Workspace, name: str) -> ReadReport:
    """Return the hunks of a change with the people who read them."""
    change = resolve_change_range(workspace.repository, name)
    with workspace.reading() as store:
        return _report_reads(workspace, store, change, recorded=0)


def find_hunk_readers(
    workspace: Workspace, store: Store, hunks: Iterable[str], change: ChangeRange
) -> Mapping[str, list[HunkReader]]:
    """Return who read each of these hunks of a change, the first reader first."""
    policy = load_decision_policy(workspace, store)
    return report_hunk_readers(find_hunk_reads(store, hunks), policy, list_commit_people(change.commits))


def report_hunk_readers(
    reads: Iterable[ObservedView[HunkRead]], policy: DecisionPolicy, involved: frozenset[str]
) -> dict[str, list[HunkReader]]:
    """Return the readers of each hunk: each person once, by the record with the best assurance, else the first."""
    best: dict[tuple[str, str], tuple[int, ObservedView[HunkRead]]] = {}
    for read in reads:
        rank = rate_hunk_read(read, policy, involved).rank
        key = (read.view.hunk, read.view.person)
        if key not in best or rank > best[key][0]:
            best[key] = (rank, read)
    readers: defaultdict[str, list[HunkReader]] = defaultdict(list)
    for (hunk, _), (_, read) in sorted(best.items(), key=lambda item: (item[1][1].view.at_ns, item[0])):
        readers[hunk].append(_reader_from_view(read, policy, involved))
    return readers


def _reader_from_view(read: ObservedView[HunkRead], policy: DecisionPolicy, involved: frozenset[str]) -> HunkReader:
    view = read.view
    return HunkReader(
        person=view.person,
        at=format_timestamp(view.at_ns),
        via=view.via,
        assurance=rate_hunk_read(read, policy, involved).value,
        head=view.head,
        record=str(read.record.ref),
    )


def check_person_name(workspace: Workspace, person: str) -> None:
    """Raise an ``InputError`` for an empty name, or one that would be redacted."""
    if not person.strip():
        raise InputError("the person has no name", hint="pass --actor")
    if not person.isprintable() or len(person) > NAME_CHARACTERS_MAX:
        raise InputError(
            "the person's name has characters that cannot be shown, or too many", hint="pass another name with --actor"
        )
    if redact_event_payload({"person": person}, lambda: open_redaction_key(workspace)).get("person") != person:
        raise InputError("the person's name looks like a secret", hint="pass another name with --actor")


def _choose_hunks(every: Sequence[ChangedHunk], request: ReadRequest) -> list[ChangedHunk]:
    """Return the named hunks of a change, in its order."""
    if len(every) > HUNKS_MAX:
        raise InputError(f"the change has {len(every):,} hunks", hint=f"at most {HUNKS_MAX:,} can be marked at once")
    if request.is_whole:
        return list(every)
    if not request.hunks and not request.paths:
        raise InputError("no hunk to mark as read", hint="name hunks or paths, or all of them with --all")
    chosen = {hunk for name in request.hunks for hunk in _match_hunk(every, name)}
    chosen |= {hunk for path in request.paths for hunk in _match_path(every, path)}
    return [changed for changed in every if changed.hunk.id in chosen]


def _match_hunk(every: Sequence[ChangedHunk], name: str) -> Iterator[str]:
    ids = {changed.hunk.id for changed in every}
    matches = {name} & ids or {known for known in ids if len(name) >= HUNK_DIGITS_MIN and known.startswith(name)}
    if not matches:
        raise InputError(f"the change has no hunk '{name[:80]}'", hint="'custody read CHANGE' lists its hunks")
    if len(matches) > 1:
        raise InputError(f"'{name[:80]}' matches {len(matches)} hunks", hint="pass more digits")
    yield from matches


def _match_path(every: Sequence[ChangedHunk], path: str) -> Iterator[str]:
    matches = [changed.hunk.id for changed in every if changed.path.display == path or str(changed.path) == path]
    if not matches:
        raise InputError(f"the change does not touch '{path[:200]}'", hint="paths are relative to the repository root")
    yield from matches


def _append_reads(
    workspace: Workspace, store: Store, change: ChangeRange, chosen: Sequence[ChangedHunk], request: ReadRequest
) -> int:
    """Append a record for each hunk that this person has no record of yet, and return their number."""
    person = request.person or machine_user_name()
    check_person_name(workspace, person)

    def look() -> Sequence[Arrival]:
        reads = find_hunk_reads(store, [changed.hunk.id for changed in chosen])
        known = {
            (read.view.hunk, read.view.person, read.view.witness is not None)
            for read in reads
            if read.record.entry.event.startswith(EVENT_PREFIX)
        }
        return [
            _arrival_from_read(workspace, change, changed, person, request)
            for changed in chosen
            if (changed.hunk.id, person, request.host_account is not None) not in known
        ]

    return len(store.append_from(look).made)


def _arrival_from_read(
    workspace: Workspace, change: ChangeRange, changed: ChangedHunk, person: str, request: ReadRequest
) -> Arrival:
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "read",
        "id": workspace.token(),
        "at": format_timestamp(workspace.now_ns()),
        "person": person,
        "hunk": changed.hunk.id,
        "path": str(changed.path),
        "head_commit": change.head,
        "base": change.fork,
        "via": request.via,
    }
    if request.host_account is not None:
        event["witness"] = {"kind": "host", "by": request.host_account}
    return arrival_from_json(EventId(f"{EVENT_PREFIX}{workspace.token()}"), event)


def _report_reads(workspace: Workspace, store: Store, change: ChangeRange, *, recorded: int) -> ReadReport:
    every = list_changed_hunks(change.files)
    readers = find_hunk_readers(workspace, store, [changed.hunk.id for changed in every], change)
    hunks = [_state_of_hunk(changed, readers.get(changed.hunk.id, [])) for changed in every]
    return ReadReport(
        base=change.base,
        head=change.head,
        hunks=hunks,
        read=sum(bool(hunk.readers) for hunk in hunks),
        recorded=recorded,
    )


def _state_of_hunk(changed: ChangedHunk, readers: list[HunkReader]) -> HunkReadState:
    lines = [run.new_lines for run in changed.hunk.runs if run.new_lines is not None]
    return HunkReadState(
        id=changed.hunk.id,
        path=changed.path.display,
        first=lines[0].first if lines else None,
        last=lines[-1].last if lines else None,
        added=sum(len(run.added) for run in changed.hunk.runs),
        removed=sum(len(run.removed) for run in changed.hunk.runs),
        readers=readers,
    )
