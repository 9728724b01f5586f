"""Commits as people name and date them."""

import os
from collections.abc import Iterator

from custody.core.wire.time import format_timestamp
from custody.git import BRANCH_PREFIXES, Person
from custody.workspace.workspace import Workspace

_PREFIXES = (*BRANCH_PREFIXES, "refs/tags/")
NANOSECONDS = 1_000_000_000
SECONDS_MAX = 253_402_300_799
"""The end of the year 9999: git holds larger numbers, and no date can."""


def list_revision_names(workspace: Workspace) -> Iterator[str]:
    """Yield the short names of branches, remote branches and tags."""
    for prefix in _PREFIXES:
        for ref in workspace.repository.refs(prefix):
            yield os.fsdecode(ref.name).removeprefix(prefix)


def format_author_time(person: Person) -> str | None:
    """Return when an author or committer made a commit, as ISO 8601; None if git holds no usable time."""
    if person.at is None or not 0 <= person.at.seconds <= SECONDS_MAX:
        return None
    return format_timestamp(person.at.seconds * NANOSECONDS)
