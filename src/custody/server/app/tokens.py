"""Tokens: made once, shown once, kept as a hash, revoked by their id."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.wire.time import text_from
from custody.server.app.control import control_of, project_of, storable
from custody.server.app.tenancy_model import TokenScope
from custody.server.control import Token
from custody.server.wire.tenancy import TokenCreateReport, TokenLine, TokenListReport, TokenRevokeReport
from custody.workspace.workspace import Workspace

PREFIX = "cdy_"
"""So that a token is known for one wherever it turns up: redaction takes it out."""
SECRET_DIGITS = 64
ID_DIGITS = 16
NAME_SIGNS_MAX = 100
NEVER = "never"

_SECRET = re.compile(rf"{PREFIX}[0-9a-f]{{{SECRET_DIGITS}}}", re.ASCII)
_TERM = re.compile(r"([1-9][0-9]{0,4})([hdwy])", re.ASCII)
_HOUR_NS = 3_600 * 1_000_000_000
_TERM_NS = {"h": _HOUR_NS, "d": 24 * _HOUR_NS, "w": 7 * 24 * _HOUR_NS, "y": 365 * 24 * _HOUR_NS}


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What a new token is to be good for, and for how long: ``90d``, ``12h``, ``never``."""

    project: str
    scopes: Sequence[TokenScope]
    expires: str
    name: str


def create_token(workspace: Workspace, wanted: TokenRequest) -> TokenCreateReport:
    """Make a token; the report is the only place where it is ever shown."""
    now = workspace.now_ns()
    secret = PREFIX + workspace.token() + workspace.token()  # each half has 128 random bits
    if len(wanted.name) > NAME_SIGNS_MAX:
        raise InputError(f"the name of a token has at most {NAME_SIGNS_MAX} signs")
    made = Token(
        id=workspace.token()[:ID_DIGITS],
        hash=hash_of(secret),
        project=wanted.project,
        name=storable(wanted.name, NAME_SIGNS_MAX),
        scopes=tuple(scope.value for scope in TokenScope if scope in wanted.scopes),
        created_ns=now,
        expires_ns=expiry(wanted.expires, now),
    )
    with control_of(workspace) as control:
        project_of(control, wanted.project)
        control.tokens.put(made)
    return TokenCreateReport(token=_line(made, now), secret=secret)


def list_tokens(workspace: Workspace, project: str | None) -> TokenListReport:
    """Every token that was made, or those of one project, oldest first."""
    with control_of(workspace) as control:
        if project is not None:
            project_of(control, project)
        return TokenListReport(tokens=[_line(token, workspace.now_ns()) for token in control.tokens.all(project)])


def revoke_token(workspace: Workspace, id_: str) -> TokenRevokeReport:
    """Have a token open nothing from now on."""
    with control_of(workspace) as control:
        token = control.tokens.revoke(id_, workspace.now_ns())
    if token is None:
        raise InputError(f"there is no token '{id_}'", hint="'custody token list' shows the ids")
    return TokenRevokeReport(token=_line(token, workspace.now_ns()))


def is_good(token: Token, presented: str, now_ns: int) -> bool:
    """Whether what was presented is this token, and it still opens something."""
    same = hmac.compare_digest(token.hash, hash_of(presented))
    return same and token.revoked_ns is None and (token.expires_ns is None or now_ns < token.expires_ns)


def has_shape(presented: str) -> bool:
    """Whether this could be a token at all."""
    return _SECRET.fullmatch(presented) is not None


def hash_of(secret: str) -> bytes:
    """What is kept of a token: 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def expiry(text: str, now_ns: int) -> int | None:
    """The moment that lies ``text`` from now; None for never.

    >>> expiry("2h", 0)
    7200000000000
    """
    if text == NEVER:
        return None
    term = _TERM.fullmatch(text)
    if term is None:
        raise InputError(f"'{text[:40]}' is no length of time", hint="write 12h, 90d, 4w, 1y or never")
    return now_ns + int(term[1]) * _TERM_NS[term[2]]


def _line(token: Token, now_ns: int) -> TokenLine:
    ended = token.expires_ns is not None and token.expires_ns <= now_ns
    return TokenLine(
        id=token.id,
        name=token.name,
        project=token.project,
        scopes=list(token.scopes),
        state="revoked" if token.revoked_ns is not None else "expired" if ended else "active",
        created=text_from(token.created_ns),
        expires=_text(token.expires_ns),
        last_used=_text(token.used_ns),
        revoked=_text(token.revoked_ns),
    )


def _text(ns: int | None) -> str | None:
    return None if ns is None else text_from(ns)
