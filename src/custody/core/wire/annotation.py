"""Findings with a place as the lines that a build prints to have them shown beside a change.

GitHub reads them as commands of a workflow, GitLab and others pass them over as plain lines. A message may have been
written by whoever made the change: nothing in it can end the line or begin another command.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

AnnotationLevel = Literal["error", "warning", "notice"]

TITLE_SIGNS_MAX = 255
MESSAGE_SIGNS_MAX = 4_000
_IN_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One finding: its level, its code, what it says, and its lines if it stands anywhere."""

    level: AnnotationLevel
    title: str
    message: str
    file: str | None = None
    first: int = 1
    last: int = 1


def encode_annotations(found: Iterable[Annotation]) -> bytes:
    r"""A line for each.

    >>> one = Annotation(level="notice", title="T", message="a\n::error::b", file="x,y.py", first=2, last=3)
    >>> encode_annotations([one])
    b'::notice file=x%2Cy.py,line=2,endLine=3,title=T::a%0A::error::b\n'
    """
    return "".join(map(_line, found)).encode("utf-8", "replace")


def _line(annotation: Annotation) -> str:
    title = _printable(annotation.title)[:TITLE_SIGNS_MAX].translate(_IN_PROPERTY)
    place = ""
    if annotation.file is not None:
        file = _printable(annotation.file).translate(_IN_PROPERTY)
        place = f"file={file},line={annotation.first},endLine={annotation.last},"
    message = _printable(annotation.message)[:MESSAGE_SIGNS_MAX].translate(_IN_MESSAGE)
    return f"::{annotation.level} {place}title={title}::{message}\n"


def _printable(text: str) -> str:
    """Without signs that a terminal acts on; the ends of lines are written out later."""
    return "".join(sign if sign.isprintable() or sign in "\r\n" else " " for sign in text)
