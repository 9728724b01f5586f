"""Tokens of forms: a page that writes shows one, and only a form with it is accepted. Pure.

A token is an HMAC under the reader's own access token, so another site cannot make one, and nothing is stored.
"""

import hmac
from hashlib import sha256

from custody.server.problems import HttpProblem

FIELD = "csrf"
VALID_SECONDS = 12 * 3600
"""How long an open page can send its forms."""
DIGITS_MAX = 18
_REMEDY = "reload the page, then try again"


def make_form_key(presented: str) -> bytes:
    """Return the key for the forms of whoever presented an access token."""
    return sha256(b"custody form\0" + presented.encode("utf-8", "surrogateescape")).digest()


def make_form_token(key: bytes, project: str, now_s: int) -> str:
    """Return the token of a page that was made at this time."""
    until = now_s + VALID_SECONDS
    return f"{until}.{_sign(key, project, until)}"


def check_form_token(sent: str | None, key: bytes, project: str, now_s: int) -> None:
    """Raise an ``HttpProblem`` unless a form has a valid token of this reader and project."""
    until, _, signature = (sent or "").partition(".")
    is_number = until.isdecimal() and until.isascii() and len(until) <= DIGITS_MAX
    if not is_number or not hmac.compare_digest(signature.encode(), _sign(key, project, int(until)).encode()):
        raise HttpProblem(403, "this form was not made by this page", remedy=_REMEDY)
    if not now_s < int(until) <= now_s + VALID_SECONDS:
        raise HttpProblem(403, "this page is too old to send its form", remedy=_REMEDY)


def _sign(key: bytes, project: str, until: int) -> str:
    return hmac.new(key, f"{project}\0{until}".encode(), sha256).hexdigest()
