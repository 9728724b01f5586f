"""What of a change can be words with citations, told without loading anything that reads them."""

import stat

from custody.gate.app.change import ChangeUnderReview
from custody.git import FileDiff

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
