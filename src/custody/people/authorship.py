"""A person's statement that they wrote lines of a file by hand."""

import re
from collections.abc import Sequence

from msgspec import Struct

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.context import AttributionContext, open_attribution
from custody.attribution.app.findings import LineAttributor
from custody.core.errors import InputError
from custody.core.ids import CommitSha, EventId
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.arrival import Arrival, arrival_from_json
from custody.core.wire.canonical import Json
from custody.core.wire.time import format_timestamp
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.people.queries import find_author_claims
from custody.people.read_assurance import EVENT_PREFIX
from custody.people.reads import check_person_name
from custody.people.wire import AuthorReport
from custody.store import Store
from custody.workspace.machine import machine_user_name
from custody.workspace.workspace import Workspace

LINES_MAX = 50_000
MESSAGE_CHARACTERS_MAX = 1_000
_PLACE = lazy_pattern(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:[-,](?P<last>[0-9]{1,9}))?", re.DOTALL)


class AuthorRequest(Struct, frozen=True, kw_only=True):
    """The lines that a person wrote, as ``PATH`` or ``PATH:LINES``, on disk or as of a revision."""

    place: str
    revision: str | None = None
    message: str | None = None
    person: str | None = None


def record_author(workspace: Workspace, request: AuthorRequest) -> AuthorReport:
    """Record the statement once; an ``InputError`` for lines that the file does not have."""
    person = request.person or machine_user_name()
    check_person_name(workspace, person)
    if request.message is not None and len(request.message) > MESSAGE_CHARACTERS_MAX:
        raise InputError("the message is too long", hint=f"write at most {MESSAGE_CHARACTERS_MAX:,} characters")
    with open_attribution(workspace, "lineage") as context:
        path, commit, lines = _resolve_place(context, request)
        texts = context.texts(path, commit)[lines.first - 1 : lines.last]
        if not any(text.strip() for text in texts):
            raise InputError(f"lines {lines} of '{path.display}' are blank", hint="name lines with text")
        answers = LineAttributor(context, is_brief=True).of(context.version(path, commit), [lines])
        context.save()
    agents = [answer for answer in answers if answer.owner.is_agent]
    with workspace.writing() as store:
        record = _append_author(workspace, store, path, commit, lines, texts, person, request.message)
    return AuthorReport(
        person=person,
        path=path.display,
        first=lines.first,
        last=lines.last,
        lines=len(lines),
        record=record,
        contradicted=sum(len(answer.lines) for answer in agents),
        agents=sorted({name for answer in agents if (name := _name_agent(answer)) is not None}),
    )


def _resolve_place(context: AttributionContext, request: AuthorRequest) -> tuple[RepoPath, CommitSha | None, Lines]:
    """Return the file, its version and its lines; a name with a colon may be a file of its own."""
    workspace, repository = context.workspace, context.repository
    commit = None if request.revision is None else repository.resolve(request.revision)
    match = _PLACE.fullmatch(request.place)
    if match is None:
        path = repository.path(request.place, workspace.folder)
        commit = _choose_version(context, path, commit)
        count = len(context.texts(path, commit))
        if not count:
            raise InputError(f"'{path.display}' is empty", hint="name a file with lines")
        wanted = Lines(1, count)
    else:
        path = repository.path(match["path"], workspace.folder)
        commit = _choose_version(context, path, commit)
        count = len(context.texts(path, commit))
        wanted = Lines(int(match["first"]), int(match["last"] or match["first"]))
    if wanted.last > count:
        raise InputError(
            f"'{path.display}' has no line {wanted.last}", hint=f"the file has {count_noun(count, 'line')}"
        )
    if len(wanted) > LINES_MAX:
        raise InputError(f"{len(wanted):,} lines are too many", hint=f"name at most {LINES_MAX:,} at once")
    return path, commit, wanted


def _choose_version(context: AttributionContext, path: RepoPath, commit: CommitSha | None) -> CommitSha | None:
    """Return the version to read: the named one, else the file on disk, else that of HEAD."""
    if commit is not None:
        return commit
    try:
        context.texts(path, None)
    except InputError:
        head = context.repository.head().commit
        if head is None:
            raise
        context.texts(path, head)
        return head
    return None


def _append_author(  # noqa: PLR0913 - the parts of a statement
    workspace: Workspace,
    store: Store,
    path: RepoPath,
    commit: CommitSha | None,
    lines: Lines,
    texts: Sequence[str],
    person: str,
    message: str | None,
) -> str | None:
    event: dict[str, Json] = {
        "custody": 1,
        "kind": "author",
        "id": workspace.token(),
        "at": format_timestamp(workspace.now_ns()),
        "person": person,
        "path": str(path),
        "lines": [{"first": lines.first, "last": lines.last}],
        "text": "".join(f"{text}\n" for text in texts),
    }
    if commit is not None:
        event["head"] = commit
    if message is not None:
        event["message"] = message
    clean = redact_event_payload(event, lambda: open_redaction_key(workspace))

    def look() -> Sequence[Arrival]:
        same = (claim.view for claim in find_author_claims(store, path))
        if any(
            (known.person, known.text.content, known.message) == (person, clean["text"], clean.get("message"))
            for known in same
        ):
            return []
        return [arrival_from_json(EventId(f"{EVENT_PREFIX}{workspace.token()}"), clean)]

    made = store.append_from(look).made
    return str(made[0].ref) if made else None


def _name_agent(answer: LineAnswer) -> str | None:
    return None if answer.trace is None else str(answer.trace.agent)
