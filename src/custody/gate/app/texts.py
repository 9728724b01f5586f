"""What a change says in words, for the gate: its documents, its commits' messages, and its description."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from custody.attribution.app.context import attributing
from custody.attribution.rules import AttributeRules
from custody.cite.app.source_numbers import last_source_number
from custody.cite.audit import Finding
from custody.cite.change_findings import brought, unregistered
from custody.cite.rules import CiteRules
from custody.cite.subject import Subject
from custody.core.errors import InputError, StoreError
from custody.core.glob import matches
from custody.gate.app.change import Judged
from custody.gate.app.has_prose import could_cite, is_document
from custody.gate.app.policy import Policy
from custody.gate.model import Lack, Text, Unseen
from custody.gate.rules import GateRules
from custody.git import FileDiff, NoObject, Object, ObjectReader, Side
from custody.workspace.change import Change
from custody.workspace.workspace import Desk

if TYPE_CHECKING:
    from custody.cite.app.records import Recording

TEXT_BYTES_MAX = 16 * 1024 * 1024
READ_IT = "have a person read it"
SHA_DIGITS = 12


def texts_of(desk: Desk, one: Judged, description: bytes | None, policy: Policy) -> tuple[Text, ...]:
    """Every text of the change whose citations lack something, or that could not be read."""
    gate, rules = policy.rules.of(GateRules), policy.rules.of(CiteRules)
    documents = [file for file in one.change.files if is_document(file)]
    texts: list[Text] = []
    if documents:
        with one.repository.objects(TEXT_BYTES_MAX) as objects:
            texts += [_document(objects, file, gate, rules) for file in documents]
            texts += _by_records(desk, one, objects, documents, policy)
    texts += _messages(desk, one.change, description, rules)
    return tuple(text for text in texts if text.lacks)


def _by_records(
    desk: Desk, one: Judged, objects: ObjectReader[Object], documents: Sequence[FileDiff], policy: Policy
) -> Iterator[Text]:
    """What records say of the lines that the change adds to its documents; nothing where nothing was recorded."""
    if not desk.exists():
        return
    from custody.cite.app.records import Recording  # it loads much, and few changes have documents

    try:
        with attributing(desk, "lineage", policy.rules.of(AttributeRules)) as evidence:
            recording = Recording(evidence, head=one.version, believes_claims=False)
            for file in documents:
                new = file.change.new
                assert new is not None, "a document is there after the change"
                content = _content(objects, new)
                if isinstance(content, bytes):
                    yield Text(
                        new.path.display, _recorded(recording, file, Subject.of(content), policy.rules.of(CiteRules))
                    )
    except (StoreError, InputError):
        return  # the check of attribution tells that the store, or the file, cannot be read


def _recorded(recording: "Recording", file: FileDiff, subject: Subject, rules: CiteRules) -> tuple[Lack, ...]:
    added = [lines for hunk in file.hunks if (lines := hunk.new_lines) is not None]
    lacks = []
    for found in recording.look_at(file.change.path, subject, rules).found:
        line = subject.layout.place(found.at).line
        if any(lines.first <= line <= lines.last for lines in added):
            lacks.append(Lack(found.code, line, found.message))
    return tuple(sorted(lacks, key=lambda lack: lack.line))


def _document(objects: ObjectReader[Object], file: FileDiff, gate: GateRules, rules: CiteRules) -> Text:
    new, old = file.change.new, file.change.old
    assert new is not None, "a document is there after the change"
    name = new.path.display
    after = _content(objects, new)
    if isinstance(after, Unseen):
        return Text(name, after)
    before = None if old is None else _content(objects, old)
    is_report = any(matches(pattern, name) for pattern in gate.reports)
    known = None if isinstance(before, Unseen) else before  # what cannot be read excuses nothing
    return Text(name, _lacks(brought(after, known, rules, is_report=is_report)))


def _content(objects: ObjectReader[Object], side: Side) -> bytes | Unseen:
    found = objects.read(side.blob)
    return Unseen(f"cannot be read: it is {found.reason}", READ_IT) if isinstance(found, NoObject) else found.content


def _messages(desk: Desk, change: Change, description: bytes | None, rules: CiteRules) -> Iterator[Text]:
    """What the description and the messages' bodies lack; a subject may begin with anything in brackets."""
    last: int | None = None
    said = [] if description is None else [("the description", description)]
    said += [(f"the message of {one.id[:SHA_DIGITS]}", _body(one.message)) for one in reversed(change.commits)]
    for name, text in said:
        if not could_cite(text):
            continue
        if len(text) > TEXT_BYTES_MAX:
            yield Text(name, Unseen("is too large to be read", READ_IT), is_file=False)
            continue
        if last is None:
            last = _last_source(desk)
        found = [*brought(text, None, rules, is_report=False), *unregistered(text, last)]
        yield Text(name, _lacks(found), is_file=False)


def _body(message: bytes) -> bytes:
    """A message with an empty line in place of each of its first paragraph, so that places stay right."""
    subject, _, body = message.partition(b"\n\n")
    return b"\n" * (subject.count(b"\n") + 2) + body


def _last_source(desk: Desk) -> int:
    """The last id that this store's registry gave; 0 where there is none, or none can be read."""
    if not desk.exists():
        return 0
    try:
        with desk.reading() as store:
            return last_source_number(store)
    except StoreError:
        return 0  # the gate tells of the store elsewhere


def _lacks(findings: tuple[Finding, ...] | list[Finding]) -> tuple[Lack, ...]:
    return tuple(Lack(one.code, one.line, one.message) for one in findings)
