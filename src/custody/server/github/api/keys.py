"""Who we are to GitHub: a token, or an app that asks for a token for each installation."""

from dataclasses import dataclass, field
from typing import Protocol

from custody.core.errors import InputError, MissingExtra

JWT_SECONDS = 540
"""GitHub takes at most ten minutes."""
SKEW_SECONDS = 60
"""By so much a clock may be off."""


class ApiCredential(Protocol):
    """What requests are signed with; both give the value of the ``Authorization`` header."""

    @property
    def is_app(self) -> bool:
        """Whether a token has to be asked for with :meth:`credential` first."""

    def credential(self, now_s: int) -> str:
        """The header's value."""


@dataclass(frozen=True, slots=True)
class PlainToken:
    """A token that somebody made; it says nothing of itself."""

    secret: str = field(repr=False)
    is_app: bool = False

    def credential(self, now_s: int) -> str:
        """The same at any time."""
        return f"Bearer {self.secret}"


@dataclass(frozen=True, slots=True)
class AppKey:
    """A GitHub App's id and its private key in PEM."""

    app_id: str
    pem: str = field(repr=False)
    is_app: bool = True

    def credential(self, now_s: int) -> str:
        """A signed statement that we are this app, good for some minutes."""
        try:
            import jwt
        except ImportError as error:
            raise MissingExtra("pyjwt", "github") from error
        claims = {"iat": now_s - SKEW_SECONDS, "exp": now_s + JWT_SECONDS, "iss": self.app_id}
        try:
            return f"Bearer {jwt.encode(claims, self.pem, algorithm='RS256')}"
        except (ValueError, TypeError, jwt.PyJWTError) as error:
            raise InputError(
                "the app's private key cannot be used", hint="give the PEM file that GitHub made for the app"
            ) from error
