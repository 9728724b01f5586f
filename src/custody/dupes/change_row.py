"""An indexed change, as the index of changes returns it."""

from dataclasses import dataclass

from custody.core.ids import CommitSha


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """An indexed change; ``id`` grows with the order of indexing."""

    id: int
    repo: str
    base: CommitSha
    head: CommitSha
    name: str
    title: str
    opened_ns: int
    on_main: bool
    version: str
    signature: bytes
