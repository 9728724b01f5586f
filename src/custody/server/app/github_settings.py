"""What an operator says about GitHub: by the environment and by files that it names, never by a repository."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from custody.core.errors import InputError
from custody.server.github.api import ApiCredential, AppKey, PlainToken

API = "https://api.github.com"
SECRET_FILE, TOKEN_FILE = "CUSTODY_GITHUB_SECRET_FILE", "CUSTODY_GITHUB_TOKEN_FILE"
APP_ID, KEY_FILE = "CUSTODY_GITHUB_APP_ID", "CUSTODY_GITHUB_KEY_FILE"
API_URL, GIT_URL = "CUSTODY_GITHUB_API", "CUSTODY_GITHUB_GIT"
MIRRORS, COMMENTS = "CUSTODY_GITHUB_MIRRORS", "CUSTODY_GITHUB_COMMENTS"
SECRET_BYTES_MIN = 16
"""A shorter secret can be guessed."""
LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubSettings:
    """How GitHub is spoken to; None for what was not said."""

    api: str = API
    git: str = "https://github.com"
    """Repositories are fetched from below this."""
    key: ApiCredential | None = None
    secret: bytes | None = field(default=None, repr=False)
    mirrors: Path | None = None
    comments: bool = False


def github_settings(environment: Mapping[str, str] = os.environ) -> GitHubSettings:
    """The settings in the environment; a file that is named and cannot be used is an error."""
    mirrors, api = environment.get(MIRRORS), _api(environment.get(API_URL, API))
    return GitHubSettings(
        api=api,
        git=environment.get(GIT_URL) or _git(api),
        key=_key(environment),
        secret=_secret(environment),
        mirrors=None if not mirrors else Path(mirrors),
        comments=_switch(environment.get(COMMENTS, "")),
    )


def _api(url: str) -> str:
    """An address that a key may be sent to: encrypted, or on this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return url
    raise InputError(f"{API_URL} must begin with https://")


def _git(api: str) -> str:
    """Where git finds the repositories of an API: GitHub's own, or the host of an enterprise's server.

    >>> _git("https://api.github.com"), _git("https://github.example/api/v3")
    ('https://github.com', 'https://github.example')
    """
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def _key(environment: Mapping[str, str]) -> ApiCredential | None:
    token, app, key = (environment.get(name) for name in (TOKEN_FILE, APP_ID, KEY_FILE))
    if token and (app or key):
        raise InputError(f"both {TOKEN_FILE} and {APP_ID} are set", hint="set one of them")
    if token:
        return PlainToken(_text(token, TOKEN_FILE))
    if bool(app) != bool(key):
        raise InputError(f"{APP_ID} and {KEY_FILE} belong together", hint="set both")
    return AppKey(app, _text(key, KEY_FILE)) if app and key else None


def _secret(environment: Mapping[str, str]) -> bytes | None:
    file = environment.get(SECRET_FILE)
    if not file:
        return None
    secret = _text(file, SECRET_FILE).encode()
    if len(secret) < SECRET_BYTES_MIN:
        raise InputError(f"the webhook's secret has fewer than {SECRET_BYTES_MIN} bytes", hint="make a random one")
    return secret


def _text(path: str, name: str) -> str:
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the file that {name} names cannot be read", hint="check its path and who owns it") from error
    if not text:
        raise InputError(f"the file that {name} names is empty")
    return text


def _switch(text: str) -> bool:
    if text.lower() in ("", "0", "no", "off", "false"):
        return False
    if text.lower() in ("1", "yes", "on", "true"):
        return True
    raise InputError(f"{COMMENTS} is 'yes' or 'no'")
