"""What a service asks before it lets somebody in: which token is good for which project, and for what.

An ``AccessKeeper`` answers: that of a service on this machine, or the one that stores projects and tokens.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from custody.workspace.workspace import Workspace


class TokenScope(Enum):
    """What a token is good for; none of them includes another."""

    READ = "read"
    WRITE = "write"
    TEXT = "text"
    """The texts of conversations; each read of one is noted."""
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token that was presented is good for, until when if it ends."""

    project: str
    scopes: frozenset[TokenScope]
    token_id: str
    """Names the token, in logs and in the list of reads; it opens nothing."""
    expires_ns: int | None


class AccessKeeper(Protocol):
    """Knows the tokens and the projects; safe to ask from several threads."""

    def grant(self, presented: str, now_ns: int) -> Grant | None:
        """What this token is good for now; None of one that is unknown, revoked or past its time."""
        ...

    def workspace(self, project: str) -> Workspace:
        """Where the project's evidence is kept."""
        ...

    def noted_read(self, grant: Grant, what: str) -> None:
        """Keeps, before the text is handed out, that this token read the text of ``what``."""
        ...
