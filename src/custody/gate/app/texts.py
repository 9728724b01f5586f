"""Evidence for the gate about the texts of a change: documents, commit messages, the description."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from custody.core.paths import matches_path_pattern
from custody.gate.app.change import ChangeUnderReview, Policy
from custody.gate.model import ChangeText, MissingEvidence
from custody.gate.rules import GateRules
from custody.git import DiffSide, FileDiff, NoObject, Object, ObjectReader
from custody.workspace.change import ChangeRange
from custody.workspace.workspace import Workspace

if TYPE_CHECKING:
    from custody.cite.app.audit import ChangeAudit


# Which texts of a change may have citations, decided without loading a parser.


MARKDOWN = (".md", ".markdown", ".mdx")
OPENERS = (b"[", "【".encode())
"""The first characters of every citation marker."""


def has_prose(review: ChangeUnderReview, description: bytes | None) -> bool:
    """Return whether the change has a document, a message or a description that could have citations."""
    if any(is_document_under_review(file) for file in review.change.files):
        return True
    messages = (commit.message for commit in review.change.commits)
    return any(can_gate_text_cite(text) for text in (*messages, description or b""))


def is_document_under_review(file: FileDiff) -> bool:
    """Return whether a changed file is a document that exists after the change."""
    new = file.change.new
    return new is not None and stat.S_ISREG(new.mode) and new.path.display.casefold().endswith(MARKDOWN)


def can_gate_text_cite(text: bytes) -> bool:
    """Return whether a message or a description may hold a marker."""
    return any(opener in text for opener in OPENERS)


TEXT_BYTES_MAX = 16 * 1024 * 1024
READ_IT = "have a person read it"
SHA_DIGITS = 12


def gather_citation_evidence(
    workspace: Workspace, review: ChangeUnderReview, description: bytes | None, policy: Policy
) -> tuple[ChangeText, ...]:
    """Return every text of the change that has findings or could not be read."""
    from custody.cite.app.audit import ChangeAudit

    audit = ChangeAudit(workspace, policy.rules)
    documents = [file for file in review.change.files if is_document_under_review(file)]
    texts: list[ChangeText] = []
    if documents:
        with review.repository.objects(TEXT_BYTES_MAX) as objects:
            texts += [_audit_changed_document(objects, file, policy.rules.of(GateRules), audit) for file in documents]
            by_records = audit.audit_by_records(_read_documents_under_review(objects, documents), review.version)
            texts += [ChangeText(file.change.path.display, findings) for file, findings in by_records]
    texts += _audit_messages_under_review(review.change, description, audit)
    return tuple(text for text in texts if text.findings)


def _read_documents_under_review(
    objects: ObjectReader[Object], documents: Sequence[FileDiff]
) -> Iterator[tuple[FileDiff, bytes]]:
    """Yield the readable documents with their content after the change."""
    for file in documents:
        assert file.change.new is not None, "a document exists after the change"
        content = _read_document_evidence(objects, file.change.new)
        if isinstance(content, bytes):
            yield file, content


def _audit_changed_document(
    objects: ObjectReader[Object], file: FileDiff, rules: GateRules, audit: ChangeAudit
) -> ChangeText:
    new, old = file.change.new, file.change.old
    assert new is not None, "a document exists after the change"
    name = new.path.display
    after = _read_document_evidence(objects, new)
    if isinstance(after, MissingEvidence):
        return ChangeText(name, after)
    before = None if old is None else _read_document_evidence(objects, old)
    is_report = any(matches_path_pattern(pattern, name) for pattern in rules.reports)
    known = None if isinstance(before, MissingEvidence) else before  # what cannot be read excuses nothing
    return ChangeText(name, audit.audit_document(after, known, is_report=is_report))


def _read_document_evidence(objects: ObjectReader[Object], side: DiffSide) -> bytes | MissingEvidence:
    blob = objects.read(side.blob)
    return (
        MissingEvidence(f"cannot be read: it is {blob.reason}", READ_IT) if isinstance(blob, NoObject) else blob.content
    )


def _audit_messages_under_review(
    change: ChangeRange, description: bytes | None, audit: ChangeAudit
) -> Iterator[ChangeText]:
    """Yield the findings about the description and the message bodies; subjects may start with any bracket."""
    messages = [] if description is None else [("the description", description)]
    messages += [
        (f"the message of {commit.id[:SHA_DIGITS]}", _blank_subject_under_review(commit.message))
        for commit in reversed(change.commits)
    ]
    for name, text in messages:
        if not can_gate_text_cite(text):
            continue
        if len(text) > TEXT_BYTES_MAX:
            yield ChangeText(name, MissingEvidence("is too large to be read", READ_IT), is_file=False)
            continue
        yield ChangeText(name, audit.audit_message(text), is_file=False)


def _blank_subject_under_review(message: bytes) -> bytes:
    """Return a message with its first paragraph blanked, so that line numbers stay right."""
    subject, _, body = message.partition(b"\n\n")
    return b"\n" * (subject.count(b"\n") + 2) + body
