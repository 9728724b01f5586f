"""What the service is asked in bodies, and the pages of lists that no verb prints: decisions, changes, sources.

Every other answer to a question is the report that the verb gives with ``--json``.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from custody.cite.wire.registry import CiteSource
from custody.core.errors import InputError
from custody.core.wire.canonical import problem
from custody.core.wire.event import Count, Name, Short, Timestamp
from custody.dupes.wire.report import ChangeRefReport
from custody.server.wire.service import ListPage

DecisionWord = Literal["accepted", "modified", "rejected"]
ComplexityWord = Literal["trivial", "minor", "moderate", "major", "critical"]
Rev = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x20\x7f-\x9f\ud800-\udfff]+$(?!\n)",
        description="a commit, as git names it",
    ),
]
NonEmptyText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4000,
        pattern=r"^[^\x00\ud800-\udfff]*[^\x00\s\ud800-\udfff][^\x00\ud800-\udfff]*$",
        description="a short text that says something",
    ),
]
ItemLimit = Annotated[int, Meta(ge=1, le=1000)]

T = TypeVar("T", bound=msgspec.Struct)


# --- in ---------------------------------------------------------------------------------------------------------------


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was decided about an agent's change: exactly one of ``commit``, ``id``, ``overrides`` and ``reverts``.

    ``commit`` or ``id`` names a change that is decided once. ``overrides`` says that an earlier decision was wrong,
    ``reverts`` that its change was taken back; both need an actor and a reason.
    """

    agent: Name
    decision: DecisionWord
    commit: Rev | None = None
    id: Name | None = None
    overrides: Name | None = None
    reverts: Name | None = None
    complexity: ComplexityWord | None = None
    lines: Count | None = None
    review_ms: Count | None = None
    opened: Timestamp | None = None
    actor: Name | None = None
    reason: Short | None = None


class DuplicatesBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to look for: ``BASE..HEAD``, or a commit, which is compared with its parent."""

    change: Rev
    limit: ItemLimit = 5


class SourceBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source to register; it has a title or a URL."""

    url: Short | None = None
    title: Short | None = None
    author: Short | None = None
    publisher: Short | None = None
    date: Short | None = None
    source_type: Short | None = None
    year: Annotated[int, Meta(ge=0, le=9999)] | None = None
    snippet: Short | None = None
    doi: Short | None = None
    isbn: Short | None = None


class AuditBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A report whose citations are to be looked at; with ``session``, by what that session read too."""

    markdown: str
    coverage_min: Annotated[float, Meta(ge=0, le=1)] | None = None
    session: Name | None = None


class GateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change to judge: what ``head`` has over the point where it left ``base``, and what its author says of it."""

    base: Rev
    head: Rev
    description: str | None = None


class ErasureBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be forgotten for good, why, and for whom; without ``who`` it is the token that asks."""

    record: Name
    why: NonEmptyText
    who: Name | None = None


def asked_in(data: bytes, kind: type[T]) -> T:
    """The question that a body is; an ``InputError`` says what is wrong with it."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(f"not what is asked here: {problem(error)}", hint="/openapi.json has the shape") from error


# --- out --------------------------------------------------------------------------------------------------------------


class DecisionItem(msgspec.Struct, frozen=True, kw_only=True):
    """A decision as it is kept; null once it was erased."""

    record: str
    at: str
    key: str
    decision: Any


class DecisionsPage(ListPage, frozen=True, kw_only=True):
    """Decisions in the order of their records."""

    items: list[DecisionItem]


class ChangesPage(ListPage, frozen=True, kw_only=True):
    """Indexed changes in the order of indexing."""

    items: list[ChangeRefReport]


class SourcesPage(ListPage, frozen=True, kw_only=True):
    """Registered sources by their numbers."""

    items: list[CiteSource]
