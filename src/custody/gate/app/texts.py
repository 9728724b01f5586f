"""What a change says in words, for the gate: its documents, its commits' messages, and its description."""

import stat
from collections.abc import Iterator, Sequence

from custody.cite.app.audit import ChangeAudit
from custody.core.paths import matches
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.model import ChangeText, MissingEvidence
from custody.gate.rules import GateRules
from custody.git import DiffSide, FileDiff, NoObject, Object, ObjectReader
from custody.workspace.change import ChangeRange
from custody.workspace.workspace import Workspace

# What of a change can be words with citations, told without loading anything that reads them.


MARKDOWN = (".md", ".markdown", ".mdx")
OPENERS = (b"[", "【".encode())
"""How every marker begins."""


def has_prose(review: ChangeUnderReview, description: bytes | None) -> bool:
    """Whether anything that the change says could lack a citation: a document, a message, its description."""
    if any(is_document(file) for file in review.change.files):
        return True
    messages = (commit.message for commit in review.change.commits)
    return any(could_cite(text) for text in (*messages, description or b""))


def is_document(file: FileDiff) -> bool:
    """Whether a changed file is a document that is there after the change."""
    new = file.change.new
    return new is not None and stat.S_ISREG(new.mode) and new.path.display.casefold().endswith(MARKDOWN)


def could_cite(text: bytes) -> bool:
    """Whether a message or a description can hold a marker."""
    return any(opener in text for opener in OPENERS)


TEXT_BYTES_MAX = 16 * 1024 * 1024
READ_IT = "have a person read it"
SHA_DIGITS = 12


def texts_of(
    workspace: Workspace, review: ChangeUnderReview, description: bytes | None, policy: Policy
) -> tuple[ChangeText, ...]:
    """Every text of the change whose citations lack something, or that could not be read."""
    audit = ChangeAudit(workspace, policy.rules)
    documents = [file for file in review.change.files if is_document(file)]
    texts: list[ChangeText] = []
    if documents:
        with review.repository.objects(TEXT_BYTES_MAX) as objects:
            texts += [_document(objects, file, policy.rules.of(GateRules), audit) for file in documents]
            by_records = audit.audit_by_records(_readable(objects, documents), review.version)
            texts += [ChangeText(file.change.path.display, findings) for file, findings in by_records]
    texts += _messages(review.change, description, audit)
    return tuple(text for text in texts if text.lacks)


def _readable(objects: ObjectReader[Object], documents: Sequence[FileDiff]) -> Iterator[tuple[FileDiff, bytes]]:
    """The documents that can be read, as they are after the change."""
    for file in documents:
        assert file.change.new is not None, "a document is there after the change"
        content = _content(objects, file.change.new)
        if isinstance(content, bytes):
            yield file, content


def _document(objects: ObjectReader[Object], file: FileDiff, rules: GateRules, audit: ChangeAudit) -> ChangeText:
    new, old = file.change.new, file.change.old
    assert new is not None, "a document is there after the change"
    name = new.path.display
    after = _content(objects, new)
    if isinstance(after, MissingEvidence):
        return ChangeText(name, after)
    before = None if old is None else _content(objects, old)
    is_report = any(matches(pattern, name) for pattern in rules.reports)
    known = None if isinstance(before, MissingEvidence) else before  # what cannot be read excuses nothing
    return ChangeText(name, audit.audit_document(after, known, is_report=is_report))


def _content(objects: ObjectReader[Object], side: DiffSide) -> bytes | MissingEvidence:
    found = objects.read(side.blob)
    return (
        MissingEvidence(f"cannot be read: it is {found.reason}", READ_IT)
        if isinstance(found, NoObject)
        else found.content
    )


def _messages(change: ChangeRange, description: bytes | None, audit: ChangeAudit) -> Iterator[ChangeText]:
    """What the description and the messages' bodies lack; a subject may begin with anything in brackets."""
    said = [] if description is None else [("the description", description)]
    said += [(f"the message of {commit.id[:SHA_DIGITS]}", _body(commit.message)) for commit in reversed(change.commits)]
    for name, text in said:
        if not could_cite(text):
            continue
        if len(text) > TEXT_BYTES_MAX:
            yield ChangeText(name, MissingEvidence("is too large to be read", READ_IT), is_file=False)
            continue
        yield ChangeText(name, audit.audit_message(text), is_file=False)


def _body(message: bytes) -> bytes:
    """A message with an empty line in place of each of its first paragraph, so that places stay right."""
    subject, _, body = message.partition(b"\n\n")
    return b"\n" * (subject.count(b"\n") + 2) + body
