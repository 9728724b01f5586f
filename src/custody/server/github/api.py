"""The door to GitHub's API: pull requests in, check runs and comments out.

May touch: the network, by HTTPS to the one API address that the operator named, with the operator's key. It follows no
redirect to another host, takes no proxy, cookie or password from the environment, and writes nothing but what
``docs/github.md`` lists.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote, urlsplit

from custody.core.errors import InputError, MissingExtra, RetryLater, WorldError
from custody.server.github.shapes import (
    AccessToken,
    CheckRun,
    CheckRuns,
    Comment,
    Login,
    Pull,
    decode_payload,
    parse_commit_name,
    parse_repository_name,
)

if TYPE_CHECKING:
    import httpx2


# What GitHub says instead of an answer: that one should come again, or that it will not.


class GitHubBusy(RetryLater):
    """Come again: a rate limit, a server that failed, a network that did not carry."""


class GitHubRefusal(WorldError):
    """It will not, and coming again changes nothing: a right is missing, a thing is gone, a request is no good."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, hint=_HINTS.get(status, "look at what GitHub says, and at the app's permissions"))
        self.status = status


_HINTS = {
    401: "the token or the app's key is not valid any more: connect again with 'custody github connect'",
    403: "give the app the permissions that docs/github.md lists",
    404: "the repository or pull request is gone, or the app is not installed there",
    410: "the repository's feature is switched off",
}


# Who we are to GitHub: a token, or an app that asks for a token for each installation.


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


# Ask GitHub and tell GitHub, one request after the other; every failure is one of two kinds (``errors.py``).


NS_PER_S: Final = 1_000_000_000
TIMEOUT_S: Final = 30.0
ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024
BUSY_SECONDS: Final = 60
"""How long to stay away when GitHub does not say."""
WAIT_SECONDS_MAX: Final = 3600
EARLY_SECONDS: Final = 60
"""A token is renewed so long before it ends."""
REDIRECTS_MAX: Final = 3
PER_PAGE: Final = 100
PAGES_MAX: Final = 1000
WORDS_MAX: Final = 300
HEADERS: Final = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "User-Agent": "custody",
}


@dataclass(slots=True)
class GitHub:
    """One API address as one identity; ``installation`` is what an app's token is asked for."""

    api: str
    key: ApiCredential
    now_ns: Callable[[], int]
    installation: int | None = None
    _http: "httpx2.Client | None" = None
    _token: str | None = field(default=None, repr=False)
    _token_until_s: int = 0

    def close(self) -> None:
        """Let go of the connections."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def pull(self, repository: str, number: int) -> Pull:
        """One pull request as it is now."""
        return decode_payload(self._get(f"{_at(repository)}/pulls/{int(number)}"), Pull, "the pull request")

    def pulls(self, repository: str) -> Iterator[Pull]:
        """All pull requests, the oldest first."""
        path = f"{_at(repository)}/pulls?state=all&sort=created&direction=asc&per_page={PER_PAGE}"
        for page in self._pages(path):
            yield from decode_payload(page, list[Pull], "the list of pull requests")

    def check_runs(self, repository: str, commit: str, name: str) -> list[CheckRun]:
        """The check runs of this name that a commit has."""
        path = f"{_at(repository)}/commits/{parse_commit_name(commit)}/check-runs?check_name={quote(name)}&per_page=100"
        return decode_payload(self._get(path), CheckRuns, "the list of check runs").check_runs

    def put_check_run(self, repository: str, body: bytes, known: int | None = None) -> int:
        """Make a check run, or change the one that is known; its id."""
        path = f"{_at(repository)}/check-runs" + ("" if known is None else f"/{known}")
        answer = self._send("POST" if known is None else "PATCH", path, body)
        return decode_payload(answer, CheckRun, "the check run").id

    def comments(self, repository: str, number: int) -> Iterator[Comment]:
        """The comments below a pull request."""
        for page in self._pages(f"{_at(repository)}/issues/{int(number)}/comments?per_page={PER_PAGE}"):
            yield from decode_payload(page, list[Comment], "the list of comments")

    def put_comment(self, repository: str, number: int, text: str, known: int | None = None) -> int:
        """Write a comment, or change the one that is known; its id."""
        where = f"{int(number)}/comments" if known is None else f"comments/{known}"
        body = json.dumps({"body": text}).encode()
        answer = self._send("POST" if known is None else "PATCH", f"{_at(repository)}/issues/{where}", body)
        return decode_payload(answer, Comment, "the comment").id

    def login(self) -> str | None:
        """The account whose token this is; None for an app, and for a token that is none's (that of a workflow)."""
        if self.key.is_app:
            return None
        try:
            return decode_payload(self._get("/user"), Login, "the account").login
        except GitHubRefusal:
            return None

    def clone_credential(self) -> str:
        """What git says to GitHub to read a private repository: the token itself."""
        return self._credential().removeprefix("Bearer ")

    def _get(self, path: str) -> bytes:
        return self._send("GET", path, None)

    def _pages(self, path: str) -> Iterator[bytes]:
        """Each page of a list; only a next page of the same address is followed."""
        following: str | None = path
        for _ in range(PAGES_MAX):
            if following is None:
                return
            answer = self._request("GET", following, None)
            yield answer.content
            after = answer.links.get("next", {}).get("url")
            following = None if after is None else self._within(after)

    def _send(self, method: str, path: str, body: bytes | None) -> bytes:
        return self._request(method, path, body).content

    def _request(self, method: str, path: str, body: bytes | None) -> "httpx2.Response":
        credential = self._credential()
        for _ in range(REDIRECTS_MAX + 1):
            answer = self._once(method, path, body, credential)
            where = answer.headers.get("location")
            if answer.status_code not in (301, 302, 307, 308) or where is None:
                return self._checked(answer)
            path = self._within(where)  # a repository that was renamed
        raise GitHubRefusal("GitHub sends us from one address to the next", 310)

    def _credential(self) -> str:
        """The header's value, with a token for the installation where we are an app."""
        now_s = self.now_ns() // NS_PER_S
        if not self.key.is_app:
            return self.key.credential(now_s)
        if self._token is None or now_s >= self._token_until_s - EARLY_SECONDS:
            if self.installation is None:
                raise GitHubRefusal("it is not known which installation of the app this repository belongs to", 404)
            path = f"/app/installations/{int(self.installation)}/access_tokens"
            answer = self._checked(self._once("POST", path, b"{}", self.key.credential(now_s)))
            given = decode_payload(answer.content, AccessToken, "the installation's token")
            self._token, self._token_until_s = given.token, _seconds(given.expires_at)
        return f"Bearer {self._token}"

    def _once(self, method: str, path: str, body: bytes | None, credential: str) -> "httpx2.Response":
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
                        raise GitHubRefusal(f"GitHub's answer has more than {ANSWER_BYTES_MAX} bytes", 413)
                return httpx2.Response(answer.status_code, headers=_select_headers(answer.headers), content=bytes(read))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise GitHubBusy(f"GitHub cannot be reached: {type(error).__name__}", BUSY_SECONDS) from error

    def _checked(self, answer: "httpx2.Response") -> "httpx2.Response":
        """The answer, if it is one."""
        status = answer.status_code
        if 200 <= status < 300:
            return answer
        words = f"GitHub answered {status}: {_read_message(answer)}"
        wait = _wait(answer, self.now_ns() // NS_PER_S)
        if wait is not None:
            raise GitHubBusy(words, wait)
        raise GitHubRefusal(words, status)

    def _within(self, url: str) -> str:
        """The path of an address below ours; another host is never asked."""
        if url.startswith("/") and not url.startswith("//"):
            return url
        ours, theirs = urlsplit(self.api), urlsplit(url)
        base = ours.path.rstrip("/")
        if (theirs.scheme, theirs.netloc) != (ours.scheme, ours.netloc) or not theirs.path.startswith(f"{base}/"):
            raise GitHubRefusal("GitHub sends us to another host", 310)
        return theirs.path[len(base) :] + (f"?{theirs.query}" if theirs.query else "")


def _at(repository: str) -> str:
    return f"/repos/{parse_repository_name(repository)}"


def _select_headers(headers: "httpx2.Headers") -> dict[str, str]:
    """The headers that we look at; those about how the body was packed are about bytes that are no more."""
    wanted = ("link", "location", "retry-after", "x-ratelimit-remaining", "x-ratelimit-reset")
    return {name: headers[name] for name in wanted if name in headers}


def _wait(answer: "httpx2.Response", now_s: int) -> int | None:
    """How long to stay away; None where coming again changes nothing."""
    status, headers = answer.status_code, answer.headers
    if status not in (403, 408, 429) and status < 500:
        return None
    said = headers.get("retry-after", "")
    if said.isascii() and said.isdigit():
        return max(1, min(int(said[:9]), WAIT_SECONDS_MAX))
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
        return max(1, min(int(reset[:12]) - now_s, WAIT_SECONDS_MAX))
    if status == 403 and "rate limit" not in _read_message(answer).lower():
        return None
    return BUSY_SECONDS


def _read_message(answer: "httpx2.Response") -> str:
    """GitHub's own words; never more than a line."""
    try:
        message = json.loads(answer.content)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no words"
    return "".join(sign if sign.isprintable() else " " for sign in str(message))[:WORDS_MAX]


def _seconds(moment: str) -> int:
    try:
        return int(datetime.fromisoformat(moment).timestamp())
    except (ValueError, OverflowError):
        return 0  # asked for again each time, rather than used too long
