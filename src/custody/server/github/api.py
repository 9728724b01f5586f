"""The adapter to the GitHub API: reads pull requests, writes check runs and comments.

May touch: the network, by HTTPS to the API URL that the operator configured, with the operator's key. It follows no
redirect to another host, uses no proxy, cookie or password from the environment, and writes only what
``docs/github.md`` lists.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote, urlsplit

from msgspec import Struct

from custody.core.errors import InputError, MissingExtra, RetryLater, WorldError
from custody.core.structs import format_struct
from custody.server.github.shapes import (
    AccessToken,
    CheckRun,
    CheckRuns,
    Comment,
    FileContent,
    Login,
    Pull,
    PullReview,
    decode_github_payload,
    parse_github_repository,
    parse_github_sha,
)

if TYPE_CHECKING:
    import httpx2


class GitHubBusy(RetryLater):
    """A temporary failure: a rate limit, a server error, the network."""


class GitHubRefusal(WorldError):
    """A permanent failure: a missing right, a missing object, an invalid request."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, hint=_HINTS.get(status, "check the message of GitHub and the permissions of the app"))
        self.status = status


_HINTS = {
    401: "the token or the key of the app is invalid: connect again with 'custody github connect'",
    403: "grant the permissions that docs/github.md lists",
    404: "the repository or pull request does not exist, or the app is not installed there",
    410: "the feature is disabled in the repository",
}


JWT_SECONDS = 540
"""GitHub allows at most ten minutes."""
SKEW_SECONDS = 60
"""Allowed clock skew."""


class ApiCredential(Protocol):
    """A token or an app key, which provides the ``Authorization`` header."""

    @property
    def is_app(self) -> bool:
        """Whether :meth:`credential` only serves to request a token for an installation."""

    def credential(self, now_s: int) -> str:
        """Return the value of the header."""


class PlainToken(Struct, frozen=True):
    """A token; hidden in its representation."""

    secret: str
    is_app: bool = False

    def credential(self, now_s: int) -> str:
        """Return the token."""
        return f"Bearer {self.secret}"

    def __repr__(self) -> str:
        return format_struct(self, but=("secret",))


class AppKey(Struct, frozen=True):
    """The id of a GitHub App and its private key in PEM."""

    app_id: str
    pem: str
    is_app: bool = True

    def credential(self, now_s: int) -> str:
        """Return a signed JWT for this app, valid for some minutes."""
        try:
            import jwt
        except ImportError as error:
            raise MissingExtra("pyjwt", "github") from error
        claims = {"iat": now_s - SKEW_SECONDS, "exp": now_s + JWT_SECONDS, "iss": self.app_id}
        try:
            return f"Bearer {jwt.encode(claims, self.pem, algorithm='RS256')}"
        except (ValueError, TypeError, jwt.PyJWTError) as error:
            raise InputError(
                "cannot use the private key of the app", hint="use the PEM file that GitHub generated for the app"
            ) from error

    def __repr__(self) -> str:
        return format_struct(self, but=("pem",))


NS_PER_S: Final = 1_000_000_000
TIMEOUT_S: Final = 30.0
ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024
BUSY_SECONDS: Final = 60
"""How long to wait if GitHub does not specify it."""
WAIT_SECONDS_MAX: Final = 3600
EARLY_SECONDS: Final = 60
"""A token is renewed this long before it expires."""
REDIRECTS_MAX: Final = 3
PER_PAGE: Final = 100
PAGES_MAX: Final = 1000
MESSAGE_CHARACTERS_MAX: Final = 300
HEADERS: Final = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "custody",
}


class GitHub(Struct):
    """A client for one API URL and one identity; ``installation`` is that of the app."""

    api: str
    key: ApiCredential
    now_ns: Callable[[], int]
    installation: int | None = None
    _http: "httpx2.Client | None" = None
    _token: str | None = None
    _token_until_s: int = 0

    def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def pull(self, repository: str, number: int) -> Pull:
        """Return a pull request in its current state."""
        return decode_github_payload(
            self._get(f"{_make_github_repository_path(repository)}/pulls/{int(number)}"), Pull, "the pull request"
        )

    def pulls(self, repository: str) -> Iterator[Pull]:
        """Yield all pull requests, the oldest first."""
        path = (
            f"{_make_github_repository_path(repository)}/pulls?state=all&sort=created&direction=asc&per_page={PER_PAGE}"
        )
        for page in self._pages(path):
            yield from decode_github_payload(page, list[Pull], "the list of pull requests")

    def reviews(self, repository: str, number: int) -> Iterator[PullReview]:
        """Yield the reviews of a pull request, the oldest first."""
        path = f"{_make_github_repository_path(repository)}/pulls/{int(number)}/reviews?per_page={PER_PAGE}"
        for page in self._pages(path):
            yield from decode_github_payload(page, list[PullReview], "the list of reviews")

    def read_file(self, repository: str, path: str, commit: str) -> bytes | None:
        """Return a file of a commit; None if it does not have it."""
        file_path = f"{_make_github_repository_path(repository)}/contents/{quote(path)}?ref={parse_github_sha(commit)}"
        try:
            found = decode_github_payload(self._get(file_path), FileContent, "the file")
            return b64decode(found.content) if found.encoding == "base64" else None
        except GitHubRefusal as error:
            if error.status == 404:
                return None
            raise
        except ValueError as error:
            raise InputError(f"cannot decode '{path}' from GitHub") from error

    def check_runs(self, repository: str, commit: str, name: str) -> list[CheckRun]:
        """Return the check runs of a commit with this name."""
        commit_path = f"{_make_github_repository_path(repository)}/commits/{parse_github_sha(commit)}"
        path = f"{commit_path}/check-runs?check_name={quote(name)}&per_page=100"
        return decode_github_payload(self._get(path), CheckRuns, "the list of check runs").check_runs

    def put_check_run(self, repository: str, body: bytes, known: int | None = None) -> int:
        """Create a check run, or update a known one; return its id."""
        path = f"{_make_github_repository_path(repository)}/check-runs" + ("" if known is None else f"/{known}")
        answer = self._send("POST" if known is None else "PATCH", path, body)
        return decode_github_payload(answer, CheckRun, "the check run").id

    def comments(self, repository: str, number: int) -> Iterator[Comment]:
        """Yield the comments on a pull request."""
        for page in self._pages(
            f"{_make_github_repository_path(repository)}/issues/{int(number)}/comments?per_page={PER_PAGE}"
        ):
            yield from decode_github_payload(page, list[Comment], "the list of comments")

    def put_comment(self, repository: str, number: int, text: str, known: int | None = None) -> int:
        """Create a comment, or update a known one; return its id."""
        where = f"{int(number)}/comments" if known is None else f"comments/{known}"
        body = json.dumps({"body": text}).encode()
        answer = self._send(
            "POST" if known is None else "PATCH", f"{_make_github_repository_path(repository)}/issues/{where}", body
        )
        return decode_github_payload(answer, Comment, "the comment").id

    def login(self) -> str | None:
        """Return the account of the token; None for an app and for the token of a workflow."""
        if self.key.is_app:
            return None
        try:
            return decode_github_payload(self._get("/user"), Login, "the account").login
        except GitHubRefusal:
            return None

    def clone_credential(self) -> str:
        """Return the token with which git fetches a private repository."""
        return self._credential().removeprefix("Bearer ")

    def _get(self, path: str) -> bytes:
        return self._send("GET", path, None)

    def _pages(self, path: str) -> Iterator[bytes]:
        """Yield each page of a list; the next page must be below the API URL."""
        following: str | None = path
        for _ in range(PAGES_MAX):
            if following is None:
                return
            answer = self._request("GET", following, None)
            yield answer.content
            after = answer.links.get("next", {}).get("url")
            following = None if after is None else self._path_within_api(after)

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        return self._request(method, path, body).content

    def _request(self, method: str, path: str, body: bytes | None) -> "httpx2.Response":
        credential = self._credential()
        for _ in range(REDIRECTS_MAX + 1):
            answer = self._send_once(method, path, body, credential)
            where = answer.headers.get("location")
            if answer.status_code not in (301, 302, 307, 308) or where is None:
                return self._raise_for_status(answer)
            path = self._path_within_api(where)  # the repository was renamed
        raise GitHubRefusal("too many redirects from GitHub", 310)

    def _credential(self) -> str:
        """Return the value of the header; an app first requests a token for its installation."""
        now_s = self.now_ns() // NS_PER_S
        if not self.key.is_app:
            return self.key.credential(now_s)
        if self._token is None or now_s >= self._token_until_s - EARLY_SECONDS:
            if self.installation is None:
                raise GitHubRefusal("the installation of the app for this repository is unknown", 404)
            path = f"/app/installations/{int(self.installation)}/access_tokens"
            answer = self._raise_for_status(self._send_once("POST", path, b"{}", self.key.credential(now_s)))
            access = decode_github_payload(answer.content, AccessToken, "the installation token")
            self._token, self._token_until_s = access.token, _parse_installation_expiry(access.expires_at)
        return f"Bearer {self._token}"

    def _send_once(self, method: str, path: str, body: bytes | None, credential: str) -> "httpx2.Response":
        import httpx2

        if self._http is None:
            self._http = httpx2.Client(timeout=TIMEOUT_S, headers=HEADERS, trust_env=False, follow_redirects=False)
        headers = {"Authorization": credential} | ({} if body is None else {"Content-Type": "application/json"})
        url = self.api.rstrip("/") + path
        try:
            with self._http.stream(method, url, content=body, headers=headers) as answer:
                read = bytearray()
                for part in answer.iter_bytes():
                    read += part
                    if len(read) > ANSWER_BYTES_MAX:
                        raise GitHubRefusal(f"the answer of GitHub is larger than {ANSWER_BYTES_MAX:,} bytes", 413)
                return httpx2.Response(
                    answer.status_code, headers=_select_github_headers(answer.headers), content=bytes(read)
                )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise GitHubBusy(f"cannot reach GitHub: {type(error).__name__}", BUSY_SECONDS) from error

    def _raise_for_status(self, answer: "httpx2.Response") -> "httpx2.Response":
        """Return a successful answer; else raise ``GitHubBusy`` or ``GitHubRefusal``."""
        status = answer.status_code
        if 200 <= status < 300:
            return answer
        message = f"GitHub answered {status}: {_read_github_message(answer)}"
        wait = _compute_github_wait(answer, self.now_ns() // NS_PER_S)
        if wait is not None:
            raise GitHubBusy(message, wait)
        raise GitHubRefusal(message, status)

    def _path_within_api(self, url: str) -> str:
        """Return the path of a URL below the API URL; no other host is called."""
        if url.startswith("/") and not url.startswith("//"):
            return url
        ours, theirs = urlsplit(self.api), urlsplit(url)
        base = ours.path.rstrip("/")
        if (theirs.scheme, theirs.netloc) != (ours.scheme, ours.netloc) or not theirs.path.startswith(f"{base}/"):
            raise GitHubRefusal("GitHub redirects to another host", 310)
        return theirs.path[len(base) :] + (f"?{theirs.query}" if theirs.query else "")

    def __repr__(self) -> str:
        return format_struct(self, but=("_token",))


def _make_github_repository_path(repository: str) -> str:
    return f"/repos/{parse_github_repository(repository)}"


def _select_github_headers(headers: "httpx2.Headers") -> dict[str, str]:
    """Return the headers that custody reads; those about compression no longer fit the unpacked body."""
    names = ("link", "location", "retry-after", "x-ratelimit-remaining", "x-ratelimit-reset")
    return {name: headers[name] for name in names if name in headers}


def _compute_github_wait(answer: "httpx2.Response", now_s: int) -> int | None:
    """Return the seconds to wait; None if a retry does not help."""
    status, headers = answer.status_code, answer.headers
    if status not in (403, 408, 429) and status < 500:
        return None
    retry_after = headers.get("retry-after", "")
    if retry_after.isascii() and retry_after.isdigit():
        return max(1, min(int(retry_after[:9]), WAIT_SECONDS_MAX))
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
        return max(1, min(int(reset[:12]) - now_s, WAIT_SECONDS_MAX))
    if status == 403 and "rate limit" not in _read_github_message(answer).lower():
        return None
    return BUSY_SECONDS


def _read_github_message(answer: "httpx2.Response") -> str:
    """Return the message of GitHub on one line."""
    try:
        message = json.loads(answer.content)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no message"
    return "".join(character if character.isprintable() else " " for character in str(message))[:MESSAGE_CHARACTERS_MAX]


def _parse_installation_expiry(timestamp: str) -> int:
    try:
        return int(datetime.fromisoformat(timestamp).timestamp())
    except (ValueError, OverflowError):
        return 0  # requested again each time, rather than used too long
