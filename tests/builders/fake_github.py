"""GitHub on loopback: the parts of its API that custody uses, with the shapes and errors of the real API."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghs_" + "fake" * 9
REPOSITORY = "octo-org/hello-world"


@dataclass(frozen=True)
class Refusal:
    """The answer to the next ``times`` requests whose path contains ``part``."""

    status: int
    part: str = ""
    times: int = 1
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class FakeGitHub:
    """The data of the server, and the requests that it got."""

    url: str = ""
    secret: bytes = b"a secret of the test"
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    check_runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    reviews: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Files of commits, by commit and path."""
    refusals: list[Refusal] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens_given: int = 0
    page_size: int = 100
    login: str | None = None
    """Whose the token is; None for that of a workflow."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def opened(
        self, number: int, base: str, head: str, *, fork: str | None = REPOSITORY, **more: Any
    ) -> dict[str, Any]:
        """Return an open pull request; ``fork`` is the repository of its head, None for a deleted fork."""
        pull = {
            "url": f"{self.url}/repos/{REPOSITORY}/pulls/{number}",
            "id": 1_000_000 + number,
            "node_id": f"PR_{number}",
            "number": number,
            "state": "open",
            "locked": False,
            "title": f"Change {number}",
            "user": _user("contributor"),
            "body": None,
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "closed_at": None,
            "merged_at": None,
            "merge_commit_sha": None,
            "draft": False,
            "head": _side(head, f"topic-{number}", fork),
            "base": _side(base, "main", REPOSITORY),
            "author_association": "CONTRIBUTOR",
            "merged": False,
            "mergeable": True,
            "commits": 1,
            "additions": 1,
            "deletions": 0,
            "changed_files": 1,
        } | more
        self.pulls[number] = pull
        return pull

    def reviewed(
        self, number: int, login: str, state: str = "APPROVED", *, association: str = "MEMBER", head: str | None = None
    ) -> None:
        """Add a review of a pull request, by default of its head."""
        sha = head or self.pulls[number]["head"]["sha"]
        review = {"user": _user(login), "state": state, "commit_id": sha, "author_association": association}
        self.reviews.setdefault(number, []).append({"id": 1, **review})

    def closed(self, number: int, merged_as: str | None) -> dict[str, Any]:
        """Return the same pull request, merged as that commit, or closed unmerged."""
        at = "2026-01-02T00:00:00Z"
        merged = {"merged": True, "merged_at": at, "merge_commit_sha": merged_as} if merged_as else {}
        self.pulls[number] = self.pulls[number] | {"state": "closed", "closed_at": at, "updated_at": at} | merged
        return self.pulls[number]

    def delivery(self, event: str, action: str, number: int, guid: str) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of a webhook about a pull request."""
        body = {
            "action": action,
            "number": number,
            "pull_request": self.pulls[number],
            "repository": _repository(REPOSITORY),
            "installation": {"id": 7, "node_id": "MDIz"},
            "sender": _user("contributor"),
        }
        return self.signed(event, json.dumps(body).encode(), guid)

    def review_delivery(
        self, number: int, login: str, guid: str, action: str = "submitted"
    ) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of a webhook about the newest review of a pull request by an account."""
        found = [review for review in self.reviews.get(number, []) if review["user"]["login"] == login]
        body = {
            "action": action,
            "review": {**found[-1], "submitted_at": "2026-01-01T12:00:00Z"},
            "pull_request": self.pulls[number],
            "repository": _repository(REPOSITORY),
            "installation": {"id": 7},
            "sender": _user(login),
        }
        return self.signed("pull_request_review", json.dumps(body).encode(), guid)

    def pushed(self, before: str, after: str, commits: list[dict[str, Any]], guid: str) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of a webhook about a push to the default branch."""
        body = {
            "ref": "refs/heads/main",
            "before": before,
            "after": after,
            "created": False,
            "deleted": False,
            "forced": False,
            "commits": commits,
            "repository": _repository(REPOSITORY),
            "installation": {"id": 7},
        }
        return self.signed("push", json.dumps(body).encode(), guid)

    def signed(self, event: str, body: bytes, guid: str) -> tuple[bytes, dict[str, str]]:
        """Return a body with the headers that GitHub sends with it."""
        signature = hmac.new(self.secret, body, hashlib.sha256).hexdigest()
        return body, {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/044aadd",
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": event,
            "X-GitHub-Hook-ID": "292430182",
            "X-Hub-Signature-256": f"sha256={signature}",
        }

    def answer(self, method: str, target: str, body: bytes, authorization: str) -> tuple[int, dict[str, str], Any]:
        """Return the answer to a request."""
        with self._lock:
            self.asked.append((method, target))
            for at, refusal in enumerate(self.refusals):
                if refusal.part in target:
                    left = refusal.times - 1
                    self.refusals[at : at + 1] = [] if left <= 0 else [_fewer(refusal, left)]
                    return refusal.status, refusal.headers, {"message": refusal.message}
            return self._answer(method, urlsplit(target), body, authorization)

    def _answer(self, method: str, target: Any, body: bytes, authorization: str) -> tuple[int, dict[str, str], Any]:
        parts = target.path.strip("/").split("/")
        if parts[:2] == ["app", "installations"] and method == "POST":
            if not authorization.startswith("Bearer ey"):
                return 401, {}, {"message": "A JSON web token could not be decoded"}
            self.tokens_given += 1
            return 201, {}, {"token": TOKEN, "expires_at": "2026-01-01T01:00:00Z", "permissions": {"checks": "write"}}
        if authorization != f"Bearer {TOKEN}":
            return 401, {}, {"message": "Bad credentials"}
        if parts == ["user"]:
            return (200, {}, _user(self.login)) if self.login else (403, {}, {"message": "Resource not accessible"})
        if parts[:3] != ["repos", *REPOSITORY.split("/")]:
            return 404, {}, {"message": "Not Found"}
        query = {name: values[0] for name, values in parse_qs(target.query).items()}
        return self._of_repository(method, parts[3:], query, json.loads(body) if body else {})

    def _of_repository(  # noqa: C901 - a case per request
        self, method: str, parts: list[str], query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, dict[str, str], Any]:
        match method, parts:
            case "GET", ["pulls"]:
                return self._page([self.pulls[number] for number in sorted(self.pulls)], "pulls", query)
            case "GET", ["pulls", number] if int(number) in self.pulls:
                return 200, {}, self.pulls[int(number)]
            case "GET", ["pulls", number, "reviews"] if int(number) in self.pulls:
                return self._page(self.reviews.get(int(number), []), f"pulls/{number}/reviews", query)
            case "GET", ["commits", sha, "check-runs"]:
                found = [run for run in self.check_runs.values() if run["head_sha"] == sha]
                found = [run for run in found if run["name"] == query.get("check_name", run["name"])]
                return 200, {}, {"total_count": len(found), "check_runs": found}
            case "GET", ["contents", path] if (query.get("ref", ""), path) in self.files:
                return 200, {}, _file(self.files[query["ref"], path])
            case "POST", ["check-runs"]:
                return self._kept(self.check_runs, _checked_run(body), 201)
            case "PATCH", ["check-runs", number] if int(number) in self.check_runs:
                self.check_runs[int(number)] |= _checked_run(body)
                return 200, {}, self.check_runs[int(number)]
            case "GET", ["issues", number, "comments"]:
                found = [one for one in self.comments.values() if one["issue"] == int(number)]
                return self._page(found, f"issues/{number}/comments", query)
            case "POST", ["issues", number, "comments"]:
                return self._kept(
                    self.comments, body | {"issue": int(number), "user": _user(self.login or "custody[bot]")}, 201
                )
            case "PATCH", ["issues", "comments", number] if int(number) in self.comments:
                self.comments[int(number)] |= body
                return 200, {}, self.comments[int(number)]
        return 404, {}, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}

    def _kept(
        self, shelf: dict[int, dict[str, Any]], body: dict[str, Any], status: int
    ) -> tuple[int, dict[str, str], Any]:
        number = len(shelf) + 1
        shelf[number] = {"id": number} | body
        return status, {}, shelf[number]

    def _page(self, found: list[Any], path: str, query: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        page, size = int(query.get("page", 1)), self.page_size
        here = found[(page - 1) * size : page * size]
        more = page * size < len(found)
        following = f"{self.url}/repos/{REPOSITORY}/{path}?per_page={size}&page={page + 1}"
        return 200, {"Link": f'<{following}>; rel="next"'} if more else {}, here


@contextmanager
def fake_github() -> Iterator[FakeGitHub]:
    """Yield a server on loopback until the block ends."""
    fake = FakeGitHub()

    class Handler(BaseHTTPRequestHandler):
        def _answered(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, value = fake.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            data = json.dumps(value).encode()
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _answered  # noqa: N815 - the server's names

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _fewer(refusal: Refusal, times: int) -> Refusal:
    return Refusal(refusal.status, refusal.part, times, refusal.message, refusal.headers)


def _file(content: bytes) -> dict[str, Any]:
    return {"type": "file", "encoding": "base64", "content": base64.encodebytes(content).decode()}


def _checked_run(body: dict[str, Any]) -> dict[str, Any]:
    """Return a check run within GitHub's limits."""
    output = body.get("output", {})
    if len(output.get("annotations", [])) > 50 or len(output.get("summary", "").encode()) > 65_535:
        raise AssertionError("GitHub would answer 422")
    return body


def _side(sha: str, ref: str, repository: str | None) -> dict[str, Any]:
    repo = None if repository is None else _repository(repository)
    return {"label": f"octo-org:{ref}", "ref": ref, "sha": sha, "user": _user("octo-org"), "repo": repo}


def _repository(name: str) -> dict[str, Any]:
    owner, _, short = name.partition("/")
    return {
        "id": 1296269,
        "name": short,
        "full_name": name,
        "private": False,
        "owner": _user(owner),
        "clone_url": f"https://github.com/{name}.git",
        "default_branch": "main",
    }


def _user(login: str) -> dict[str, Any]:
    return {"login": login, "id": 1, "type": "Bot" if login.endswith("[bot]") else "User", "site_admin": False}
